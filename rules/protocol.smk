# A frozen protocol: what came out beside what was frozen. Part of the run when the configuration is one.


rule verify_protocol:
    input:
        frozen=lambda w: [PROTOCOL / name for name in ("lock.json", "manifest.json", "paid.tar.gz")],
        dashboard=rules.build_dashboard.output.dashboard,
    output:
        table="<results>/tables/verification.csv",
    log:
        "<logs>/verify_protocol.log",
    benchmark:
        "<benchmarks>/verify_protocol.tsv"
    params:
        settings=settings("verify_protocol"),
        code=code("verify_protocol"),
    message:
        "Comparing the results with the frozen ones"
    script:
        "../scripts/verify_protocol.py"
