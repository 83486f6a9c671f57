# Whether graders can be trusted: self-tests, acceptance agents, disagreements of two rules, and MLE-bench's own report. Grading itself is
# beside the attempts (collect.smk, evaluate.smk).


rule grade_self_test:
    input:
        unpack(grading_tables),
        private="<results>/tasks/{benchmark}/{task}/private.tar.gz",
    output:
        self_test="<results>/tasks/{benchmark}/{task}/self_test.json",
    log:
        "<logs>/grade_self_test/{benchmark}/{task}.log",
    benchmark:
        "<benchmarks>/grade_self_test/{benchmark}/{task}.tsv"
    params:
        settings=settings("grade_self_test"),
        code=code("grade_self_test"),
    message:
        "Testing the grader of {wildcards.task}"
    script:
        "../scripts/grade_self_test.py"


rule grade_acceptance:
    input:
        unpack(grading_tables),
        public="<results>/tasks/{benchmark}/{task}/public.tar.gz",
        private="<results>/tasks/{benchmark}/{task}/private.tar.gz",
        prompt="resources/prompts/agent.yaml",
        feedback="resources/prompts/feedback.yaml",
    output:
        acceptance="<results>/acceptance/{benchmark}/{task}.json",
    log:
        "<logs>/grade_acceptance/{benchmark}/{task}.log",
    benchmark:
        "<benchmarks>/grade_acceptance/{benchmark}/{task}.tsv"
    params:
        settings=settings("grade_acceptance"),
        code=code("grade_acceptance", also=grader),
    message:
        "Trying out {wildcards.task}: with the reference answer, and with nothing"
    script:
        "../scripts/grade_acceptance.py"


# snakemake results/tables/acceptance.csv: before a benchmark is paid for, every task of the study is tried out
rule list_acceptance:
    input:
        acceptance=[f"{RESULTS}/acceptance/{benchmark}/{task}.json" for benchmark, task in tasks_of_study()],
    output:
        table="<results>/tables/acceptance.csv",
    log:
        "<logs>/list_acceptance.log",
    benchmark:
        "<benchmarks>/list_acceptance.tsv"
    params:
        settings=settings("list_acceptance"),
        code=code("list_acceptance"),
    message:
        "Listing how every task treats the reference answer and no answer"
    script:
        "../scripts/list_acceptance.py"


rule count_disagreements:
    input:
        grades=graded_attempts(),
    output:
        table="<results>/tables/grader_disagreements.csv",
    log:
        "<logs>/count_disagreements.log",
    benchmark:
        "<benchmarks>/count_disagreements.tsv"
    params:
        settings=settings("count_disagreements"),
        code=code("count_disagreements"),
    message:
        "Counting where official and corrected rules of grading differ"
    script:
        "../scripts/count_disagreements.py"


rule report_mlebench:
    input:
        grades=lambda w: files("grade.json", episodes_of(w.arm, w.repeat)),
        trajectories=lambda w: files("trajectory.jsonl", episodes_of(w.arm, w.repeat)),
        thresholds="resources/grading/mlebench_thresholds.csv",
        denominators="resources/grading/mlebench_denominators.yaml",
        splits="resources/benchmarks/mlebench.yaml",
    output:
        report="<results>/mlebench/{split}/{arm}/{repeat}/grading_report.json",
        details="<results>/mlebench/{split}/{arm}/{repeat}/details.json",
    log:
        "<logs>/report_mlebench/{split}/{arm}/{repeat}.log",
    benchmark:
        "<benchmarks>/report_mlebench/{split}/{arm}/{repeat}.tsv"
    params:
        settings=settings("report_mlebench"),
        code=code("report_mlebench"),
    message:
        "MLE-bench's report of {wildcards.arm}, repeat {wildcards.repeat}"
    script:
        "../scripts/report_mlebench.py"
