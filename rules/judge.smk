# Every judge over the same commands that really ran, against what execution did.


rule replay_judge:
    input:
        unpack(lambda w: judge_inputs(w.judge)),
        trajectories=lambda w: files("trajectory.jsonl", episodes(EXECUTE_ARM)),
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
        prices="resources/prices.yaml",
    output:
        verdicts="<results>/verdicts/{judge}/{library_name}/{split}.jsonl",
        requests="<results>/verdicts/{judge}/{library_name}/{split}_requests.jsonl",
    log:
        "<logs>/replay_judge/{judge}/{library_name}/{split}.log",
    benchmark:
        "<benchmarks>/replay_judge/{judge}/{library_name}/{split}.tsv"
    wildcard_constraints:
        library_name=one_of([*STUDY.libraries, "no_library"]),
    resources:
        asking=ASKING,
    params:
        settings=settings("replay_judge"),
        code=code("replay_judge", "judge"),
    message:
        "Replaying the judge of {wildcards.judge} over the commands that ran"
    script:
        "../scripts/replay_judge.py"


rule measure_judge:
    input:
        verdicts=lambda w: [verdicts_of(judge) for judge in JUDGES],
        rubrics=lambda w: rubrics_of_judges(),
        trajectories=lambda w: files("trajectory.jsonl", episodes(EXECUTE_ARM)),
        grades=lambda w: files("grade.json", episodes(EXECUTE_ARM)),
        events=lambda w: heldout_failures("events.parquet"),
        categories=lambda w: heldout_failures("categories.parquet"),
        causes=lambda w: heldout_failures("causes.parquet"),
        distributions=expand("<results>/distributions/{distribution}.json", distribution=STUDY.distributions),
        shadows=lambda w: [shadows_of(folder) for folder in shadowed_episodes()],
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
    output:
        precision_recall="<results>/tables/precision_recall.csv",
        judge_measures="<results>/tables/judge_measures.csv",
        recall_by_type="<results>/tables/recall_by_type.csv",
        judge_categories="<results>/tables/judge_categories.csv",
        judge_confusion="<results>/tables/judge_confusion.csv",
        judge_rubrics="<results>/tables/judge_rubrics.csv",
        judge_pairs="<results>/tables/judge_pairs.csv",
        pr_curve="<results>/tables/pr_curve.csv",
        calibration="<results>/tables/calibration.csv",
        wrong_results="<results>/tables/wrong_results.csv",
        funnel="<results>/tables/funnel.csv",
        judge_noise="<results>/tables/judge_noise.csv",
        reweighted="<results>/tables/reweighted.csv",
    log:
        "<logs>/measure_judge.log",
    benchmark:
        "<benchmarks>/measure_judge.tsv"
    params:
        settings=settings("measure_judge"),
        code=code("measure_judge"),
    message:
        "Measuring precision and recall of the judges and the baselines"
    script:
        "../scripts/measure_judge.py"


rule audit_exposure:
    input:
        rubrics=lambda w: [library_file(judge.library, "rubrics.jsonl") for judge in LIBRARY_JUDGES.values()],
        manifests=lambda w: [library_file(judge.library, "manifest.json") for judge in LIBRARY_JUDGES.values()],
        verdicts=lambda w: [verdicts_of(judge) for judge in LIBRARY_JUDGES] if EXECUTE_ARM else [],
        trajectories=lambda w: [path for judge in LIBRARY_JUDGES for path in files("trajectory.jsonl", episodes(judge))],
        target=lambda w: f"<results>/distributions/{HELDOUT_MIX}.json" if HELDOUT_MIX else [],
    output:
        runs="<results>/tables/exposure_runs.csv",
        bins="<results>/tables/exposure.csv",
    log:
        "<logs>/audit_exposure.log",
    benchmark:
        "<benchmarks>/audit_exposure.tsv"
    params:
        settings=settings("audit_exposure"),
        code=code("audit_exposure"),
    message:
        "Following the rubrics of every library to the judge"
    script:
        "../scripts/audit_exposure.py"


rule measure_feedback:
    input:
        trajectories=lambda w: files("trajectory.jsonl", every_episode()),
        finals=lambda w: files("final.json", every_episode()),
        shadows=lambda w: [shadows_of(folder) for folder in shadowed_episodes()],
        rubrics=lambda w: rubrics_of_judges(),
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
    output:
        feedback="<results>/tables/feedback.csv",
        alarms="<results>/tables/alarms.csv",
        rubric_alarms="<results>/tables/rubric_alarms.csv",
        sampled="<results>/tables/sampled.csv",
        sampled_types="<results>/tables/sampled_types.csv",
    log:
        "<logs>/measure_feedback.log",
    benchmark:
        "<benchmarks>/measure_feedback.tsv"
    params:
        settings=settings("measure_feedback"),
        code=code("measure_feedback"),
    message:
        "Measuring what the agents were shown and what they made of it"
    script:
        "../scripts/measure_feedback.py"
