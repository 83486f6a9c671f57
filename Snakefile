# Can a coding world model holding a library of rubrics stand in for running code?
# README.md says how to run this; docs/decisions.md why it is built so.

from snakemake.utils import min_version

min_version("9.14")


if not workflow.config_settings.configfiles:

    configfile: "config/config.yaml"


# One environment for all rules: .venv, made by set-up. With `--software-deployment-method apptainer` it is this image (envs/Dockerfile).
container: "envs/rubrics-gym.sif"


pathvars:
    logs="<results>/logs",
    benchmarks="<results>/benchmarks",


include: "rules/common.smk"  # the checked study, task lists, settings() and code()
include: "rules/prepare.smk"  # encoder, task bundles, table of the pool
include: "rules/collect.smk"  # rollouts of the agent on pool tasks, graded
include: "rules/failures.smk"  # failed commands, categories, causes, distributions
include: "rules/libraries.smk"  # mining, merging, matching, nulls, embeddings
include: "rules/evaluate.smk"  # episodes on held-out tasks, one per arm and repeat
include: "rules/grading.smk"  # self-tests, acceptance agents, disagreements, MLE-bench's report
include: "rules/judge.smk"  # the judge replayed over commands that really ran
include: "rules/report.smk"  # tables, figures, dashboard
include: "rules/protocol.smk"  # a frozen protocol: what came out beside what was frozen


rule all:
    default_target: True
    input:
        "<results>/dashboard.html",
        verification(),


rule pilot:
    input:
        files("grade.json", pilot_folders()),


onstart:
    # Snakemake's limit on jobs per second wakes the scheduler once a second more for every job that has ended, until it does nothing else.
    workflow.scheduler.job_rate_limiter = None
    start_run()


onsuccess:
    end_run()
    say_reproduced()


onerror:
    end_run()
