"""How the simulated miner words its rubrics: several ways to say each thing, chosen by the dice of the request."""

from __future__ import annotations

import random
from typing import NamedTuple


class Words(NamedTuple):
    """Ways to word one topic. `{of}` is a detail of the rollout, e.g. the library's name, and `{detail}` the same in parentheses."""

    titles: tuple[str, ...]
    applies: tuple[str, ...]
    patterns: tuple[str, ...]
    detects: tuple[str, ...]
    not_a_violation: str
    consequence: str


TOPICS: dict[str, Words] = {
    "absent_library": Words(
        (
            "Imports a library that is not installed{detail}",
            "A third-party package is imported without being available{detail}",
            "Program needs a package the environment lacks{detail}",
        ),
        ("The code imports anything beyond the standard library.", "Code that relies on an optional third-party package."),
        (
            "An import statement names a package that no install step provides and the environment does not list.",
            "The script imports a package at its top and no pip install came before.",
        ),
        (
            "Compare every import with the list of installed packages.",
            "Look for imports of packages that are neither in the standard library nor among those installed.",
        ),
        "The package is installed earlier in the session, or the import is guarded and a real alternative is used.",
        "The program dies with ModuleNotFoundError before it does anything.",
    ),
    "outdated_call": Words(
        (
            "Uses a function or argument that the installed version no longer has{detail}",
            "Calls a library interface that was removed or renamed{detail}",
            "Code written for an older version of the library{detail}",
        ),
        (
            "The code calls functions, methods or keyword arguments of a third-party library.",
            "Code that depends on the interface of a particular library version.",
        ),
        (
            "A method, attribute or keyword argument is used that the installed release has removed or renamed.",
            "An old name or an old argument of the library is used.",
        ),
        (
            "Check calls against the interface of the installed version of the library.",
            "Look up each unusual argument and method in the installed release; old tutorials use names that are gone.",
        ),
        "The old name still exists in the installed version and only warns.",
        "The call raises AttributeError, TypeError or ImportError and the run ends.",
    ),
    "lost_path": Words(
        ("Reads a file from a path that does not exist", "Input file is looked for in the wrong folder", "A wrong file path is opened"),
        ("The program reads data files.", "Code that opens input files by a literal path."),
        (
            "A path is guessed: another folder, another spelling, or relative to another working directory.",
            "The file name or folder in the read call differs from the files that are there.",
        ),
        (
            "Compare every path that is read with the listing of files.",
            "Check folder and spelling of each file that is opened against what the task provides.",
        ),
        "The path is built from a listing, or its existence is tested first.",
        "FileNotFoundError ends the program at the first read.",
    ),
    "absent_column": Words(
        (
            "Refers to a column that the table does not have",
            "Looks up a key or column under a wrong name",
            "Column name is misspelt or assumed",
        ),
        ("Code that selects, drops or groups by columns by name.", "The program uses column names of a table."),
        (
            "A column is named that is spelt differently, was dropped before, or belongs to another table.",
            "A key is used that is not in the frame or dictionary.",
        ),
        (
            "Compare each column named in the code with the header of the table at that point.",
            "Follow the frame through the code and check that every selected column is still there.",
        ),
        "The name is taken from the columns of the table, or its presence is checked.",
        "KeyError stops the run.",
    ),
    "text_as_number": Words(
        (
            "Text values enter arithmetic or a numeric model",
            "Strings are used where numbers are needed",
            "Categorical text columns reach a model that takes numbers only",
        ),
        ("Tables with text columns that go into a model or a calculation.", "Code that computes with columns of mixed types."),
        (
            "Columns of words are passed on without encoding or conversion.",
            "No conversion of types before arithmetic, comparison or fitting.",
        ),
        (
            "Look at the types of the columns that reach the model or the operation.",
            "Check whether every non-numeric column is encoded or left out before fitting.",
        ),
        "The columns are encoded, or a model that takes categories is used.",
        "A TypeError or ValueError about converting a string to a number ends the run.",
    ),
    "unequal_lengths": Words(
        (
            "Arrays or tables of different length or shape are combined",
            "Shapes of features, target and predictions do not fit",
            "Train and test end up with different columns",
        ),
        (
            "Code that joins, stacks or compares arrays, or encodes train and test apart.",
            "The program passes arrays between steps of a pipeline.",
        ),
        (
            "Rows are dropped from one part only, or dummies are made for train and test separately.",
            "Two arrays are combined whose numbers of rows or columns differ.",
        ),
        (
            "Follow the number of rows and columns of each array through the code.",
            "Check that every filter of features is applied to the target too, and that test columns are aligned with train.",
        ),
        "Both parts go through the same fitted transformer.",
        "A ValueError about shapes or lengths ends the run.",
    ),
    "unseen_value": Words(
        ("Encoder meets a category that it has not seen", "Categories of the test rows are unknown to the fitted encoder"),
        ("Categorical columns are encoded from the training rows.", "Encoders fitted on one table and used on another."),
        ("An encoder is fitted on training values only and has no rule for others.", "No handling of unknown categories is set."),
        (
            "Look for encoders without a setting for unknown values.",
            "Check whether test columns can hold categories that are absent in training.",
        ),
        "Unknown categories are ignored or mapped to a value on purpose.",
        "The transform step raises a ValueError.",
    ),
    "undefined_name": Words(
        ("Uses a variable or function before it is defined", "A name is used that was never defined or imported"),
        ("Scripts that were rewritten in parts.", "Any Python program."),
        (
            "A name occurs that no import, assignment or definition provides.",
            "An import was left out, or a variable was renamed in one place only.",
        ),
        ("Search for the definition of each name that the code uses.", "Check imports and renamed variables."),
        "The name is defined in a branch that always runs before.",
        "NameError ends the run.",
    ),
    "broken_syntax": Words(
        ("The program is not valid Python", "Syntax error in the script"),
        ("Any program that was written or edited by hand.", "Scripts made by text substitution."),
        ("A bracket, a quote or an indentation is wrong.", "The file holds text that Python cannot parse."),
        ("Read the file as a parser would; look at brackets, quotes and indentation.", "Check the lines that were edited last."),
        "The odd text stands inside a string.",
        "Nothing runs at all.",
    ),
    "own_exception": Words(
        (
            "The code's own logic raises an exception",
            "An unhandled case in the program's logic ends it",
            "Wrong values are passed to a function, which refuses them",
        ),
        ("Programs with several steps of data handling.", "Any code whose steps assume something about their input."),
        ("A step assumes a value, type or range that the data do not have.", "A function gets arguments that it does not accept."),
        (
            "Check what each step assumes of its input and whether the data hold to it.",
            "Trace the values that reach the failing kind of call.",
        ),
        "The case is tested and handled before.",
        "The program stops with an exception before it has written its result.",
    ),
    "too_slow": Words(
        (
            "The computation takes longer than the time limit",
            "Training or search is too expensive for the time allowed",
            "Nested loops or too many fits run into the time limit",
        ),
        ("Programs that fit many models, search over parameters or loop over rows.", "There is a limit on the run time of a command."),
        (
            "Large ensembles, grids, many folds or row-by-row loops without a look at their cost.",
            "The number of fits times the size of the data is far too large.",
        ),
        (
            "Multiply the number of fits or iterations by the rows, and compare with the limit.",
            "Look for loops over rows, huge estimator counts and grids with many combinations.",
        ),
        "The work is bounded by a time check or a small number of iterations.",
        "The run is stopped before anything is written.",
    ),
    "exhausted_memory": Words(
        (
            "Builds an array that does not fit into memory",
            "Memory runs out because of a huge intermediate table",
            "A full pairwise or one-hot matrix exceeds the memory",
        ),
        ("Code that makes pairwise, dense or repeated copies of the data.", "Memory of the sandbox is limited."),
        (
            "An array grows with the square of the rows, or a dense matrix is made of many categories.",
            "Large intermediate results are allocated at once.",
        ),
        (
            "Estimate rows times columns times eight bytes of each intermediate array.",
            "Look for outer products, cross joins, dense dummies and repeated copies.",
        ),
        "The work is done in chunks or with sparse matrices.",
        "MemoryError, or the process is killed.",
    ),
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
    "untuned_settings": Words(
        (
            "Hyperparameters are left at their defaults or fixed by hand without validation",
            "Model parameters are never validated",
            "Depth, regularisation and learning rate are chosen without comparison",
        ),
        ("A model with parameters that matter is trained.", "Supervised models with tunable parameters."),
        (
            "Parameter values are typed in and no other value is ever compared on held-out rows.",
            "No search or validation curve over parameters.",
        ),
        ("Look for a comparison of parameter values on validation rows.", "Check whether any parameter was varied."),
        "The values were found by a search in an earlier program.",
        "The model over- or underfits.",
    ),
    "fixed_rounds": Words(
        ("Number of boosting rounds or iterations is a guess", "Iterations are fixed instead of stopped on validation"),
        ("Boosted or iterative models.", "Training by rounds or epochs."),
        (
            "A fixed number of rounds is used without a validation parameter search or early stopping.",
            "The iteration count is chosen without validation.",
        ),
        ("Look for early stopping or a comparison of iteration counts.", "Check whether the number of rounds was validated."),
        "The model converges and says so.",
        "Too few or too many rounds cost accuracy.",
    ),
    "single_weak_model": Words(
        ("A weak model is used although a stronger one fits the data", "Linear model where boosted trees would score better"),
        ("Tabular prediction with mixed columns.", "Tasks where the score is compared with others."),
        (
            "One simple model is fitted and no stronger kind of model is tried.",
            "The modelling choice is not compared with gradient boosting.",
        ),
        ("See which kinds of model are tried.", "Check whether tree ensembles were considered."),
        "There are very few rows.",
        "Score is left on the table.",
    ),
    "no_ensemble": Words(
        ("Several models are not combined", "A single fit is handed in where averaging several models would help"),
        ("Competitions in which small gains count.", "Noisy tabular data."),
        ("Predictions come from one fit with one seed.", "No averaging over models, folds or seeds."),
        ("Look for averaging or stacking of models.", "Count the models behind the prediction."),
        "The time limit forbids it.",
        "The score varies more and is lower than it could be.",
    ),
    "no_feature_work": Words(
        ("No features are made from dates, ratios or interactions", "Raw columns go into the model without feature engineering"),
        ("Tables with dates, counts or related columns.", "Prediction from raw tables."),
        ("Columns are used as they come; no derived features are tried.", "No feature is built from several columns."),
        ("Look for derived columns before fitting.", "Check whether dates are split and related columns combined."),
        "The model learns interactions by itself and the data are plentiful.",
        "The model misses signal and score is left on the table.",
    ),
    "dropped_text_columns": Words(
        ("Informative categorical columns are dropped instead of encoded", "Only numeric columns are used as features"),
        ("Tables with categorical columns.", "Models that need numbers."),
        ("Text columns are left out of the model for convenience.", "Selection of numeric types removes categories."),
        ("Compare the columns used with those in the table.", "Look for selection by type before fitting."),
        "The columns are identifiers or free text.",
        "Signal is thrown away.",
    ),
    "invented_order": Words(
        ("Categories get an arbitrary order by integer codes", "Nominal values are coded as ordered numbers for a linear model"),
        ("Categorical features in models that read numbers as quantities.", "Nominal columns with several levels."),
        ("Integer codes are assigned by alphabet and used as a quantity.", "A label encoding feeds a model that assumes order."),
        ("Look at the encoder and the kind of model.", "Check whether coded columns have a natural order."),
        "Trees are used, or the levels are ordered.",
        "The model fits an order that does not exist.",
    ),
    "skewed_target": Words(
        ("Skewed target is modelled without a transformation", "A long-tailed target is fitted on its raw scale"),
        ("Regression with a target of several orders of magnitude.", "Counts, prices and other skewed targets."),
        (
            "The target's distribution is not looked at and no log or robust loss is used.",
            "Raw values of a long-tailed target are fitted with squared loss.",
        ),
        ("Look at the target's spread and at the loss.", "Check for a transformation of the target."),
        "The target is near symmetric.",
        "Few large values dominate the fit.",
    ),
    "unequal_classes": Words(
        ("Class imbalance is ignored in training", "Rare classes get no weight"),
        ("Classification with classes of very different size.", "Rare events."),
        (
            "No class weights, no stratified folds and no look at the class shares.",
            "The classifier is trained as if classes were equal in size.",
        ),
        ("Look for class weights and stratification.", "Check the class counts in the code."),
        "Classes are of similar size.",
        "The rare class is hardly ever predicted.",
    ),
    "plain_imputation": Words(
        ("The fact that a value was absent is thrown away by simple imputation", "Imputation by one value without an indicator feature"),
        ("Tables where absence of a value carries information.", "Prediction with imputed columns."),
        (
            "A mean or zero is put in and no indicator column is added, nor another imputation compared.",
            "One filling rule is used for all columns.",
        ),
        ("Look for indicator columns and a comparison of imputers.", "Check whether the imputation was a considered modelling choice."),
        "Absence is rare and random.",
        "Some signal is lost.",
    ),
    "unscaled_distances": Words(
        ("Features of different scale enter a model based on distances or penalties", "Scaling is left out for a scale-sensitive model"),
        ("Nearest neighbours, support vectors, penalised linear models, clustering.", "Models that compare features by size."),
        ("Raw features of very different ranges are used in a scale-sensitive model.", "No standardisation step stands before the model."),
        ("Look for a scaler in front of such models.", "Compare the ranges of the features."),
        "All features share a unit.",
        "Large-valued features dominate and the fit is poor.",
    ),
    "one_split_only": Words(
        ("A single small split decides between models", "Model selection rests on one random split"),
        ("Small data and close scores.", "Comparison of models on held-out rows."),
        (
            "One random split is used and differences within its noise are trusted.",
            "No repeated or cross-validated comparison against the baseline.",
        ),
        ("Look for cross-validation or repeats.", "Compare score differences with their spread."),
        "The held-out part is large.",
        "The choice of model is decided by chance.",
    ),
    "outliers_kept": Words(
        ("Extreme values are not looked at before fitting a sensitive model", "Outliers dominate a least-squares fit"),
        ("Numeric columns with extreme values.", "Least-squares models."),
        ("No look at ranges and no robust loss or clipping.", "Extremes enter the fit unexamined."),
        ("Look for summary statistics, clipping or robust estimators.", "Check ranges of the columns used."),
        "Extremes are real and the metric rewards fitting them.",
        "A few rows bend the model.",
    ),
}


def worded(topic: str, detail: str, dice: random.Random) -> dict[str, str]:
    """The texts of one rubric."""
    words = TOPICS[topic]
    suffix = f" ({detail})" if detail else ""
    return {
        "title": dice.choice(words.titles).replace("{detail}", suffix),
        "applies_when": dice.choice(words.applies),
        "pattern": dice.choice(words.patterns),
        "detect": dice.choice(words.detects),
        "not_a_violation": words.not_a_violation,
        "consequence": words.consequence,
    }


def other_wordings(topic: str, detail: str, dice: random.Random) -> list[dict[str, str]]:
    """One rubric for each title that the topic has, in an order of chance."""
    words = TOPICS[topic]
    suffix = f" ({detail})" if detail else ""
    titles = dice.sample(words.titles, len(words.titles))
    return [{**worded(topic, detail, dice), "title": title.replace("{detail}", suffix)} for title in titles]
