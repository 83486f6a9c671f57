"""Topics of programs that die: what the environment lacks, what the code assumes, what takes too long."""

from __future__ import annotations

from rubrics_gym.providers.simulated.miner.words import Words

CRASHES: dict[str, Words] = {
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
}
