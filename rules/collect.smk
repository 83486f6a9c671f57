# Rollouts of the agent on pool tasks. The record is made in the store; the output is the copy of the selected attempt.


rule collect_rollout:
    input:
        unpack(resumed("rollouts/{collection}/{benchmark}/{task}/{attempt}")),
        public="<results>/tasks/{benchmark}/{task}/public.tar.gz",
        prompt="resources/prompts/agent.yaml",
        feedback="resources/prompts/feedback.yaml",
        prices="resources/prices.yaml",
    output:
        trajectory="<results>/rollouts/{collection}/{benchmark}/{task}/{attempt}/trajectory.jsonl",
        artifacts="<results>/rollouts/{collection}/{benchmark}/{task}/{attempt}/artifacts.tar.gz",
        requests="<results>/rollouts/{collection}/{benchmark}/{task}/{attempt}/requests.jsonl",
        attempts="<results>/rollouts/{collection}/{benchmark}/{task}/{attempt}/attempts.jsonl",
        plan=("<results>/simulated/plans/rollouts/{collection}/{benchmark}/{task}/{attempt}/plan.jsonl" if SIMULATED_AGENT else []),
    log:
        "<logs>/collect_rollout/{collection}/{benchmark}/{task}/{attempt}.log",
    benchmark:
        "<benchmarks>/collect_rollout/{collection}/{benchmark}/{task}/{attempt}.tsv"
    wildcard_constraints:
        collection=one_of(set(STUDY.collected) - set(SEALED)),
    resources:
        asking=ASKING,
    params:
        settings=settings("collect_rollout"),
        code=code("collect_rollout", "agent"),
    message:
        "Rollout {wildcards.attempt} of {wildcards.task} ({wildcards.collection})"
    script:
        "../scripts/collect_rollout.py"


rule grade_rollout:
    input:
        unpack(grader_inputs),
        trajectory="<results>/rollouts/{collection}/{benchmark}/{task}/{attempt}/trajectory.jsonl",
        artifacts="<results>/rollouts/{collection}/{benchmark}/{task}/{attempt}/artifacts.tar.gz",
        private="<results>/tasks/{benchmark}/{task}/private.tar.gz",
    output:
        grade="<results>/rollouts/{collection}/{benchmark}/{task}/{attempt}/grade.json",
    log:
        "<logs>/grade_rollout/{collection}/{benchmark}/{task}/{attempt}.log",
    benchmark:
        "<benchmarks>/grade_rollout/{collection}/{benchmark}/{task}/{attempt}.tsv"
    params:
        settings=settings("grade_rollout"),
        code=code("grade_rollout", also=grader, without=lambda w: what_no_grader_runs(w.benchmark)),
    message:
        "Grading rollout {wildcards.attempt} of {wildcards.task}"
    script:
        "../scripts/grade_rollout.py"


# Logs of other systems' agents, read into the form of rollouts. How many runs they hold is not known before they are read: one folder for all.
rule import_collection:
    input:
        logs=lambda w: LOGS[w.collection],
    output:
        rollouts=directory("<results>/rollouts/{collection}/imported"),
        table="<results>/tables/imported_{collection}.csv",
    log:
        "<logs>/import_collection/{collection}.log",
    benchmark:
        "<benchmarks>/import_collection/{collection}.tsv"
    wildcard_constraints:
        collection=one_of(STUDY.imported),
    params:
        settings=settings("import_collection"),
        held_out=lambda w: held_out_names(),
        code=code("import_collection"),
    message:
        "Importing {wildcards.collection}"
    script:
        "../scripts/import_collection.py"
