"""Topics of programs that could score higher: settings, models, features, validation."""

from __future__ import annotations

from rubrics_gym.providers.simulated.miner.words import Words

METHODS: dict[str, Words] = {
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
