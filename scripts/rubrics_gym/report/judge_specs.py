"""Tables of the judge: precision and recall in every cut, its rubrics, its alarms and what the agent made of them."""

from __future__ import annotations

from rubrics_gym.report.table_spec import (
    ARM,
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
    p_value,
    rate,
)

FITTED = held_out_fit("Judged by a library that was fitted to held-out failures: no fair test.")
WHO = (Column("judge", "Judge", Unit.CODE), Column("library", "Library", Unit.CODE), FITTED)

PRECISION_RECALL = TableSpec(
    "precision_recall",
    "Precision and recall of the judge",
    "Every code-running command of the episodes that really ran, judged as if it had not: the verdict against what execution did.",
    (
        *WHO,
        Column("kind", "Kind", help="judge or baseline"),
        Column(
            "truth",
            "Truth",
            help="failed: any failure; crashed: time-outs are censored and left out; timed_out: time-outs against what ran, crashes left out.",
        ),
        Column("reading", "Abstentions", help="How commands without a verdict are read: excluded, as clean, or as flagged."),
        *rate("precision", "Precision", "Of the flagged, how many failed."),
        *rate("recall", "Recall", "Of the failed, how many were flagged."),
        *rate("specificity", "Specificity", "Of those that ran, how many were clean."),
        *rate("npv", "NPV", "Of the clean, how many ran: what counts when a clean verdict takes the place of a run."),
        Column("commands", "Commands", Unit.COUNT),
        *rate("prevalence", "Failed", "Share of the commands that failed."),
        *rate("coverage", "Coverage", "Share of the commands with a verdict."),
        Column("abstentions", "Without verdict", help="Reasons, with counts."),
        Column("tp", "TP", Unit.COUNT, "Flagged, and it failed."),
        Column("fp", "FP", Unit.COUNT, "Flagged, and it ran. A rubric about a wrong result alone flags nothing here."),
        Column("fn", "FN", Unit.COUNT, "Clean, and it failed."),
        Column("tn", "TN", Unit.COUNT, "Clean, and it ran."),
        *rate("mcc", "MCC", "Matthews correlation of verdict and outcome.", Unit.NUMBER),
        *rate("average_precision", "PR-AUC", "Area under the precision-recall curve; chance has the prevalence."),
        *rate("brier", "Brier", "Mean squared distance of the score from the outcome.", Unit.NUMBER),
        Column("k", "k", Unit.COUNT, "Rubrics per verdict; 0: the task criterion alone."),
        Column("rubrics", "Rubrics", Unit.COUNT, "In the library."),
        Column("cost_per_verdict", "Cost per verdict", Unit.MICRODOLLARS),
        *evidence(note=False),
        hidden("note"),
    ),
    "Truth is what execution did, not what was planned. All rows judge the same commands. n and clusters are of the commands; every rate has its own in the CSV.",
)

JUDGE_MEASURES = TableSpec(
    "judge_measures",
    "Every measure of the judge",
    "One measure per row: discrimination, calibration, the first failure of an episode, and how often a second asking changes the verdict.",
    (
        *WHO,
        Column("kind", "Kind", help="judge or baseline"),
        Column("truth", "Truth"),
        Column("reading", "Abstentions"),
        Column("measure", "Measure", Unit.CODE),
        *estimate("value", "Value", Unit.NUMBER),
        *evidence(),
    ),
)

RECALL_BY_TYPE = TableSpec(
    "recall_by_type",
    "Recall by type of failure",
    "Of the failures of each type, how many were flagged at all, for whatever reason.",
    (*WHO, Column("failure_type", "Failure", Unit.CODE), *estimate("recall", "Recall"), *evidence()),
)

JUDGE_CATEGORIES = TableSpec(
    "judge_categories",
    "The judge by category of failure",
    "What failed by the classifier's category, and whether a rubric of that category said so.",
    (
        *WHO,
        Column("category", "Category", Unit.CODE),
        Column("failures", "Failures", Unit.COUNT),
        Column("rubrics", "Rubrics", Unit.COUNT, "Of this category in the library, about execution."),
        *rate("recall_any", "Recall", "Flagged at all."),
        *rate("recall_exact", "Recall, exact", "Flagged by a rubric of the category."),
        *rate("precision_any", "Precision", "Of the commands that a rubric of the category flagged, those that failed."),
        *rate("precision_exact", "Precision, exact", "… that failed with this category."),
        *evidence(),
    ),
    "Cells from few observations or competitions are counted and not printed; the note says so.",
)

JUDGE_CONFUSION = TableSpec(
    "judge_confusion",
    "Predicted by real category",
    "Commands that a rubric of one category flagged, by what really came of them.",
    (
        *WHO,
        Column("predicted", "Predicted", Unit.CODE, "none: no rubric flagged it; no_verdict: the judge gave none."),
        Column("real", "Real", Unit.CODE, "none: it ran."),
        Column("count", "Commands", Unit.COUNT),
        *origin(),
    ),
)

JUDGE_RUBRICS = TableSpec(
    "judge_rubrics",
    "Rubric by rubric",
    "Every rubric about execution that was before a judge: how often it was violated, and whether the command then failed. Best lower end first.",
    (
        *WHO,
        Column("rubric", "Rubric", Unit.CODE),
        Column("title", "Title"),
        Column("category", "Category", Unit.CODE),
        Column("kind", "Kind"),
        Column("weight", "Weight", Unit.COUNT),
        Column("support", "Support", Unit.COUNT, "Tasks behind it."),
        Column("retrieved", "Retrieved", Unit.COUNT),
        Column("applicable", "Applicable", Unit.COUNT),
        Column("flagged", "Flagged", Unit.COUNT),
        Column("tp", "TP", Unit.COUNT),
        Column("fp", "FP", Unit.COUNT),
        Column("exact", "Exact", Unit.COUNT, "Failed with the rubric's own category."),
        *estimate("precision", "Precision"),
        Column(
            "shrunken",
            "Shrunken",
            Unit.SHARE,
            "Mean under a beta prior from its category.",
            exact="a posterior mean; the next column is its lower end",
        ),
        Column("lower", "Lower end", Unit.SHARE, "5% point of that posterior.", exact="the end of an interval"),
        Column("lift", "Lift", Unit.NUMBER, "Precision over prevalence.", exact="precision, which has an interval, over a constant"),
        p_value("p_adjusted", "p (BH)", "One-sided, against the prevalence; commands taken as independent."),
        Column("twin", "Twin", Unit.CODE, "The rubric that shares most of its true alarms."),
        Column("twin_overlap", "Overlap", Unit.SHARE, exact=RECORDED),
        *evidence(),
    ),
)

JUDGE_PAIRS = TableSpec(
    "judge_pairs",
    "Judges compared",
    "Two judges over the same commands: where only one was right (McNemar), and the difference of the shares, paired by competition.",
    (
        *PAIR,
        FITTED,
        Column("measure", "Measure", Unit.CODE),
        Column("only_first", "Only first right", Unit.COUNT),
        Column("only_second", "Only second right", Unit.COUNT),
        p_value("mcnemar_p", "p (McNemar)", "Commands taken as independent."),
        *estimate("difference", "Difference, pp", Unit.POINTS, "Mean over competitions; paired t interval.", ends=""),
        p_value("p", "p", "Sign-flip test over competitions."),
        Column("test", "Test", Unit.CODE),
        *evidence(),
    ),
)

CURVE = TableSpec(
    "pr_curve",
    "Precision-recall curve",
    "What flagging everything with at least this score would give.",
    (
        *WHO,
        Column("threshold", "Score from", Unit.NUMBER, exact="a threshold"),
        Column("flagged", "Flagged", Unit.COUNT),
        *rate("precision", "Precision"),
        *rate("recall", "Recall"),
        *evidence(),
    ),
)

CALIBRATION = TableSpec(
    "calibration",
    "Calibration",
    "Commands by their score, in tenths: the mean score beside the share that failed.",
    (
        *WHO,
        Column("from", "Score", Unit.NUMBER, to="upto", exact="edges of a bin"),
        hidden("upto", Unit.NUMBER),
        Column("mean_score", "Mean score", Unit.NUMBER, exact=RECORDED),
        *estimate("observed", "Failed"),
        *evidence(),
    ),
)

WRONG_RESULTS = TableSpec(
    "wrong_results",
    "Rubrics about wrong results",
    "The last verdict of an episode against how the episode ended: rubrics that say “it runs and is wrong”, by the cause named at grading.",
    (
        *WHO,
        Column("cause", "Cause", Unit.CODE),
        Column("wrong", "Ended wrong", Unit.COUNT, "By this cause."),
        Column("rubrics", "Rubrics", Unit.COUNT, "About it in the library."),
        Column("flagged", "Flagged", Unit.COUNT, "Episodes flagged by a rubric about it."),
        *rate("recall_any", "Recall", "Flagged by any rubric about a result."),
        *rate("recall_exact", "Recall, exact", "By one about this cause."),
        *rate("precision_any", "Precision", "Of the flagged, those that ended wrong."),
        *rate("precision_exact", "Precision, exact", "… by this cause."),
        *evidence(),
    ),
    "The unit is an episode, not a command: such a rubric predicts no failure of a command.",
)

FUNNEL = TableSpec(
    "funnel",
    "Where a category is lost",
    "Of the commands that failed with a category: did the judge give a verdict, is there a rubric about it, was one before the judge, was it called "
    "applicable, was it violated?",
    (
        *WHO,
        Column("category", "Category", Unit.CODE),
        Column("stage", "Stage"),
        Column("count", "Commands", Unit.COUNT),
        *estimate("kept", "Kept", help="Of the stage before."),
        *evidence(),
    ),
)

FEEDBACK = TableSpec(
    "feedback",
    "What the agent was shown",
    "Feedback that reached the agent, by arm. Silent checks of an accepted submission are not feedback.",
    (
        ARM,
        Column("episodes", "Episodes", Unit.COUNT),
        Column("code_commands", "Code commands", Unit.COUNT),
        Column("executed", "Executed", Unit.COUNT),
        Column("verdicts_shown", "Verdicts shown", Unit.COUNT),
        Column("flagged_shown", "Of them flagged", Unit.COUNT),
        Column("notices", "Notices", Unit.COUNT),
        Column("checks_shown", "Real checks shown", Unit.COUNT),
        Column("holds", "Submissions held", Unit.COUNT),
        *estimate("per_episode", "Feedback per episode", Unit.NUMBER, "Verdicts, notices, checks and holds."),
        FITTED,
        *evidence(),
    ),
)

ALARMS = TableSpec(
    "alarms",
    "What came of an alarm",
    "Being right is not the same as helping: what the agent did after a verdict, and how its next real run ended.",
    (
        ARM,
        LIBRARY,
        Column("category", "Category", Unit.CODE, "Of the rubrics that were violated; all: any criterion."),
        Column("question", "Question"),
        *estimate("share", "Share"),
        Column("count", "Count", Unit.COUNT),
        FITTED,
        *evidence(),
    ),
    "A real run is an executed code command, a check, or the final run; the next one is the first after the change, where there was one. Whether an alarm was true is known only where its command ran, or the "
    "program did not change before it did.",
)

RUBRIC_ALARMS = TableSpec(
    "rubric_alarms",
    "Rubrics and what their alarms did",
    "Every rubric that was violated before an agent: alarms that are known to be true or false, and what came after. Those that did harm first.",
    (
        ARM,
        LIBRARY,
        Column("rubric", "Rubric", Unit.CODE),
        Column("title", "Title"),
        Column("category", "Category", Unit.CODE),
        Column("alarms", "Alarms", Unit.COUNT),
        Column("changed", "Code changed", Unit.COUNT),
        Column("true", "Known true", Unit.COUNT),
        Column("false", "Known false", Unit.COUNT),
        Column("unknown", "Unknown", Unit.COUNT),
        Column("passed_after", "Ran after", Unit.COUNT, "The code was changed, and the next real run ended with 0."),
        Column("harmed", "Harm", Unit.COUNT, "A false alarm, the code was changed, and the next real run failed."),
        Column("clusters", "Competitions", Unit.COUNT),
        FITTED,
        *origin(),
    ),
    "Counts only: one rubric alone rarely has enough alarms for a rate.",
)

SAMPLED = TableSpec(
    "sampled",
    "Precision and recall from verdicts that were run by chance",
    "Judge arms: verdicts whose command ran for real, weighted by one over the logged chance. What a policy never runs is not identified.",
    (
        ARM,
        LIBRARY,
        Column("source", "Runs", help="escalated: within the episode, seen by the agent; shadow: afterwards, in a copy."),
        Column("verdicts", "Verdicts", Unit.COUNT),
        Column("verified", "Verified", Unit.COUNT),
        Column(
            "effective",
            "Effective",
            Unit.NUMBER,
            "Verified verdicts of equal weight that these are worth: (sum of weights)² / sum of squared weights.",
            exact="a property of the design",
        ),
        Column("unknown", "Unknown", Unit.COUNT, "Ran, and it is not known how the command would have ended."),
        *rate("precision", "Precision"),
        *rate("recall", "Recall"),
        *rate("specificity", "Specificity"),
        *rate("npv", "NPV"),
        *rate("prevalence", "Failed"),
        *rate("recall_stratified", "Recall, stratified", "Begg and Greenes: shares of verdicts taken as they are."),
        *rate(
            "outcome_flips",
            "Outcomes that flip",
            "Of commands run twice from one state, those that ended differently: noise that no judge can foresee.",
        ),
        FITTED,
        *evidence(note=False),
        hidden("note"),
    ),
)

SAMPLED_TYPES = TableSpec(
    "sampled_types",
    "Recall by type, from verdicts that were run by chance",
    "Of the failures of each type, how many were flagged at all: time-outs apart from crashes, weighted by one over the logged chance.",
    (
        Column("arm", "Arm", Unit.CODE),
        Column("library", "Library", Unit.CODE),
        Column("source", "Runs"),
        Column("failure_type", "Failure", Unit.CODE),
        *estimate("recall", "Recall"),
        FITTED,
        *evidence(),
    ),
)

REWEIGHTED = TableSpec(
    "reweighted",
    "Recall on other mixes",
    "What the judge's recall would be if failures had another mix: recall per class of failure, weighted by the other mix's shares.",
    (
        *WHO,
        Column(
            "target",
            "Mix",
            Unit.CODE,
            "A distribution of the study, its failed commands; shadow: what the judged commands of the judge's own arm would have done.",
        ),
        Column("by", "Classes"),
        Column(
            "covered",
            "Covered",
            Unit.SHARE,
            "Of the mix's failures: in classes of which one was judged.",
            exact="a full count of what was recorded",
        ),
        *rate("observed", "Recall as judged", "On the mix of the judged commands."),
        *rate("recall", "Recall", "On the other mix, over the covered classes."),
        Column(
            "bound_low", "Bounds", Unit.SHARE, "Over all classes: the others all missed, or all flagged.", to="bound_high", exact="a bound"
        ),
        hidden("bound_high", Unit.SHARE),
        *rate("precision", "Precision", "Where the mix says how many commands pass, and all its classes of failure were judged."),
        Column(
            "effective",
            "Effective",
            Unit.NUMBER,
            "Failures of equal weight that the weighted ones are worth: (sum of weights)² / sum of squared weights.",
            exact="a property of the design",
        ),
        *evidence(),
    ),
    "A judge is taken to flag the same share of a class in both mixes, and the mix as given: its own sampling is not in the interval.",
)

SPECS = (
    PRECISION_RECALL, JUDGE_MEASURES, RECALL_BY_TYPE, JUDGE_CATEGORIES, JUDGE_CONFUSION, JUDGE_RUBRICS, JUDGE_PAIRS, CURVE, CALIBRATION, WRONG_RESULTS,
    FUNNEL, FEEDBACK, ALARMS, RUBRIC_ALARMS, SAMPLED, SAMPLED_TYPES, REWEIGHTED,
)  # fmt: skip
