# From recorded commands to failure mixes. Only commands that really ran are read.


rule detect_failures:
    input:
        trajectories=lambda w: files("trajectory.jsonl", attempts_of(w.collection)),
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
    output:
        events="<results>/failures/{collection}/events.parquet",
        commands="<results>/failures/{collection}/commands.parquet",
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
        taxonomy=STUDY.taxonomy,
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


rule recategorize_failures:
    input:
        events="<results>/failures/{collection}/events.parquet",
        taxonomy=STUDY.taxonomy,
        prompt="resources/prompts/classifier.yaml",
        prices="resources/prices.yaml",
    output:
        categories="<results>/failures/{collection}/second_categories.parquet",
        requests="<results>/failures/{collection}/recategorize_requests.jsonl",
    log:
        "<logs>/recategorize_failures/{collection}.log",
    benchmark:
        "<benchmarks>/recategorize_failures/{collection}.tsv"
    resources:
        asking=ASKING,
    params:
        settings=settings("recategorize_failures"),
        code=code("recategorize_failures", "second_classifier"),
    message:
        "Sorting the failures of {wildcards.collection} once more, by the second classifier"
    script:
        "../scripts/recategorize_failures.py"


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
        taxonomy=STUDY.taxonomy,
        prompt="resources/prompts/reviewer.yaml",
        prices="resources/prices.yaml",
    output:
        causes="<results>/failures/{collection}/causes.parquet",
        questions="<results>/failures/{collection}/questions.jsonl",
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
        taxonomy=STUDY.taxonomy,
    output:
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


rule compare_mixes:
    input:
        commands=lambda w: of_failures("commands.parquet"),
        distributions=expand("<results>/distributions/{distribution}.json", distribution=STUDY.distributions),
        taxonomy=STUDY.taxonomy,
    output:
        failure_rates="<results>/tables/failure_rates.csv",
        mix_distances="<results>/tables/mix_distances.csv",
    log:
        "<logs>/compare_mixes.log",
    benchmark:
        "<benchmarks>/compare_mixes.tsv"
    params:
        settings=settings("compare_mixes"),
        code=code("compare_mixes"),
    message:
        "Counting what failed, and comparing the failure mixes"
    script:
        "../scripts/compare_mixes.py"


rule compare_readers:
    input:
        events=lambda w: of_failures("events.parquet"),
        categories=lambda w: of_failures("categories.parquet"),
        second=lambda w: of_failures("second_categories.parquet") if STUDY.models.second_classifier else [],
        causes=lambda w: of_failures("causes.parquet"),
        label_keys=expand("<results>/labels/{collection}/key.jsonl", collection=STUDY.labelling.sheets),
        sheets=[path for sheets in STUDY.labelling.sheets.values() for path in sheets],
        taxonomy=STUDY.taxonomy,
    output:
        agreement="<results>/tables/agreement.csv",
        confusion="<results>/tables/confusion.csv",
        corrected_mix="<results>/tables/corrected_mix.csv",
    log:
        "<logs>/compare_readers.log",
    benchmark:
        "<benchmarks>/compare_readers.tsv"
    params:
        settings=settings("compare_readers"),
        code=code("compare_readers"),
    message:
        "Comparing those who sorted the failures"
    script:
        "../scripts/compare_readers.py"


rule draw_label_sheet:
    input:
        events="<results>/failures/{collection}/events.parquet",
        questions="<results>/failures/{collection}/questions.jsonl",
        trajectories=lambda w: files("trajectory.jsonl", attempts_of(w.collection)),
        rubrics=lambda w: [library_file(name, "merged.jsonl") for name in mined_from(w.collection)],
        taxonomy=STUDY.taxonomy,
    output:
        sheet="<results>/labels/{collection}/sheet.csv",
        guide="<results>/labels/{collection}/guide.md",
        key="<results>/labels/{collection}/key.jsonl",
    log:
        "<logs>/draw_label_sheet/{collection}.log",
    benchmark:
        "<benchmarks>/draw_label_sheet/{collection}.tsv"
    params:
        settings=settings("draw_label_sheet"),
        code=code("draw_label_sheet"),
    message:
        "Drawing a sheet of {wildcards.collection} for people to label"
    script:
        "../scripts/draw_label_sheet.py"


rule draft_taxonomy:
    input:
        events="<results>/failures/{collection}/events.parquet",
        causes="<results>/failures/{collection}/causes.parquet",
        taxonomy=STUDY.taxonomy,
        prompt="resources/prompts/taxonomist.yaml",
        prices="resources/prices.yaml",
    output:
        taxonomy="<results>/taxonomies/{collection}.yaml",
        requests="<results>/taxonomies/{collection}_requests.jsonl",
    log:
        "<logs>/draft_taxonomy/{collection}.log",
    benchmark:
        "<benchmarks>/draft_taxonomy/{collection}.tsv"
    resources:
        asking=ASKING,
    params:
        settings=settings("draft_taxonomy"),
        code=code("draft_taxonomy", "classifier"),
    message:
        "Drafting a taxonomy of the failures of {wildcards.collection}"
    script:
        "../scripts/draft_taxonomy.py"
