"""What every table of a study is: its columns, their units, what they mean, and what a reader must know beside them.

One description per table serves the CSV writer (order of columns, fixed decimals), the dashboard (labels, help, captions) and the
test that refuses a rate without its n, clusters, kind of interval, study or distribution, and `simulated` label.
"""

from __future__ import annotations

from rubrics_gym.report import evaluation_specs, judge_specs
from rubrics_gym.report.table_spec import (
    ARM,
    BIN,
    EXPECTATION,
    LIBRARY,
    PAIR,
    RECORDED,
    Column,
    TableSpec,
    Unit,
    estimate,
    evidence,
    held_out_fit,
    hidden,
    origin,
)

__all__ = [
    "ACCEPTANCE",
    "AGREEMENT",
    "ATTEMPTS",
    "CONFUSION",
    "CORRECTED_MIX",
    "DISAGREEMENTS",
    "EXPOSURE",
    "EXPOSURE_RUNS",
    "FAILURE_MIX",
    "FAILURE_RATES",
    "LIBRARIES",
    "LIBRARY_DISTANCES",
    "MIX_DISTANCES",
    "PLANTED_MIX",
    "POOL",
    "PUBLISHED_LIBRARIES",
    "REQUESTS",
    "SPECS",
    "SUPPLY",
    "TRUTH",
    "UNIT_COSTS",
    "VERIFICATION",
    "Column",
    "TableSpec",
    "Unit",
]


COUNTED = "a full count of the library"

POOL = TableSpec(
    "pool",
    "Task pool",
    "Every task of the pool: kept, or removed and why.",
    (
        Column("benchmark", "Benchmark"),
        Column("task", "Task", Unit.CODE),
        Column("title", "Title"),
        Column("kind", "Kind"),
        Column("role", "Role", help="What the task may be used for; a task has one role in a study."),
        Column("status", "Status", help="In the pool, or the first reason that keeps it out."),
        hidden("holdout"),
        Column("rule", "Hold-out rule", Unit.CODE, "Which rule of the hold-out filter removes it."),
        Column("match", "Hits", Unit.CODE, "The name, alias or word that it shares with a held-out task."),
        Column("held_out_task", "Held-out task", Unit.CODE),
        Column("cannot_run", "Cannot run here", help="Why; this is no judgement of the hold-out filter."),
        hidden("by_hand"),
        hidden("published"),
        hidden("strict"),
        hidden("exact"),
        Column("source", "Data", help="Where the files come from, and under which licence."),
    ),
    "A task that is a held-out task, is an alias of one, shares its distinctive words, or shares a table or rows with one, is removed. "
    "The page shows the benchmarks of this study; tables/pool.csv has every task of every benchmark.",
)

ACCEPTANCE = TableSpec(
    "acceptance",
    "Acceptance of tasks",
    "Every task of the study, tried out with the reference answer and with none.",
    (
        Column("benchmark", "Benchmark"),
        Column("task", "Task", Unit.CODE),
        Column("oracle", "Reference answer", help="Scores in full, or not; or the task has no reference answer."),
        Column("oracle_outcome", "Outcome", Unit.CODE),
        Column("oracle_score", "Score", Unit.NUMBER, "Of the rule that counts."),
        Column("official_score", "Official score", Unit.NUMBER, "Of the benchmark's own rule, where there are two."),
        Column("nop", "No answer", help="Must score as missing."),
        Column("nop_outcome", "Outcome", Unit.CODE),
        Column("reason", "Why"),
    ),
)

DISAGREEMENTS = TableSpec(
    "grader_disagreements",
    "Disagreements of graders",
    "Attempts that a benchmark's official rule and the corrected one judge differently, by the gravest difference.",
    (
        Column("group", "Collection or arm", Unit.CODE),
        Column("benchmark", "Benchmark"),
        Column("graded", "Graded", Unit.COUNT, "Attempts graded by two rules."),
        Column("agree", "Agree", Unit.COUNT),
        Column("outcome", "Other outcome", Unit.COUNT, "One rule takes the submission, the other does not."),
        Column("medal", "Other medal", Unit.COUNT),
        Column("verdict", "Other verdict", Unit.COUNT, "Ended wrong by one rule and not by the other."),
        Column("score", "Other score", Unit.COUNT, "The score alone differs."),
        Column("tasks", "Tasks", Unit.CODE),
    ),
)

FAILURE_MIX = TableSpec(
    "failure_mix",
    "Failure mix",
    "How often each kind of failure occurs in the pool and on held-out tasks, and how many rubrics of each library are about it.",
    (
        BIN,
        Column("series", "Series"),
        Column("series_kind", "Of", help="failures or rubrics"),
        Column("count", "Count", Unit.COUNT),
        *estimate("share", "Share"),
        held_out_fit("A library that was fitted to held-out failures: no fair test."),
        *evidence("distribution"),
    ),
    "Intervals of failure shares resample tasks, with all failures of one together. Shares of rubrics are complete counts and have none.",
)

FAILURE_RATES = TableSpec(
    "failure_rates",
    "What failed",
    "How many of the commands that really ran count as failures, by each of the named rules.",
    (
        Column("collection", "Collection", Unit.CODE),
        Column(
            "predicate",
            "Rule",
            help="failed_command: exit code not 0, or none recorded and an error text. Masked: exit code 0 behind a pipe, and an error text. "
            "error_step: the published rule for weights.",
        ),
        Column("commands", "Commands", Unit.COUNT, "Of the kind that the rule is about: code runs, or installs."),
        Column("counted", "Count", Unit.COUNT),
        *estimate("share", "Share"),
        *evidence(),
    ),
    "Only failed_command counts in a failure mix; the other rows say how much hangs on that choice.",
)

MIX_DISTANCES = TableSpec(
    "mix_distances",
    "Distances between failure mixes",
    "Total variation, 0-100: the share of failures that would have to be of another kind.",
    (
        *PAIR,
        Column(
            "view",
            "On",
            help="split: 22 categories, Runtime by its types. 22 and 21: types joined; 21 without the category that was added later.",
        ),
        *estimate("distance", "Distance", Unit.NUMBER),
        Column(
            "noise_floor",
            "Noise floor",
            Unit.NUMBER,
            "Mean distance of two such samples, drawn by tasks, of one and the same mix.",
            exact=EXPECTATION,
        ),
        *evidence("distribution"),
    ),
    "A distance that is not above the noise floor says nothing.",
)

AGREEMENT = TableSpec(
    "agreement",
    "Agreement of those who sorted",
    "Two classifiers, a reviewer, a miner and people on the same failures, causes and citations.",
    (
        Column("question", "Question"),
        *PAIR,
        Column("between", "Between"),
        *estimate("observed", "Same answer"),
        *estimate("kappa", "Kappa", Unit.NUMBER, "Cohen's kappa: agreement beyond chance."),
        Column("left_out", "Left out", Unit.COUNT, "One of the two abstained."),
        *evidence(),
    ),
    "Inside Runtime both classifiers take the type from the same fixed expressions: they can differ in the category alone.",
)

CONFUSION = TableSpec(
    "confusion",
    "Who took what for what",
    "Every pair of answers that occurs.",
    (
        Column("question", "Question"),
        *PAIR,
        hidden("between"),
        Column("first_answer", "First says", Unit.CODE),
        Column("second_answer", "Second says", Unit.CODE),
        Column("count", "Count", Unit.COUNT),
        Column("same", "Same", Unit.FLAG),
        *evidence(note=False),
    ),
)

CORRECTED_MIX = TableSpec(
    "corrected_mix",
    "Failure mix corrected for the classifier's errors",
    "Shares of failed commands as the classifier counted them, and as they would be without the errors that were seen against a reference.",
    (
        BIN,
        Column("classifier", "Classifier", Unit.CODE),
        Column("reference", "Reference", Unit.CODE),
        Column("reference_kind", "Is a"),
        Column("count", "Count", Unit.COUNT),
        Column("share", "Counted", Unit.SHARE, exact="counted; its interval is in the failure mix"),
        Column("corrected_share", "Corrected", Unit.SHARE, exact="a correction of what was counted"),
        Column("checked", "Checked", Unit.COUNT, "Failures that both sorted."),
        *evidence(),
    ),
    "Only people are a reference that settles who is right.",
)

PLANTED_MIX = TableSpec(
    "planted_mix",
    "Planted mix against recovered mix",
    "Of the planted mistakes that surfaced: the mix as planted, and as the pipeline sorted it.",
    (
        BIN,
        Column("planted", "Planted", Unit.COUNT),
        Column("recovered", "Recovered", Unit.COUNT),
        *estimate("planted_share", "Planted share", ends="planted"),
        *estimate("recovered_share", "Recovered share", ends="recovered"),
        *estimate("distance", "Distance", Unit.NUMBER, "Total variation of the two mixes, in every row."),
        Column(
            "noise_floor",
            "Noise floor",
            Unit.NUMBER,
            "Mean distance of the planted mix from a sample of its own tasks.",
            exact=EXPECTATION,
        ),
        *evidence(),
    ),
    "Exists for simulated agents only. A mistake that surfaced and was not detected is in the planted mix alone.",
)

LIBRARIES = TableSpec(
    "libraries",
    "Libraries",
    "How each library was made and how near its mix is to its target.",
    (
        LIBRARY,
        Column("recipe", "Recipe"),
        Column("candidates", "Candidates", Unit.COUNT, "Rubrics before merging or cutting."),
        Column("rubrics", "Rubrics", Unit.COUNT),
        Column("crash", "Crash", Unit.COUNT, "Rubrics about a program that dies."),
        Column("wrong_result", "Wrong result", Unit.COUNT, "Rubrics about a program that runs and is wrong."),
        Column("crash_caused_wrong_result", "Crash → wrong", Unit.COUNT, "Rubrics about a crash whose fallback was wrong."),
        Column("distance_before", "Distance before", Unit.NUMBER, "Total variation of the source to the target, 0-100.", exact=COUNTED),
        Column("distance", "Distance", Unit.NUMBER, "Total variation of this library to its target, 0-100.", exact=COUNTED),
        Column(
            "noise_floor",
            "Noise floor",
            Unit.NUMBER,
            "Expected distance of a fresh sample of the target's size from the target itself.",
            exact=EXPECTATION,
        ),
        Column("binding_bin", "Binding bin", Unit.CODE, "The failure whose supply of rubrics limits the size."),
        Column("dropped_mass", "Dropped", Unit.SHARE, "Share of the target's failures for which there is no rubric at all.", exact=COUNTED),
        Column("unclassified", "Unclassified", Unit.COUNT),
        held_out_fit("Fitted to held-out failures: no fair test."),
        Column("verified", "Checks hold", Unit.COUNT, "Properties of the match that an independent count from the raw records confirmed."),
        Column("n", "n", Unit.COUNT, "Rubrics behind the mix."),
        Column("clusters", "Clusters", Unit.COUNT, "Tasks that support the rubrics."),
        Column("interval_kind", "Interval", Unit.CODE),
        Column("distribution", "Target", Unit.CODE, "Id of the target: collections × target × classifier × taxonomy."),
        hidden("simulated", Unit.FLAG),
    ),
    "A difference of distances below the noise floor says nothing.",
)

CONTAMINATED = held_out_fit("Fitted to held-out failures: no fair test.")

GATES = TableSpec(
    "gates",
    "Lessons at their gates",
    "Every lesson from a pair of programs: what a reviewer who knew no score found of it in the programs of all tasks, and whether it was accepted.",
    (
        LIBRARY,
        Column("lesson", "Lesson", Unit.CODE),
        Column("title", "Title"),
        Column("tasks_behind", "Written from", Unit.COUNT, "Tasks behind it."),
        Column("reviews", "Reviews", Unit.COUNT, "Pairs of programs that it was looked for in."),
        Column("unusable", "Unusable", Unit.COUNT, "Of them without a usable answer."),
        Column("favourable_tasks", "Told apart", Unit.COUNT, "Other tasks on which it tells the better program from the worse."),
        Column("favourable_development", "… for development", Unit.COUNT),
        Column("reversed_tasks", "Reversed", Unit.COUNT, "Tasks on which it does so the wrong way round."),
        Column("accepted", "Accepted", Unit.FLAG),
        Column("reasons", "Turned down for", Unit.TEXT, "Reasons overlap."),
        Column("fewest", "A judge wants", Unit.COUNT, "Accepted lessons of the library; fewer are shown and not used."),
        held_out_fit("Fitted to held-out failures: no fair test."),
        *origin(),
    ),
    "A lesson that is turned down is not shown to be false; one that is accepted is accepted under this gate and these programs.",
)

SUPPLY = TableSpec(
    "supply",
    "Supply",
    "How large each bin of the target would allow a matched library to be, the scarcest first.",
    (
        LIBRARY,
        BIN,
        Column("share", "Share of the target", Unit.SHARE, exact="the target's; its interval is in the failure mix"),
        Column("available", "Rubrics", Unit.COUNT, "Of the bin, in the library that is cut."),
        Column(
            "allows",
            "Allows",
            Unit.NUMBER,
            "Rubrics / share on the bins that have rubrics: the largest library that this bin alone would allow.",
            exact=COUNTED,
        ),
        Column("kept_out", "Kept out", Unit.COUNT, "Rubrics of the bin for which there is no budget."),
        Column("binding", "Binding", Unit.FLAG),
        CONTAMINATED,
        *evidence("distribution", note=False),
    ),
    "A bin without rubrics allows nothing and is left out of the target; its share is the dropped one. n counts the target's failures.",
)

LIBRARY_DISTANCES = TableSpec(
    "library_distances",
    "Libraries and failure mixes",
    "Total variation of every library to every failure mix, 0-100.",
    (
        LIBRARY,
        Column("target", "Failure mix", Unit.CODE),
        Column("rubrics", "Rubrics", Unit.COUNT),
        Column("distance", "Distance", Unit.NUMBER, "On split categories: the runtime types are bins of their own.", exact=COUNTED),
        Column(
            "distance_by_weight",
            "By weight",
            Unit.NUMBER,
            "Each rubric counted as often as it weighs; empty where none has a weight.",
            exact=COUNTED,
        ),
        Column("distance_unsplit", "Unsplit", Unit.NUMBER, "With all runtime types as one bin.", exact=COUNTED),
        Column(
            "noise_floor",
            "Noise floor",
            Unit.NUMBER,
            "Expected distance of a fresh sample of the mix's size from the mix itself.",
            exact=EXPECTATION,
        ),
        Column("runtime_share", "Runtime", Unit.SHARE, "Share of the library's rubrics about programs that die.", exact=COUNTED),
        CONTAMINATED,
        *evidence("distribution", note=False),
    ),
    "Libraries are never to be ranked on gaps below the noise floor.",
)

EXPOSURE_RUNS = TableSpec(
    "exposure_runs",
    "What reaches the judge",
    "Of each library: what was retrieved, said to be applicable, and flagged, and how far each is from the failures of the held-out tasks.",
    (
        Column("judge", "Judge", Unit.CODE),
        LIBRARY,
        Column("run", "Run", help="The replay over commands that ran, or a repeat of the arm's episodes."),
        Column("verdicts", "Verdicts", Unit.COUNT),
        hidden("library_rubrics", Unit.COUNT),
        Column("retrieved", "Retrieved", Unit.COUNT),
        Column("applicable", "Applicable", Unit.COUNT),
        Column("flagged", "Flagged", Unit.COUNT),
        Column("distance_library", "Distance of library", Unit.NUMBER, exact=RECORDED),
        Column("distance_retrieved", "… of retrieved", Unit.NUMBER, exact=RECORDED),
        Column("distance_applicable", "… of applicable", Unit.NUMBER, exact=RECORDED),
        Column("distance_flagged", "… of flagged", Unit.NUMBER, exact=RECORDED),
        Column("runtime_share", "Runtime of retrieved", Unit.SHARE, exact=RECORDED),
        CONTAMINATED,
        *evidence("distribution", note=False),
    ),
    "Total variation, 0-100, to the failures of the held-out tasks under execution. n counts retrieved rubrics, once for every verdict.",
)

EXPOSURE = TableSpec(
    "exposure",
    "What reaches the judge, by failure",
    "For each bin: failures of the held-out tasks, rubrics in the library, and how often they were retrieved, applicable and flagged.",
    (
        Column("judge", "Judge", Unit.CODE),
        LIBRARY,
        Column("run", "Run"),
        BIN,
        Column("failures", "Failures", Unit.COUNT, "Of the held-out tasks under execution."),
        Column("failure_share", "Share of failures", Unit.SHARE, exact="its interval is in the failure mix"),
        Column("in_library", "In the library", Unit.COUNT),
        Column("in_retrieved", "Retrieved", Unit.COUNT),
        Column("in_applicable", "Applicable", Unit.COUNT),
        Column("in_flagged", "Flagged", Unit.COUNT),
        CONTAMINATED,
        *evidence("distribution", note=False),
    ),
    "A bin that is in the library and never retrieved is lost there. n counts the held-out failures.",
)

PUBLISHED_LIBRARIES = TableSpec(
    "published_libraries",
    "Published figures, recomputed",
    "What the published study prints about its libraries, beside what this project's code makes of the visible rows.",
    (
        Column("about", "About"),
        Column("figure", "Figure"),
        Column("published", "Published"),
        Column("recomputed", "Recomputed"),
        Column("standing", "Standing", help="equal; within what is visible; not determined, where rows are cut; another rule; different"),
        Column("note", "Note"),
    ),
)

TRUTH = TableSpec(
    "truth",
    "Truth table of the planted mistakes",
    "What the simulated agent planted, what of it surfaced, and what the pipeline made of it.",
    (
        Column("kind", "Mistake", Unit.CODE),
        Column("planted", "Planted", Unit.COUNT),
        Column("surfaced", "Surfaced", Unit.COUNT, "Showed in what was recorded, by the planted signature; the detector has no say."),
        hidden("detected", Unit.COUNT),
        *estimate("detected_share", "Detected", help="Of the surfaced.", ends="detected"),
        hidden("typed", Unit.COUNT),
        *estimate("typed_share", "Typed right", help="Of the detected that have a type.", ends="typed"),
        hidden("typed_n", Unit.COUNT),
        hidden("categorised", Unit.COUNT),
        *estimate("categorised_share", "Categorised right", help="Of the detected.", ends="categorised"),
        hidden("categorised_n", Unit.COUNT),
        *evidence(note=False),
    ),
    "Exists for simulated agents only: it measures the detector and the classifiers, not Claude. n counts what surfaced.",
)

REQUESTS = TableSpec(
    "requests",
    "Requests and costs",
    "Every request to a model that was reserved, and what became of it. Reserved = returned + failed + unresolved + refused.",
    (
        Column("stage", "Stage"),
        Column("role", "Role"),
        Column("model", "Model", Unit.CODE),
        Column("collection", "Collection", Unit.CODE),
        Column("library", "Library", Unit.CODE, "Of a judge: the one that it retrieved from."),
        ARM,
        Column("reserved", "Reserved", Unit.COUNT),
        Column("returned", "Returned", Unit.COUNT),
        Column("failed", "Failed", Unit.COUNT),
        Column("unresolved", "Unresolved", Unit.COUNT, "Sent, and no end on record: charged at its maximum, never repeated in silence."),
        Column("refused", "Refused", Unit.COUNT, "Would have passed the allowance; not sent."),
        Column("replaced", "Repeated", Unit.COUNT, "Records that repeat one that failed or stayed unresolved."),
        Column("input_tokens", "Input tokens", Unit.COUNT),
        Column("output_tokens", "Output tokens", Unit.COUNT),
        Column("cost_microdollars", "Cost", Unit.MICRODOLLARS),
        *origin(),
    ),
    "Costs of simulated models are what the price table says their tokens would have cost; nothing was paid.",
)

UNIT_COSTS = TableSpec(
    "unit_costs",
    "What one of each cost",
    "Cost of a rollout, an episode (its judge included), a verdict, and a rubric of a library (its miner, its classifier and, of lessons, its reviewer).",
    (
        Column("what", "One"),
        Column("of", "Of", Unit.CODE, "Collection, arm, or library."),
        *estimate("mean_microdollars", "Mean cost", Unit.MICRODOLLARS, ends=""),
        Column("total_microdollars", "Total cost", Unit.MICRODOLLARS),
        *evidence(),
    ),
    "Libraries of one miner share its answers, so totals of rubrics overlap. Costs of simulated models were not paid.",
)

ATTEMPTS = TableSpec(
    "attempts",
    "Attempts and losses",
    "Every attempt that began, the lost ones too.",
    (
        Column("unit", "Unit", Unit.CODE),
        Column("attempt", "Attempt", Unit.COUNT),
        Column("state", "State"),
        Column("reason", "Reason"),
        Column(
            "code",
            "Made by code",
            Unit.CODE,
            "Fingerprint of the code that made it: what the store holds is served, whatever the code has become.",
        ),
        Column("continuation", "In a continuation", Unit.FLAG, "Begun after the study had been stopped and resumed."),
        *origin(),
    ),
    "A lost attempt is an infrastructure loss. It stays on record when its unit is tried again.",
)

# of a reproduced protocol; it is no table of the study, so the dashboard does not have it
VERIFICATION = TableSpec(
    name="verification",
    title="What was reproduced",
    caption="Every artefact of a frozen protocol beside what came out now.",
    columns=(
        Column("artefact", "Artefact", Unit.CODE),
        Column("state", "State", help="equal, within tolerance, differs, or missing"),
        Column("where", "Where it differs"),
    ),
)

SPECS: dict[str, TableSpec] = {
    spec.name: spec
    for spec in (
        POOL,
        FAILURE_MIX,
        FAILURE_RATES,
        MIX_DISTANCES,
        AGREEMENT,
        CONFUSION,
        CORRECTED_MIX,
        LIBRARIES,
        GATES,
        SUPPLY,
        LIBRARY_DISTANCES,
        EXPOSURE_RUNS,
        EXPOSURE,
        *evaluation_specs.SPECS,
        *judge_specs.SPECS,
        TRUTH,
        PLANTED_MIX,
        REQUESTS,
        UNIT_COSTS,
        ATTEMPTS,
    )
}
