# Episodes on held-out tasks under the arms, the one run of final.py, and its grade.


rule run_episode:
    input:
        unpack(lambda w: judge_inputs(w.arm)),
        unpack(resumed("episodes/{split}/{arm}/{repeat}/{benchmark}/{task}")),
        public="<results>/tasks/{benchmark}/{task}/public.tar.gz",
        prompt="resources/prompts/agent.yaml",
        feedback="resources/prompts/feedback.yaml",
        prices="resources/prices.yaml",
    output:
        trajectory="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/trajectory.jsonl",
        artifacts="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/artifacts.tar.gz",
        requests="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/requests.jsonl",
        attempts="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/attempts.jsonl",
        snapshots=(
            [] if STUDY.evaluation.shadows is None else "<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/snapshots.tar.gz"
        ),
        plan=("<results>/simulated/plans/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/plan.jsonl" if SIMULATED_AGENT else []),
    log:
        "<logs>/run_episode/{split}/{arm}/{repeat}/{benchmark}/{task}.log",
    benchmark:
        "<benchmarks>/run_episode/{split}/{arm}/{repeat}/{benchmark}/{task}.tsv"
    resources:
        asking=ASKING,
    params:
        settings=settings("run_episode"),
        code=code(
            "run_episode",
            "agent",
            "judge",
            # an edit of the judge is no reason to plan an episode that has none
            without=lambda w: () if STUDY.arms[w.arm].judge else JUDGE_ROOMS,
        ),
    message:
        "Episode {wildcards.repeat} of {wildcards.task} under {wildcards.arm}"
    script:
        "../scripts/run_episode.py"


rule run_final:
    input:
        unpack(resumed("finals/{split}/{arm}/{repeat}/{benchmark}/{task}")),
        public="<results>/tasks/{benchmark}/{task}/public.tar.gz",
        trajectory="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/trajectory.jsonl",
        artifacts="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/artifacts.tar.gz",
    output:
        final="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/final.json",
        run_log="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/final_run.log",
        artifacts="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/final_artifacts.tar.gz",
        attempts="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/final_attempts.jsonl",
    log:
        "<logs>/run_final/{split}/{arm}/{repeat}/{benchmark}/{task}.log",
    benchmark:
        "<benchmarks>/run_final/{split}/{arm}/{repeat}/{benchmark}/{task}.tsv"
    resources:
        asking=ASKING,
    params:
        settings=settings("run_final"),
        code=code("run_final"),
    message:
        "Final run of {wildcards.task} ({wildcards.arm}, repeat {wildcards.repeat})"
    script:
        "../scripts/run_final.py"


rule grade_episode:
    input:
        unpack(grader_inputs),
        trajectory="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/trajectory.jsonl",
        final="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/final.json",
        artifacts="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/final_artifacts.tar.gz",
        private="<results>/tasks/{benchmark}/{task}/private.tar.gz",
    output:
        grade="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/grade.json",
    log:
        "<logs>/grade_episode/{split}/{arm}/{repeat}/{benchmark}/{task}.log",
    benchmark:
        "<benchmarks>/grade_episode/{split}/{arm}/{repeat}/{benchmark}/{task}.tsv"
    params:
        settings=settings("grade_episode"),
        code=code("grade_episode", also=grader, without=lambda w: what_no_grader_runs(w.benchmark)),
    message:
        "Grading {wildcards.task} ({wildcards.arm}, repeat {wildcards.repeat})"
    script:
        "../scripts/grade_episode.py"


# The final run made again from what the episode left, and graded likewise: how much of the noise is the harness's own.
rule repeat_final:
    input:
        public="<results>/tasks/{benchmark}/{task}/public.tar.gz",
        artifacts="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/artifacts.tar.gz",
    output:
        final="<results>/repeated_finals/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}/final.json",
        run_log="<results>/repeated_finals/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}/final_run.log",
        artifacts="<results>/repeated_finals/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}/final_artifacts.tar.gz",
    log:
        "<logs>/repeat_final/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}.log",
    benchmark:
        "<benchmarks>/repeat_final/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}.tsv"
    params:
        settings=settings("repeat_final"),
        code=code("repeat_final"),
    message:
        "Final run of {wildcards.task} made again, {wildcards.again} ({wildcards.arm}, repeat {wildcards.repeat})"
    script:
        "../scripts/repeat_final.py"


rule grade_repeated_final:
    input:
        unpack(grader_inputs),
        trajectory="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/trajectory.jsonl",
        final="<results>/repeated_finals/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}/final.json",
        artifacts="<results>/repeated_finals/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}/final_artifacts.tar.gz",
        private="<results>/tasks/{benchmark}/{task}/private.tar.gz",
    output:
        grade="<results>/repeated_finals/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}/grade.json",
    log:
        "<logs>/grade_repeated_final/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}.log",
    benchmark:
        "<benchmarks>/grade_repeated_final/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}.tsv"
    params:
        settings=settings("grade_repeated_final"),
        code=code("grade_repeated_final", also=grader, without=lambda w: what_no_grader_runs(w.benchmark)),
    message:
        "Grading final run {wildcards.again} of {wildcards.task} ({wildcards.arm}, repeat {wildcards.repeat})"
    script:
        "../scripts/grade_repeated_final.py"


# Judged commands run for real after their episode, from snapshots. Nothing flows back into the episode.
rule run_shadows:
    input:
        public="<results>/tasks/{benchmark}/{task}/public.tar.gz",
        trajectory="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/trajectory.jsonl",
        snapshots="<results>/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/snapshots.tar.gz",
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
    output:
        shadows="<results>/shadows/{split}/{arm}/{repeat}/{benchmark}/{task}.jsonl",
    log:
        "<logs>/run_shadows/{split}/{arm}/{repeat}/{benchmark}/{task}.log",
    benchmark:
        "<benchmarks>/run_shadows/{split}/{arm}/{repeat}/{benchmark}/{task}.tsv"
    wildcard_constraints:
        arm=one_of(SHADOWED),
    params:
        settings=settings("run_shadows"),
        code=code("run_shadows"),
    message:
        "Shadow runs of {wildcards.task} ({wildcards.arm}, repeat {wildcards.repeat})"
    script:
        "../scripts/run_shadows.py"
