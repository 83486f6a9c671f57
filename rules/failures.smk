# From recorded commands to failure mixes. Only commands that really ran are read.


rule detect_failures:
    input:
        trajectories=lambda w: files("trajectory.jsonl", attempts_of(w.collection)),
        types="resources/failure_types.yaml",
    output:
        events="<results>/failures/{collection}/events.parquet",
    log:
        "<logs>/detect_failures/{collection}.log",
    benchmark:
        "<benchmarks>/detect_failures/{collection}.tsv"
    params:
        settings=settings("detect_failures"),
        code=code("detect_failures"),
    message:
        "Finding the failed commands of {wildcards.collection}"
    script:
        "../scripts/detect_failures.py"


rule categorize_failures:
    input:
        events="<results>/failures/{collection}/events.parquet",
        taxonomy="resources/taxonomy.yaml",
        prompt="resources/prompts/classifier.yaml",
        prices="resources/prices.yaml",
    output:
        categories="<results>/failures/{collection}/categories.parquet",
        requests="<results>/failures/{collection}/categorize_requests.jsonl",
    log:
        "<logs>/categorize_failures/{collection}.log",
    benchmark:
        "<benchmarks>/categorize_failures/{collection}.tsv"
    resources:
        asking=ASKING,
    params:
        settings=settings("categorize_failures"),
        code=code("categorize_failures", "classifier"),
    message:
        "Sorting the failures of {wildcards.collection} into categories"
    script:
        "../scripts/categorize_failures.py"


rule attribute_causes:
    input:
        events="<results>/failures/{collection}/events.parquet",
        trajectories=lambda w: files("trajectory.jsonl", attempts_of(w.collection)),
        # what was graded: of a rollout what the agent left, of an episode what the final run wrote
        artifacts=lambda w: files(
            "final_artifacts.tar.gz" if w.collection == loading.HELDOUT else "artifacts.tar.gz", attempts_of(w.collection)
        ),
        grades=lambda w: files("grade.json", attempts_of(w.collection)),
        finals=lambda w: files("final.json", attempts_of(w.collection)) if w.collection == loading.HELDOUT else [],
        taxonomy="resources/taxonomy.yaml",
        prompt="resources/prompts/reviewer.yaml",
        prices="resources/prices.yaml",
    output:
        causes="<results>/failures/{collection}/causes.parquet",
        requests="<results>/failures/{collection}/attribute_requests.jsonl",
    log:
        "<logs>/attribute_causes/{collection}.log",
    benchmark:
        "<benchmarks>/attribute_causes/{collection}.tsv"
    resources:
        asking=ASKING,
    params:
        settings=settings("attribute_causes"),
        code=code("attribute_causes", "reviewer"),
    message:
        "Naming the cause of every attempt of {wildcards.collection} that ended wrong"
    script:
        "../scripts/attribute_causes.py"


rule failure_distribution:
    input:
        events=lambda w: [f"<results>/failures/{name}/events.parquet" for name in STUDY.distributions[w.distribution].collections],
        categories=lambda w: [f"<results>/failures/{name}/categories.parquet" for name in STUDY.distributions[w.distribution].collections],
        causes=lambda w: (
            [f"<results>/failures/{name}/causes.parquet" for name in STUDY.distributions[w.distribution].collections]
            if STUDY.distributions[w.distribution].target == "complete"
            else []
        ),
        taxonomy="resources/taxonomy.yaml",
    output:
        table="<results>/distributions/{distribution}.csv",
        distribution="<results>/distributions/{distribution}.json",
    log:
        "<logs>/failure_distribution/{distribution}.log",
    benchmark:
        "<benchmarks>/failure_distribution/{distribution}.tsv"
    params:
        settings=settings("failure_distribution"),
        code=code("failure_distribution"),
    message:
        "Counting the failure mix {wildcards.distribution}"
    script:
        "../scripts/failure_distribution.py"
