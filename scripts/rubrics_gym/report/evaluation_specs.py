"""Tables of the arms: results, contrasts and every other reading of them, rankings, noise, designs, times, and the published figures."""

from __future__ import annotations

from rubrics_gym.report.table_spec import (
    A_BOUND,
    ARM,
    ENDS,
    LIBRARY,
    OF_DESIGN,
    PAIR,
    RECORDED,
    Column,
    TableSpec,
    Unit,
    estimate,
    evidence,
    held_out_fit,
    hidden,
    p_value,
    rate,
    span,
)

CONTAMINATED = held_out_fit("An arm whose library was fitted to held-out failures: no fair test.")

ARMS = TableSpec(
    "arms",
    "Results per arm",
    "What the agent handed in, by feedback policy. Valid: the submission is accepted by the competition's grader.",
    (
        ARM,
        *estimate("validity", "Validity", help="Valid of those with a known outcome."),
        Column("valid", "Valid", Unit.COUNT),
        Column("medals", "Medals", Unit.COUNT),
        Column("above_median", "Above median", Unit.COUNT),
        Column(
            "by_run",
            "Per run",
            help="Valid / medals / above median of each run, in order; mean valid of the known runs in brackets. *: outcomes missing; –: nothing known.",
        ),
        Column("best_possible", "Best possible", Unit.COUNT, "Planned, without competitions on which nothing can be valid."),
        Column("at_best", "At best", Unit.FLAG, "As many valid as are possible."),
        Column("planned", "Planned", Unit.COUNT, "Competitions × repeats."),
        Column("finished", "Finished", Unit.COUNT, "Ended by the agent's own doing."),
        Column("lost", "Lost", Unit.COUNT, "Ended by the infrastructure: never a failure of the agent, never zero."),
        Column("not_run", "Not run", Unit.COUNT),
        *span("bound", "Bounds", Unit.SHARE, "Validity of the planned: every missing outcome a failure, or valid."),
        CONTAMINATED,
        *evidence(),
        hidden("split"),
    ),
    "The interval is about other competitions of this kind. Where outcomes are missing, read the two bounds beside the rate.",
)

ARM_RATES = TableSpec(
    "arm_rates",
    "Rates by denominator",
    "The same outcomes over every declared denominator: all planned, competitions with an outcome of every planned episode in every arm, and subsets.",
    (
        Column("denominator", "Denominator", Unit.CODE),
        ARM,
        Column("endpoint", "Endpoint"),
        *estimate("rate", "Rate", help="Of the known outcomes, clustered by competition."),
        Column("successes", "Successes", Unit.COUNT),
        Column("known", "Known", Unit.COUNT),
        Column("planned", "Planned", Unit.COUNT),
        *span("wilson", "Wilson", Unit.SHARE, "Wilson's interval of the effective number of observations.", exact=ENDS),
        *span(
            "exact",
            "Clopper-Pearson",
            Unit.SHARE,
            "Of the effective number of observations; the one to read where there are no or few successes.",
            exact=ENDS,
        ),
        Column(
            "icc",
            "ICC",
            Unit.NUMBER,
            "Correlation of repeats of a competition; empty: not identified, taken as 1.",
            exact="a moment of the clusters",
        ),
        *span("bound", "Bounds", Unit.SHARE, "Over the planned: every missing outcome a failure, or a success."),
        CONTAMINATED,
        *evidence(),
        hidden("split"),
    ),
)

CONTRASTS = TableSpec(
    "contrasts",
    "Contrasts between arms",
    "First minus second arm, paired by competition, in percentage points.",
    (
        *PAIR,
        *estimate("estimate", "Difference, pp", Unit.POINTS, "Mean over competitions; paired t interval.", ends=""),
        Column("endpoint", "Endpoint"),
        *span("bootstrap", "Bootstrap", Unit.POINTS, "Percentile cluster bootstrap, the published companion.", exact=ENDS),
        p_value("p", "p", "Sign-flip test on competition means, two-sided."),
        p_value("p_holm", "p (Holm)", "Adjusted for all contrasts of this table with the same endpoint."),
        p_value("p_sequence", "p (in order)", "Tested in the declared order, each only if all before it were rejected."),
        Column("test", "Test", Unit.CODE),
        p_value("p_t", "p (t)", "Paired t test on competition means."),
        Column(
            "detectable",
            "Detectable, pp",
            Unit.NUMBER,
            "Smallest true difference that this design finds with 80% power.",
            exact=OF_DESIGN,
        ),
        *span("bound", "Bounds", Unit.POINTS, "Missing outcomes at their extremes: against the first arm, for it."),
        Column("missing", "Missing", Unit.COUNT, "Planned outcomes of either arm that are not known."),
        CONTAMINATED,
        *evidence(),
        hidden("split"),
    ),
    "With few competitions the smallest possible p is 2 / 2^clusters; a difference below “detectable” cannot be told from none.",
)

CONTRAST_ANALYSES = TableSpec(
    "contrast_analyses",
    "Other readings of the contrasts",
    "Validity of the first minus the second arm under every other analysis: another estimand, method, reading of lost outcomes, or question.",
    (
        *PAIR,
        Column("analysis", "Analysis", Unit.CODE),
        Column("question", "About"),
        *estimate("estimate", "Difference, pp", Unit.POINTS, ends=""),
        p_value("p", "p"),
        Column("says", "Says"),
        CONTAMINATED,
        *evidence(),
        hidden("split"),
    ),
    "The first row of a pair is the primary analysis. Lost outcomes have rows only where there are any.",
)

RANKING = TableSpec(
    "ranking",
    "Arms among each other",
    "What is left of a lead when chance is allowed for: validity shrunken towards the common mean, and the chance of being the best.",
    (
        ARM,
        Column(
            "validity",
            "Validity",
            Unit.SHARE,
            "As observed, over the competitions with an outcome in every arm.",
            exact="its interval is in the results per arm",
        ),
        *estimate("shrunken", "Shrunken", help="Empirical Bayes."),
        Column(
            "best", "Best of these", Unit.SHARE, "Chance, over draws from the posterior, to be on top.", exact="a posterior probability"
        ),
        Column(
            "by_chance",
            "Lead by chance, pp",
            Unit.NUMBER,
            "Expected lead of the best of as many equal arms.",
            exact="an expectation under no effect",
        ),
        CONTAMINATED,
        *evidence(),
    ),
)

LADDER = TableSpec(
    "ladder",
    "One change at a time",
    "The arms in the order of the evaluation: what each changes of the one before, what its judge reads, and what comes of it.",
    (
        ARM,
        Column("change", "Changes"),
        LIBRARY,
        Column("rubrics", "Rubrics", Unit.COUNT, "In the library."),
        Column("retrieval", "Retrieval", Unit.CODE),
        Column("k", "k", Unit.COUNT, "Rubrics per verdict; 0: the task criterion alone."),
        *estimate("validity", "Validity"),
        *rate("step", "Step, pp", "Difference to the row before, paired by competition.", Unit.POINTS),
        CONTAMINATED,
        *evidence(),
    ),
    "Only where a row changes one thing does its step say what that thing does.",
)

NOISE = TableSpec(
    "noise",
    "Noise",
    "How far identical runs are apart, and whose doing it is: standard deviations, and each source's share of the variance of full repeats.",
    (
        Column("source", "Source"),
        Column("of", "Of", Unit.CODE),
        Column("quantity", "Quantity"),
        *estimate("sd", "SD", Unit.NUMBER),
        *estimate("share", "Share", help="Of the variance of full repeats; competitions left out one at a time."),
        CONTAMINATED,
        *evidence(),
    ),
    "Harness: the final run of one episode made again (evaluation.repeated_finals). Judge: the same commands judged again (evaluation.rejudged; table of the judge's "
    "noise). Agent: what is left of full repeats (evaluation.repeats).",
)

JUDGE_NOISE = TableSpec(
    "judge_noise",
    "Noise of the judge",
    "The share of an episode's commands that a judge flags: when the same trajectory is judged again, and when the episode is.",
    NOISE.columns,
    "The judge's own part is identified where commands were judged twice, the agent's where episodes were repeated. The final run comes after every verdict: it has no part.",
)

PLANNER = TableSpec(
    "planner",
    "What a design can show",
    "Two arms over the tasks of this evaluation: the difference that a paired t test finds with 80% power, and the power against differences.",
    (
        Column("repeats", "Repeats", Unit.COUNT),
        Column("tasks", "Tasks", Unit.COUNT),
        Column(
            "run_sd",
            "Run SD",
            Unit.NUMBER,
            "Run-to-run standard deviation, in valid submissions.",
            exact="its interval is in the table of noise",
        ),
        Column("source", "SD from"),
        *estimate("detectable", "Detectable, pp", Unit.NUMBER, "With those of the ends of the SD's interval."),
        *(Column(f"power_{points}", f"Power, {points} pp", Unit.SHARE, exact=OF_DESIGN) for points in (5, 10, 15, 20, 30)),
        *evidence(),
    ),
    "The true effect is taken as equal over tasks; where it varies, more is needed.",
)

PUBLISHED_RESULTS = TableSpec(
    "published_results",
    "Published results, recomputed",
    "Figures of the source documents beside what this project's statistics make of them.",
    (
        Column("figure", "Figure"),
        Column("unit", "Unit"),
        *estimate("published", "Published", Unit.NUMBER),
        *estimate("recomputed", "Recomputed", Unit.NUMBER, "Of a contrast: the paired t interval that its bootstrap interval implies."),
        Column("lost_first", "Lost, first", Unit.COUNT, "Lost finals that the published sensitivity range implies."),
        Column("lost_second", "Lost, second", Unit.COUNT),
        *span("range", "Range", Unit.NUMBER, "Published sensitivity range."),
        Column("range_low_again", "Range again", Unit.NUMBER, "From the implied counts.", to="range_high_again", exact=A_BOUND),
        hidden("range_high_again", Unit.NUMBER),
        *evidence(),
    ),
    "Rebuilt from printed figures, not from data: approximate.",
)


def _seconds(name: str, label: str, help: str) -> tuple[Column, ...]:
    return rate(name, label, help, Unit.SECONDS)


TIMES = TableSpec(
    "times",
    "Measured times",
    "Seconds per attempt, mean over its tasks with a t interval. In a table of its own, because times differ from run to run.",
    (
        Column("stage", "Stage"),
        Column("group", "Arm or collection", Unit.CODE),
        *_seconds("episode_s", "Attempt, s", "First to last event; set-up of the sandbox and waiting for the judge are in it."),
        *_seconds("real_run_s", "Real runs, s", "Code-running commands and checks that ran; no installs, inspection or final run."),
        *_seconds("final_s", "Final run, s", "The one run of final.py after the episode."),
        *_seconds("with_final_s", "Attempt + final, s", "Both; attempts with a final run only."),
        *rate(
            "to_ceiling",
            "Of the ceiling",
            "Attempt + final against that of the arm in which every command runs: ratio of sums, paired by competition.",
            Unit.NUMBER,
        ),
        Column(
            "cost_per_attempt",
            "Cost per attempt",
            Unit.MICRODOLLARS,
            "Agent and judge, mean over attempts; list prices where models are simulated.",
        ),
        CONTAMINATED,
        *evidence(),
    ),
    "Valid and invalid attempts count alike. Times of a shared machine are upper bounds. Higher validity at longer times is a trade-off, not a gain.",
)

TIME_CONTRASTS = TableSpec(
    "time_contrasts",
    "Contrasts of time",
    "First minus second arm in seconds, paired by competition, by the same methods as the outcomes.",
    tuple(
        Column(column.name, column.label.replace(", pp", ", s"), Unit.NUMBER if column.unit is Unit.POINTS else column.unit, column.help, column.low, column.high, column.to,
               column.own, column.exact, column.shown) for column in CONTRASTS.columns
    ),
    "A lost time has no bounds: it could be anything.",
)  # fmt: skip

REPLACED = TableSpec(
    "replaced",
    "Execution that verdicts replace",
    "Minutes that the judged commands took when they really ran: what a judge with a verdict on each would have spared.",
    (
        Column("judge", "Judge", Unit.CODE),
        LIBRARY,
        Column("minutes", "Minutes", Unit.NUMBER, "Of commands with a verdict.", exact=RECORDED),
        Column("clean_minutes", "Clean, minutes", Unit.NUMBER, "Of commands with a clean verdict.", exact=RECORDED),
        *estimate("per_episode", "Per episode, s", Unit.SECONDS),
        CONTAMINATED,
        *evidence(),
    ),
)

SPECS = (
    ARMS,
    ARM_RATES,
    CONTRASTS,
    CONTRAST_ANALYSES,
    RANKING,
    LADDER,
    NOISE,
    PLANNER,
    PUBLISHED_RESULTS,
    TIMES,
    TIME_CONTRASTS,
    REPLACED,
    JUDGE_NOISE,
)
