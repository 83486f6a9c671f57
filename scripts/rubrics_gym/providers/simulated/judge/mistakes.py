"""Every mistake that the simulated judge knows, in words of its own: what a rubric's text must come near to bring it to mind."""

from __future__ import annotations

from enum import StrEnum


class Mistake(StrEnum):
    # what a program expects from its surroundings
    MISSING_PACKAGE = (
        "A package is imported that is not installed in the environment. The import fails with ModuleNotFoundError: No module named."
    )
    REMOVED_API = (
        "A deprecated function, method, attribute or keyword argument was removed from the installed version of pandas, numpy or scikit-learn. "
        "Calling it raises AttributeError or TypeError: unexpected keyword argument."
    )
    NO_SUCH_FILE = (
        "A file is opened under a path that does not exist. Reading the data fails with FileNotFoundError: No such file or directory."
    )
    NO_FOLDER = "A file is saved into a directory that does not exist and was never created with makedirs."
    NO_NETWORK = "Data or a model is downloaded from the internet, but the sandbox has no network connection."
    NO_SUCH_NAME = "A variable or function is used that was never defined or assigned: NameError, name is not defined."
    BROKEN_SYNTAX = "The script is not valid Python: SyntaxError or IndentationError from a bracket, quote or indentation."
    # tables
    UNKNOWN_COLUMN = (
        "A column name is used that does not exist in the table, being misspelt or wrongly cased. Selecting it raises KeyError."
    )
    MISSING_INTO_MODEL = "Missing values are not imputed before fitting a model that does not accept NaN: ValueError, input X contains NaN."
    MISSING_INTO_STATISTIC = (
        "Missing or invalid values are not checked before a statistic such as a mean is computed, so the answer is NaN or wrong."
    )
    TEXT_INTO_MODEL = "Categorical text columns are not encoded before training the model: ValueError, could not convert string to float."
    TEXT_INTO_STATISTIC = "A mean or correlation of the whole DataFrame includes string columns: TypeError without numeric_only=True."
    OBJECT_DTYPE = (
        "Text columns are looked for with dtype == object, which does not match the string dtype of pandas 3, so they are not found."
    )
    UNLIKE_FEATURES = (
        "Training and test features have different columns, so predict fails because the feature names or their number do not match."
    )
    ONE_DIMENSION = "A one-dimensional array or single column is passed as X to fit: ValueError, expected 2D array, got 1D array instead."
    WRONG_UNPACKING = (
        "A returned tuple is unpacked into the wrong number of variables: ValueError, too many or not enough values to unpack."
    )
    TEXT_PLUS_NUMBER = "A string is concatenated with a number: TypeError, can only concatenate str to str."
    ROWS_DROPPED = (
        "Rows of the test set are dropped or filtered, so the submission does not have one prediction for every row that is required."
    )
    ROWS_REORDERED = "Rows are sorted or shuffled, so predictions are not aligned with their ids and end up in the wrong order."
    BAD_CONVERSION = (
        "A column of text or with missing entries is cast to int or float with astype although its values cannot be parsed as numbers."
    )
    CHAINED_ASSIGNMENT = (
        "An inplace call or chained assignment on a selected column changes only a copy, and the DataFrame stays as it was."
    )
    # time and memory
    TOO_SLOW = (
        "The run takes longer than the time limit and is killed by a timeout: too many loop iterations, trees, grid search combinations "
        "or cross-validation fits for this much data."
    )
    TOO_BIG = "An array or matrix is larger than the memory limit: MemoryError, out of memory, the process is killed."
    # what is handed in
    NEVER_WRITTEN = "The required output file is never written: results are only printed, nothing is saved, and the deliverable is missing."
    OVERWRITTEN = "The output file is written twice, and the later write overwrites the good result."
    WRONG_COLUMNS = "The column names in the header of the submission do not match those of the sample submission."
    INDEX_WRITTEN = "The DataFrame index is saved to the CSV file because index=False is missing, which adds an extra unnamed column."
    WRONG_PLACE = "The output is saved under a different file name or folder than the one the task asks for."
    ANSWER_FORMAT = "The answer is not written in the required form of a name with its value in brackets."
    NOT_ROUNDED = "The number is not rounded to the required number of decimal places."
    LABELS_FOR_SCORES = "Predicted class labels are submitted where the metric needs probabilities (predict instead of predict_proba)."
    NO_HEADER = "The CSV file is written without its header row."
    # how the problem is solved
    NOT_VALIDATED = "The model's predictions are submitted without checking them on held-out validation data, by cross-validation or against a baseline."
    WRONG_METRIC = "The model is selected or tuned with another metric than the one that the task is scored with."
    WRONG_SCOPE = "The statistic is computed over all rows instead of the subset that the question asks for, because a filter is missing."
    WRONG_STATISTIC = "Another statistical method or definition is used than the task names, such as Pearson for Spearman or population for sample deviation."
    WRONG_EXTREME = "The maximum is taken where the minimum was asked for, or the highest group in place of the lowest."
    LEAKAGE = "A scaler or imputer is fitted on the complete data before the split, so information leaks from the validation rows."
    MADE_UP = "Random, dummy or synthetic values are made up in place of real data or predictions."
    HIDDEN_FAILURE = "A bare except swallows the error, so the script ends with success although a step failed."
    CLUSTERS_UNCHECKED = "Cluster labels are used without inspecting cluster sizes or the silhouette, so clusters may be degenerate."
    PARAMETER_UNTESTED = "A threshold or cut-off is chosen by hand and never tuned on validation data."
    ONLY_A_PICTURE = "A plot is saved as a figure without the data that underlies it."
