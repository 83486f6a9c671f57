# Encoder, sources of benchmarks, task bundles, and the table of what is in the pool.


rule export_encoder:
    output:
        model="<results>/encoder/model.onnx",
        tokenizer="<results>/encoder/tokenizer.json",
        manifest="<results>/encoder/manifest.json",
    log:
        "<logs>/export_encoder.log",
    benchmark:
        "<benchmarks>/export_encoder.tsv"
    params:
        settings=settings("export_encoder"),
        code=code("export_encoder"),
    message:
        "Exporting the sentence encoder for a light runtime"
    script:
        "../scripts/export_encoder.py"


# Called by `make source NAME=…` and by nothing else: no study downloads anything. The source goes to a cache outside results/; the output
# says what was found there.
rule fetch_source:
    output:
        receipt="<results>/sources/{benchmark}.json",
    log:
        "<logs>/fetch_source/{benchmark}.log",
    benchmark:
        "<benchmarks>/fetch_source/{benchmark}.tsv"
    params:
        settings=settings("fetch_source"),
        code=code("fetch_source"),
    message:
        "Fetching the source of {wildcards.benchmark}, and looking through it"
    script:
        "../scripts/fetch_source.py"


rule prepare_task:
    input:
        source=lambda w: source_receipt(w.benchmark),
    output:
        public="<results>/tasks/{benchmark}/{task}/public.tar.gz",
        private="<results>/tasks/{benchmark}/{task}/private.tar.gz",
    log:
        "<logs>/prepare_task/{benchmark}/{task}.log",
    benchmark:
        "<benchmarks>/prepare_task/{benchmark}/{task}.tsv"
    params:
        settings=settings("prepare_task"),
        # of this task's lines in resources/benchmarks/, so that editing one task rebuilds one task
        task=lambda w: task_fingerprint(w.benchmark, w.task),
        code=code("prepare_task", without=lambda w: other_loaders(w.benchmark)),
    message:
        "Preparing {wildcards.task}"
    script:
        "../scripts/prepare_task.py"


rule list_pool:
    input:
        benchmarks=sorted(Path("resources/benchmarks").glob("*.yaml")),
        holdouts=sorted(Path("resources/holdouts").glob("*.yaml")),
    output:
        pool="<results>/tables/pool.csv",
    log:
        "<logs>/list_pool.log",
    benchmark:
        "<benchmarks>/list_pool.tsv"
    params:
        settings=settings("list_pool"),
        code=code("list_pool"),
    message:
        "Listing every task: kept, or removed and why"
    script:
        "../scripts/list_pool.py"
