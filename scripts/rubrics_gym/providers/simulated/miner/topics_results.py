"""Topics of programs that run and are wrong: missing values, what is written, which rows, which measure."""

from __future__ import annotations

from rubrics_gym.providers.simulated.miner.words import Words

RESULTS: dict[str, Words] = {
    "holes": Words(
        (
            "Missing values are not handled before fitting or computing",
            "NaN cells reach a step that cannot take them",
            "No treatment of empty cells before the model",
        ),
        ("The data have empty cells in columns that are used.", "Tables in which values may be missing."),
        (
            "Columns with missing values go into an estimator or a conversion as they are.",
            "No imputation, no dropping and no check of missing values before use.",
        ),
        (
            "Check which columns have missing values and whether the code treats each of them before use.",
            "Look for an imputer or a rule for missing cells before fit, for train and test alike.",
        ),
        "The estimator takes missing values by itself, or rows are left out on purpose as the task says.",
        "The fit fails on NaN, or the figure is wrong.",
    ),
    "holes_filled": Words(
        ("Missing values are replaced by a constant and enter the statistic", "Empty cells are filled although they should be left out"),
        ("A statistic is asked for over a column with missing values.", "Questions over tables with empty cells."),
        (
            "Missing cells are filled with zero or another value before a mean, count or correlation.",
            "A fill step precedes the computation.",
        ),
        (
            "Compare how the task wants missing values treated with what the code does to them.",
            "Look for filling of missing values before aggregation.",
        ),
        "The task asks for that filling.",
        "The statistic is biased and the answer is wrong.",
    ),
    "too_many_rows_dropped": Words(
        ("Rows are dropped for missing values in columns that are not used", "Missing values anywhere remove a row from the calculation"),
        ("A calculation uses some columns of a table with missing values.", "Statistics over tables with empty cells in several columns."),
        (
            "All rows with any missing value are removed at once, before the calculation.",
            "Missing values are dropped over the whole table instead of the columns needed.",
        ),
        (
            "Check whether rows are dropped only for missing values in the columns of this calculation.",
            "Look for a drop of missing values without a list of columns.",
        ),
        "Only the columns of the calculation are considered.",
        "Values that should count are left out and the result is wrong.",
    ),
    "never_written": Words(
        ("The result file is never written", "The program ends without saving what was asked for", "Output file is missing after the run"),
        ("The task asks for a file to be handed in.", "Tasks graded by a file that the program writes."),
        (
            "Results are computed or printed and no statement writes the file, or it goes to another name or folder.",
            "The saving step is missing or lies behind code that fails.",
        ),
        (
            "Look for the statement that writes the requested file, under the requested name, on every path through the program.",
            "Check that the final program saves its output in the place asked for.",
        ),
        "Another step of the same program writes the file.",
        "There is nothing to grade.",
    ),
    "wrong_shape": Words(
        (
            "The submission does not have the required columns or rows",
            "Output format differs from what the task prescribes",
            "Result file breaks the required format",
        ),
        ("The task prescribes columns, header, row count or a coding of the values.", "A file is handed in that must follow a sample."),
        (
            "An index column, other column names, missing rows or another coding of values is written.",
            "The written table is not brought into the form of the sample file.",
        ),
        (
            "Compare header, columns, number of rows and value range of the output with the sample or the format section.",
            "Check the arguments of the writing call and the column names against the required format.",
        ),
        "The order of the rows differs where any order is allowed.",
        "The file is refused by the grader.",
    ),
    "labels_for_probabilities": Words(
        ("Class labels are written where probabilities are required", "Output holds hard labels instead of the required probabilities"),
        ("The required output is a probability.", "Submissions whose format asks for a number between 0 and 1."),
        ("The written column comes from hard class predictions.", "The format asks for probabilities and the code writes labels."),
        (
            "Check which prediction call fills the output column and what the required format is.",
            "Compare the values written with the required range.",
        ),
        "Labels are asked for.",
        "The file has a poor score or is refused.",
    ),
    "unrounded": Words(
        ("Values are written without the rounding that the format asks for", "Required number of decimal places is ignored in the output"),
        ("The answer format names a number of decimal places.", "Numbers are compared after rounding."),
        ("The output format has no rounding to the places asked for.", "Numbers are printed as they come."),
        ("Compare the number of decimals in the required format with the writing statement.", "Look for rounding at the end."),
        "The number is whole.",
        "A right value is counted as wrong because of its format.",
    ),
    "unchecked_predictions": Words(
        (
            "Predictions are handed in without any validation",
            "No held-out check of the model before submitting",
            "Model is never compared with a simple baseline",
        ),
        ("A model is trained to predict rows without a target.", "Supervised prediction tasks."),
        (
            "The model is fitted on all rows and its predictions are written without a validation score.",
            "There is neither a held-out part nor cross-validation, and no comparison with a constant.",
        ),
        (
            "Look for a split, cross-validation or out-of-bag score in the metric of the task, and a baseline beside it.",
            "Check whether the code ever measures the model on rows it has not seen.",
        ),
        "Validation was done in an earlier program with the same model.",
        "A model worse than a constant goes unnoticed.",
    ),
    "other_measure": Words(
        (
            "The model is trained or chosen for another metric than the graded one",
            "Optimises the wrong metric",
            "Evaluation metric of the task is not the one that the code serves",
        ),
        ("The task names the metric by which it is graded.", "Prediction tasks with a particular evaluation metric."),
        (
            "Loss, scoring or threshold belong to another metric than the one in the statement.",
            "Model selection uses the default score instead of the graded metric.",
        ),
        (
            "Compare the scoring and loss in the code with the evaluation section of the task.",
            "Look whether the target is transformed or the threshold set as the graded metric wants.",
        ),
        "The loss is a known stand-in for the metric.",
        "The score is worse than what the same effort could reach.",
    ),
    "out_of_step": Words(
        ("Predictions and identifiers get out of order", "Rows are reordered and no longer match their identifiers"),
        ("Predictions are written beside identifiers.", "Code that sorts or shuffles tables before predicting."),
        (
            "Rows are sorted or shuffled in one table and combined by position with another.",
            "The order of rows changes between features and identifiers.",
        ),
        (
            "Follow the order of the rows from reading to writing.",
            "Check that rows are joined by identifier and not by position after a sort.",
        ),
        "The index is kept and used for joining.",
        "Predictions belong to other rows and the score collapses.",
    ),
    "all_rows_taken": Words(
        (
            "The statistic is computed over all rows instead of the rows asked for",
            "A condition on the rows is left out of the aggregation",
            "Wrong scope: the filter of the question is not applied",
        ),
        ("A statistic is asked for over a subset of the rows.", "Questions with a condition on rows or groups."),
        (
            "The aggregation runs over the whole table without the condition.",
            "The filter named in the task is missing before the mean, sum or count.",
        ),
        (
            "Compare each condition in the question with the filters in the code.",
            "Look for the selection of rows before every aggregation.",
        ),
        "The condition holds for all rows.",
        "The figure describes other rows than those asked for.",
    ),
    "figures_of_other_rows": Words(
        (
            "An aggregate is taken over an unchecked set of rows or groups",
            "Scope of the statistic is not verified",
            "Grouping or filtering differs from what is asked",
        ),
        ("Statistics by group or over selected rows.", "Tables made by filtering, grouping and aggregating."),
        (
            "Duplicates, groups or boundary rows are included or left out without a check.",
            "Group keys or limits differ from those in the task.",
        ),
        (
            "Recount the rows that enter each statistic and compare with the conditions of the task.",
            "Check group keys, inclusive and exclusive limits, and duplicates before aggregation.",
        ),
        "The counts are printed and fit the conditions.",
        "The statistic is wrong although the program runs.",
    ),
    "other_definition": Words(
        ("Another definition of the statistic is used than the one asked for", "The wrong variant of a statistical method is applied"),
        ("A statistic with several definitions is asked for.", "Standard deviations, quantiles, correlations and tests."),
        (
            "The population formula replaces the sample formula, or one correlation another.",
            "A default of the library decides which definition is computed.",
        ),
        (
            "Compare the method and its parameters with the definition in the task.",
            "Look at defaults such as degrees of freedom, interpolation and method names.",
        ),
        "The task leaves the definition open.",
        "The value differs in its last places or entirely.",
    ),
    "partial_data": Words(
        ("Only part of the data is used for the final result", "A sample of the rows stands in for the whole table"),
        ("The result is to be computed from all rows.", "Code that reads or keeps only some rows."),
        (
            "Reading is limited to the first rows, or a sample is drawn, in the final program.",
            "The data are cut for speed and never restored.",
        ),
        ("Look for row limits and samples in the final program.", "Compare the number of rows used with those provided."),
        "The sample serves a quick look only.",
        "The result describes partial data.",
    ),
    "wrong_end_of_ranking": Words(
        (
            "The extremum or ranking is taken from the wrong end or with unchecked ties",
            "Maximum and minimum, or first and last, are mixed up",
        ),
        ("A highest, lowest, first or last item is asked for.", "Rankings and derived quantities."),
        (
            "Sorting direction or the choice of extremum is not checked against the question.",
            "Ties and missing values decide the pick by accident.",
        ),
        (
            "Check the direction of each sort and each choice of an extremum.",
            "Recompute the ranked quantity for the chosen item and its neighbours.",
        ),
        "The direction fits and ties are excluded.",
        "The wrong item is reported.",
    ),
    "seen_test_rows": Words(
        ("Train and test rows are mixed before features are made", "Preprocessing before the split lets test rows in"),
        ("Features are built from the data of train and test.", "Preprocessing that learns from rows."),
        (
            "Statistics for scaling, imputing or encoding come from train and test together, before the split.",
            "Rows of both parts are put together and altered before they are separated.",
        ),
        (
            "Look for concatenation of train and test before a fitted transformation.",
            "Check that each fitted step sees training rows only.",
        ),
        "Only column names are aligned.",
        "The validation score is too good and rows may be altered.",
    ),
    "swallowed_exception": Words(
        ("A caught exception hides a failed step and the run is taken as a success", "Errors are swallowed and the script reports success"),
        ("Programs with broad exception handlers.", "Code that continues after failures."),
        (
            "A broad handler passes over a failed step, and the printed message is trusted.",
            "Success is concluded from printed output, not from the file written.",
        ),
        ("Look for handlers that catch everything and go on.", "Check whether the written file is read back."),
        "The handler stops the program or uses an alternative of equal worth.",
        "The result is silently wrong or empty.",
    ),
}
