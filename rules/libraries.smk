# Rubric libraries: mined or written to a quota, merged, sorted into categories, cut to a failure mix, the two nulls, exports.


rule mine_candidates:
    input:
        trajectories=lambda w: mined_files(w.library, "trajectory.jsonl"),
        artifacts=lambda w: mined_files(w.library, "artifacts.tar.gz"),
        grades=lambda w: mined_files(w.library, "grade.json"),
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
        prompt=lambda w: f"resources/prompts/miners/{STUDY.libraries[w.library].miner.value}.yaml",
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


rule fill_quota:
    input:
        trajectories=lambda w: mined_files(w.library, "trajectory.jsonl"),
        artifacts=lambda w: mined_files(w.library, "artifacts.tar.gz"),
        grades=lambda w: mined_files(w.library, "grade.json"),
        events=lambda w: failure_files(STUDY.libraries[w.library].collections, "events.parquet"),
        categories=lambda w: failure_files(STUDY.libraries[w.library].collections, "categories.parquet"),
        causes=lambda w: failure_files(STUDY.libraries[w.library].collections, "causes.parquet"),
        target=lambda w: f"<results>/distributions/{STUDY.libraries[w.library].target}.json",
        encoder=rules.export_encoder.output.model,
        tokenizer=rules.export_encoder.output.tokenizer,
        manifest=rules.export_encoder.output.manifest,
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
        taxonomy=STUDY.taxonomy,
        prompt="resources/prompts/miners/quota.yaml",
        prices="resources/prices.yaml",
    output:
        candidates="<results>/libraries/{library}/candidates.jsonl",
        merged="<results>/libraries/{library}/merged.jsonl",
        quota="<results>/libraries/{library}/quota.jsonl",
        rejected="<results>/libraries/{library}/rejected.json",
        requests="<results>/libraries/{library}/mine_requests.jsonl",
    log:
        "<logs>/fill_quota/{library}.log",
    benchmark:
        "<benchmarks>/fill_quota/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Quota),
    resources:
        asking=ASKING,
    params:
        settings=settings("fill_quota"),
        code=code("fill_quota", "miner"),
    message:
        "Writing {wildcards.library} to its quota"
    script:
        "../scripts/fill_quota.py"


rule mine_lessons:
    input:
        trajectories=lambda w: mined_files(w.library, "trajectory.jsonl"),
        artifacts=lambda w: mined_files(w.library, "artifacts.tar.gz"),
        grades=lambda w: mined_files(w.library, "grade.json"),
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
        prompt="resources/prompts/miners/contrast.yaml",
        prices="resources/prices.yaml",
    output:
        contrasts="<results>/libraries/{library}/contrasts.jsonl",
        candidates="<results>/libraries/{library}/candidates.jsonl",
        rejected="<results>/libraries/{library}/rejected.json",
        requests="<results>/libraries/{library}/mine_requests.jsonl",
    log:
        "<logs>/mine_lessons/{library}.log",
    benchmark:
        "<benchmarks>/mine_lessons/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Contrasted),
    resources:
        asking=ASKING,
    params:
        settings=settings("mine_lessons"),
        code=code("mine_lessons", "miner"),
    message:
        "Mining lessons for {wildcards.library} from pairs of programs"
    script:
        "../scripts/mine_lessons.py"


rule review_lessons:
    input:
        merged="<results>/libraries/{library}/merged.jsonl",
        contrasts=rules.mine_lessons.output.contrasts,
        prompt="resources/prompts/lesson_reviewer.yaml",
        prices="resources/prices.yaml",
    output:
        reviews="<results>/libraries/{library}/reviews.jsonl",
        requests="<results>/libraries/{library}/review_requests.jsonl",
    log:
        "<logs>/review_lessons/{library}.log",
    benchmark:
        "<benchmarks>/review_lessons/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Contrasted),
    resources:
        asking=ASKING,
    params:
        settings=settings("review_lessons"),
        code=code("review_lessons", "reviewer"),
    message:
        "Reviewing the lessons of {wildcards.library} on programs of all tasks"
    script:
        "../scripts/review_lessons.py"


rule accept_lessons:
    input:
        merged="<results>/libraries/{library}/merged.jsonl",
        contrasts=rules.mine_lessons.output.contrasts,
        reviews=rules.review_lessons.output.reviews,
    output:
        accepted="<results>/libraries/{library}/accepted.jsonl",
        gate="<results>/libraries/{library}/gate.jsonl",
    log:
        "<logs>/accept_lessons/{library}.log",
    benchmark:
        "<benchmarks>/accept_lessons/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Contrasted),
    params:
        settings=settings("accept_lessons"),
        code=code("accept_lessons"),
    message:
        "Accepting the lessons of {wildcards.library} that pass its gate"
    script:
        "../scripts/accept_lessons.py"


rule import_library:
    input:
        library=lambda w: STUDY.libraries[w.library].path,
    output:
        merged="<results>/libraries/{library}/merged.jsonl",
    log:
        "<logs>/import_library/{library}.log",
    benchmark:
        "<benchmarks>/import_library/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Imported),
    params:
        settings=settings("import_library"),
        code=code("import_library"),
    message:
        "Reading {wildcards.library} from its file"
    script:
        "../scripts/import_library.py"


rule merge_library:
    input:
        candidates="<results>/libraries/{library}/candidates.jsonl",
        encoder=rules.export_encoder.output.model,
        tokenizer=rules.export_encoder.output.tokenizer,
        manifest=rules.export_encoder.output.manifest,
    output:
        merged="<results>/libraries/{library}/merged.jsonl",
        calibration="<results>/libraries/{library}/calibration.csv",
    log:
        "<logs>/merge_library/{library}.log",
    benchmark:
        "<benchmarks>/merge_library/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Mined, Contrasted),
    params:
        settings=settings("merge_library"),
        code=code("merge_library"),
    message:
        "Merging the candidates of {wildcards.library} that say the same"
    script:
        "../scripts/merge_library.py"


rule categorize_rubrics:
    input:
        unpack(lambda w: written_inputs(w.library)),
        taxonomy=STUDY.taxonomy,
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
        library=libraries_made_by(Mined, Quota, Contrasted, Imported),
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


rule verify_match:
    input:
        rubrics="<results>/libraries/{library}/rubrics.jsonl",
        manifest="<results>/libraries/{library}/manifest.json",
        source=lambda w: library_file(STUDY.libraries[w.library].source, "rubrics.jsonl"),
        events=lambda w: failure_files(target_of(w.library).collections, "events.parquet"),
        categories=lambda w: failure_files(target_of(w.library).collections, "categories.parquet"),
        causes=lambda w: (
            failure_files(target_of(w.library).collections, "causes.parquet") if target_of(w.library).target == "complete" else []
        ),
    output:
        checks="<results>/libraries/{library}/verification.jsonl",
    log:
        "<logs>/verify_match/{library}.log",
    benchmark:
        "<benchmarks>/verify_match/{library}.tsv"
    wildcard_constraints:
        library=libraries_made_by(Matched),
    params:
        settings=settings("verify_match"),
        code=code("verify_match"),
    message:
        "Checking the match of {wildcards.library} against the raw failure records"
    script:
        "../scripts/verify_match.py"


rule scramble_library:
    input:
        rubrics=lambda w: library_file(STUDY.libraries[w.library].source, "rubrics.jsonl"),
        manifest=lambda w: library_file(STUDY.libraries[w.library].source, "manifest.json"),
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
        gated=lambda w: gated_behind(w.library),
        encoder=rules.export_encoder.output.model,
        tokenizer=rules.export_encoder.output.tokenizer,
        manifest=rules.export_encoder.output.manifest,
    output:
        embeddings="<results>/libraries/{library}/embeddings.npy",
        index="<results>/libraries/{library}/index.npy",
        index_names="<results>/libraries/{library}/index.json",
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
        "Embedding and indexing the rubrics of {wildcards.library}"
    script:
        "../scripts/embed_library.py"


rule export_library:
    input:
        rubrics="<results>/libraries/{library}/rubrics.jsonl",
        manifest="<results>/libraries/{library}/manifest.json",
        events=lambda w: failure_files(loading.collections_behind(STUDY, w.library), "events.parquet"),
        page=sorted(str(path) for path in Path("resources/library_page").glob("*")),
    output:
        folder=directory("<results>/exports/libraries/{library}"),
    log:
        "<logs>/export_library/{library}.log",
    benchmark:
        "<benchmarks>/export_library/{library}.tsv"
    params:
        settings=settings("export_library"),
        code=code("export_library"),
    message:
        "Exporting {wildcards.library}"
    script:
        "../scripts/export_library.py"


rule recompute_libraries:
    input:
        figures=[f"resources/published/{name}.csv" for name in ("mixes", "totals", "libraries", "distances", "named_counts")],
    output:
        table="<results>/tables/published_libraries.csv",
    log:
        "<logs>/recompute_libraries.log",
    benchmark:
        "<benchmarks>/recompute_libraries.tsv"
    params:
        settings=settings("recompute_libraries"),
        code=code("recompute_libraries"),
    message:
        "Recomputing the published figures about libraries"
    script:
        "../scripts/recompute_libraries.py"
