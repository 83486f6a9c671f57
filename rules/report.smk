# Tables, figures and the dashboard.


rule build_tables:
    input:
        grades=lambda w: files("grade.json", every_episode()),
        again=lambda w: files("grade.json", repeated_finals()),
        rubrics=expand("<results>/libraries/{library}/rubrics.jsonl", library=STUDY.libraries),
        manifests=expand("<results>/libraries/{library}/manifest.json", library=STUDY.libraries),
        distributions=expand("<results>/distributions/{distribution}.json", distribution=STUDY.distributions),
        checks=lambda w: [
            library_file(name, "verification.jsonl") for name, library in STUDY.libraries.items() if isinstance(library, Matched)
        ],
        gates=[library_file(name, "gate.jsonl") for name in GATED],
        published="resources/published/contrasts.csv",
        published_runs="resources/published/runs.csv",
    output:
        arms="<results>/tables/arms.csv",
        arm_rates="<results>/tables/arm_rates.csv",
        contrasts="<results>/tables/contrasts.csv",
        contrast_analyses="<results>/tables/contrast_analyses.csv",
        ranking="<results>/tables/ranking.csv",
        ladder="<results>/tables/ladder.csv",
        noise="<results>/tables/noise.csv",
        planner="<results>/tables/planner.csv",
        published_results="<results>/tables/published_results.csv",
        failure_mix="<results>/tables/failure_mix.csv",
        libraries="<results>/tables/libraries.csv",
        supply="<results>/tables/supply.csv",
        library_distances="<results>/tables/library_distances.csv",
        gates="<results>/tables/gates.csv" if GATED else [],
    log:
        "<logs>/build_tables.log",
    benchmark:
        "<benchmarks>/build_tables.tsv"
    params:
        settings=settings("build_tables"),
        code=code("build_tables"),
    message:
        "Building the tables"
    script:
        "../scripts/build_tables.py"


rule account_costs:
    input:
        requests=lambda w: request_ledgers(),
        attempts=lambda w: files("attempts.jsonl", every_attempt()) + files("final_attempts.jsonl", every_episode()),
        trajectories=lambda w: files("trajectory.jsonl", every_attempt()),
        final_of=lambda w: files("trajectory.jsonl", every_episode()),
        finals=lambda w: files("final.json", every_episode()),
        rubrics=[library_file(name, "rubrics.jsonl") for name in WRITTEN_LIBRARIES],
        verdicts=lambda w: [verdicts_of(judge) for judge in JUDGES] if EXECUTE_ARM else [],
    output:
        requests="<results>/tables/requests.csv",
        unit_costs="<results>/tables/unit_costs.csv",
        attempts="<results>/tables/attempts.csv",
        times="<results>/tables/times.csv",
        time_contrasts="<results>/tables/time_contrasts.csv",
        replaced="<results>/tables/replaced.csv",
    log:
        "<logs>/account_costs.log",
    benchmark:
        "<benchmarks>/account_costs.tsv"
    params:
        settings=settings("account_costs"),
        code=code("account_costs"),
    message:
        "Accounting for requests, attempts and time"
    script:
        "../scripts/account_costs.py"


rule build_truth_table:
    input:
        plans=lambda w: [plan_of(folder) for folder in truth_attempts()],
        trajectories=lambda w: files("trajectory.jsonl", truth_attempts()),
        grades=lambda w: files("grade.json", truth_attempts()),
        final_of=lambda w: files("trajectory.jsonl", truth_episodes()),
        finals=lambda w: files("final.json", truth_episodes()),
        events=expand("<results>/failures/{collection}/events.parquet", collection=failure_collections()),
        categories=expand("<results>/failures/{collection}/categories.parquet", collection=failure_collections()),
        causes=expand("<results>/failures/{collection}/causes.parquet", collection=failure_collections()),
    output:
        table="<results>/tables/truth.csv",
        planted_mix="<results>/tables/planted_mix.csv",
    log:
        "<logs>/build_truth_table.log",
    benchmark:
        "<benchmarks>/build_truth_table.tsv"
    params:
        settings=settings("build_truth_table"),
        code=code("build_truth_table"),
    message:
        "Comparing what was planted with what was found"
    script:
        "../scripts/build_truth_table.py"


rule draw_figures:
    input:
        tables=lambda w: [*scientific_tables(), rules.account_costs.output.times],
    output:
        figures=directory("<results>/figures"),
    log:
        "<logs>/draw_figures.log",
    benchmark:
        "<benchmarks>/draw_figures.tsv"
    params:
        settings=settings("draw_figures"),
        code=code("draw_figures"),
    message:
        "Drawing the figures"
    script:
        "../scripts/draw_figures.py"


rule build_pages:
    input:
        trajectories=lambda w: files("trajectory.jsonl", every_page()),
        grades=lambda w: files("grade.json", every_page()),
        final_of=lambda w: files("trajectory.jsonl", every_episode()),
        finals=lambda w: files("final.json", every_episode()),
        shadow_of=lambda w: files("trajectory.jsonl", shadowed_episodes()),
        shadows=lambda w: [shadows_of(folder) for folder in shadowed_episodes()],
        verdicts=lambda w: [verdicts_of(judge) for judge in JUDGES] if EXECUTE_ARM else [],
        types="resources/failure_types.yaml",
        api_changes="resources/api_changes.tsv",
        templates=[*sorted(str(path) for path in Path("resources/pages").glob("*")), "resources/dashboard/style.css"],
    output:
        pages=directory("<results>/pages"),
    log:
        "<logs>/build_pages.log",
    benchmark:
        "<benchmarks>/build_pages.tsv"
    params:
        settings=settings("build_pages"),
        code=code("build_pages"),
    message:
        "Building a page per attempt"
    script:
        "../scripts/build_pages.py"


rule build_dashboard:
    input:
        tables=lambda w: [
            *scientific_tables(),
            "<results>/tables/pool.csv",
            *rules.account_costs.output,
            *expand("<results>/tables/imported_{collection}.csv", collection=STUDY.imported),
        ],
        figures=rules.draw_figures.output.figures,
        pages=rules.build_pages.output.pages,
        rubrics=expand("<results>/libraries/{library}/rubrics.jsonl", library=STUDY.libraries),
        manifests=expand("<results>/libraries/{library}/manifest.json", library=STUDY.libraries),
        page=sorted(str(path) for path in Path("resources/dashboard").glob("*")),
    output:
        dashboard="<results>/dashboard.html",
    log:
        "<logs>/build_dashboard.log",
    benchmark:
        "<benchmarks>/build_dashboard.tsv"
    params:
        settings=settings("build_dashboard"),
        run_config=f"{RESULTS}/run_config.yaml",
        code=code("build_dashboard"),
    message:
        "Building the dashboard"
    script:
        "../scripts/build_dashboard.py"


# On demand: snakemake results/exports/trajectories
rule export_trajectories:
    input:
        trajectories=lambda w: files("trajectory.jsonl", every_page()),
        grades=lambda w: files("grade.json", every_page()),
        final_of=lambda w: files("trajectory.jsonl", every_episode()),
        finals=lambda w: files("final.json", every_episode()),
    output:
        exports=directory("<results>/exports/trajectories"),
    log:
        "<logs>/export_trajectories.log",
    benchmark:
        "<benchmarks>/export_trajectories.tsv"
    params:
        settings=settings("export_trajectories"),
        code=code("export_trajectories"),
    message:
        "Exporting every attempt as ATIF and for Inspect"
    script:
        "../scripts/export_trajectories.py"
