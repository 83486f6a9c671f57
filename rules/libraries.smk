# Rubric libraries: mined, merged, sorted into categories, cut to a failure mix, and the two nulls.


rule mine_candidates:
    input:
        trajectories=lambda w: mined_files(w.library, "trajectory.jsonl"),
        artifacts=lambda w: mined_files(w.library, "artifacts.tar.gz"),
        grades=lambda w: mined_files(w.library, "grade.json"),
        types="resources/failure_types.yaml",
        prompt="resources/prompts/miner.yaml",
        prices="resources/prices.yaml",
    output:
        candidates="<results>/libraries/{library}/candidates.jsonl",
        rejected="<results>/libraries/{library}/rejected.json",
        requests="<results>/libraries/{library}/mine_requests.jsonl",
    log:
        "<logs>/mine_candidates/{library}.log",
    benchmark:
        "<benchmarks>/mine_candidates/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Mined),
    resources:
        asking=ASKING,
    params:
        settings=settings("mine_candidates"),
        code=code("mine_candidates", "miner"),
    message:
        "Mining candidates for {wildcards.library}"
    script:
        "../scripts/mine_candidates.py"


rule merge_library:
    input:
        candidates="<results>/libraries/{library}/candidates.jsonl",
        encoder=rules.export_encoder.output.model,
        tokenizer=rules.export_encoder.output.tokenizer,
        manifest=rules.export_encoder.output.manifest,
    output:
        merged="<results>/libraries/{library}/merged.jsonl",
    log:
        "<logs>/merge_library/{library}.log",
    benchmark:
        "<benchmarks>/merge_library/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Mined),
    params:
        settings=settings("merge_library"),
        code=code("merge_library"),
    message:
        "Merging the candidates of {wildcards.library} that say the same"
    script:
        "../scripts/merge_library.py"


rule categorize_rubrics:
    input:
        merged="<results>/libraries/{library}/merged.jsonl",
        candidates="<results>/libraries/{library}/candidates.jsonl",
        rejected="<results>/libraries/{library}/rejected.json",
        taxonomy="resources/taxonomy.yaml",
        prompt="resources/prompts/classifier.yaml",
        prices="resources/prices.yaml",
    output:
        rubrics="<results>/libraries/{library}/rubrics.jsonl",
        manifest="<results>/libraries/{library}/manifest.json",
        requests="<results>/libraries/{library}/categorize_requests.jsonl",
    log:
        "<logs>/categorize_rubrics/{library}.log",
    benchmark:
        "<benchmarks>/categorize_rubrics/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Mined),
    resources:
        asking=ASKING,
    params:
        settings=settings("categorize_rubrics"),
        code=code("categorize_rubrics", "classifier"),
    message:
        "Sorting the rubrics of {wildcards.library} into categories"
    script:
        "../scripts/categorize_rubrics.py"


rule match_library:
    input:
        rubrics=lambda w: library_file(STUDY.libraries[w.library].source, "rubrics.jsonl"),
        target=lambda w: f"<results>/distributions/{STUDY.libraries[w.library].target}.json",
    output:
        rubrics="<results>/libraries/{library}/rubrics.jsonl",
        manifest="<results>/libraries/{library}/manifest.json",
    log:
        "<logs>/match_library/{library}.log",
    benchmark:
        "<benchmarks>/match_library/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Matched),
    params:
        settings=settings("match_library"),
        code=code("match_library"),
    message:
        "Cutting {wildcards.library} to its failure mix"
    script:
        "../scripts/match_library.py"


rule scramble_library:
    input:
        rubrics=lambda w: library_file(STUDY.libraries[w.library].source, "rubrics.jsonl"),
    output:
        rubrics="<results>/libraries/{library}/rubrics.jsonl",
        manifest="<results>/libraries/{library}/manifest.json",
    log:
        "<logs>/scramble_library/{library}.log",
    benchmark:
        "<benchmarks>/scramble_library/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Scrambled),
    params:
        settings=settings("scramble_library"),
        code=code("scramble_library"),
    message:
        "Shuffling the words of {wildcards.library}"
    script:
        "../scripts/scramble_library.py"


rule sample_library:
    input:
        rubrics=lambda w: library_file(STUDY.libraries[w.library].source, "rubrics.jsonl"),
        size_of=lambda w: library_file(STUDY.libraries[w.library].size_of, "rubrics.jsonl"),
    output:
        rubrics="<results>/libraries/{library}/rubrics.jsonl",
        manifest="<results>/libraries/{library}/manifest.json",
    log:
        "<logs>/sample_library/{library}.log",
    benchmark:
        "<benchmarks>/sample_library/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(RandomSample),
    params:
        settings=settings("sample_library"),
        code=code("sample_library"),
    message:
        "Drawing {wildcards.library} at random"
    script:
        "../scripts/sample_library.py"


rule embed_library:
    input:
        rubrics="<results>/libraries/{library}/rubrics.jsonl",
        encoder=rules.export_encoder.output.model,
        tokenizer=rules.export_encoder.output.tokenizer,
        manifest=rules.export_encoder.output.manifest,
    output:
        embeddings="<results>/libraries/{library}/embeddings.npy",
    log:
        "<logs>/embed_library/{library}.log",
    benchmark:
        "<benchmarks>/embed_library/{library}.tsv"
    resources:
        gpu=0,
    params:
        settings=settings("embed_library"),
        code=code("embed_library"),
    message:
        "Embedding the rubrics of {wildcards.library}"
    script:
        "../scripts/embed_library.py"
