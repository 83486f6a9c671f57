"""The type of a failure, on written outputs and (where it is at hand) on labelled real ones."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.failures.detection import failed_command, logged_command, typed
from rubrics_gym.failures.outputs import OUTPUT_CHARS, clean, excerpt
from rubrics_gym.failures.prefilter import sieve
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.failures.tracebacks import Link, raised_in
from rubrics_gym.failures.types import failure_type, load_rules

REPOSITORY = Path(__file__).parents[2]
RULES = load_rules(REPOSITORY / "resources/failure_types.yaml")
CASES = Path(os.environ.get("RUBRICS_CORPUS", REPOSITORY.parent / "shared")) / "cases/failure_cases.jsonl"
SITE = "/usr/lib/python3.11/site-packages"
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def traceback(last: str, *frames: tuple[str, str], function: str = "<module>") -> str:
    lines = [f'  File "{path}", line 3, in {function}\n    {code}' for path, code in frames or (("/workspace/final.py", "step()"),)]
    return "\n".join(["Traceback (most recent call last):", *lines, last, ""])


def type_of(output: str, exit_code: int | None = 1) -> str:
    return failure_type(output, RULES, exit_code=exit_code).type


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("ModuleNotFoundError: No module named 'lightgbm'", "missing_package"),
        ("ModuleNotFoundError: No module named 'datasets'", "missing_package"),
        ("ModuleNotFoundError: No module named 'google.cloud'", "missing_package"),
        ("ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda to install openpyxl.", "missing_package"),
        ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "missing_package"),
        ("ModuleNotFoundError: No module named 'utils'", "own_logic"),
        ("ModuleNotFoundError: No module named 'data_utils'", "own_logic"),
        ("ModuleNotFoundError: No module named 'featureEngineering'", "own_logic"),
        ("ModuleNotFoundError: No module named 'coco_utils'", "own_logic"),
        ("ModuleNotFoundError: No module named 'keras_tuner'", "missing_package"),
        ("ImportError: attempted relative import with no known parent package", "own_logic"),
        ("KeyError: 'LOCAL_RANK'", "tool_misused"),
        ("ValueError: Some specified arguments are not used by the HfArgumentParser: ['--x']", "tool_misused"),
        ("ValueError: Unable to find column price", "own_logic"),
        (
            "OSError: Can't load the model for 'outputs/best'. If you were trying to load it from 'https://huggingface.co/models', make sure",
            "file_not_found",
        ),
        (
            "OSError: Can't load tokenizer for 'bert-base-sized'. If you were trying to load it from 'https://huggingface.co/models', make sure",
            "download_failed",
        ),
        ("AttributeError: 'super' object has no attribute '__sklearn_tags__'", "dependency_conflict"),
        ("TypeError: Client.__init__() got an unexpected keyword argument 'proxies'", "dependency_conflict"),
        ("RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 64 vs 0", "disk_full"),
        ("wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])", "other"),
        (
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/a/b/c'.",
            "file_not_found",
        ),
        (
            "OSError: bert-base-sized is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
            "download_failed",
        ),
        ("datasets.exceptions.DatasetNotFoundError: Dataset 'x/y' doesn't exist on the Hub or cannot be accessed.", "download_failed"),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8 bytes.", "out_of_memory"),
        ("TimeoutError: Execution exceeded the time limit of an hour", "time_limit"),
        ("ModuleNotFoundError: No module named 'models.resnet'", "own_logic"),
        ("ModuleNotFoundError: No module named 'pipework.steps'; 'pipework' is not a package", "own_logic"),
        ("ModuleNotFoundError: No module named 'torch._C'", "other"),
        ("KeyError: 'price'", "own_logic"),
        ("ValueError: could not convert string to float: 'male'", "own_logic"),
        ("__main__.BadColumns: two columns are missing", "own_logic"),
        ("zipfile.BadZipFile: File is not a zip file", "own_logic"),
        ("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "own_logic"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/trian.csv'", "file_not_found"),
        ("MemoryError: Unable to allocate 80.0 GiB for an array", "out_of_memory"),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 3.1 TiB for an array", "out_of_memory"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "out_of_memory"),
        ("RuntimeError: DataLoader worker (pid 5) is killed by signal: Killed.", "out_of_memory"),
        ("OSError: [Errno 28] No space left on device", "disk_full"),
        ("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", "download_failed"),
        ("socket.gaierror: [Errno -2] Name or service not known", "download_failed"),
        ("requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://example.org/a.zip", "download_failed"),
        ("subprocess.TimeoutExpired: Command 'x' timed out after 600 seconds", "time_limit"),
        ("ImportError: tokenizers>=0.11.1,!=0.11.3,<0.14 is required, but found tokenizers==0.15.0.", "dependency_conflict"),
        ("ImportError: numpy.core.umath failed to import", "dependency_conflict"),
        ("ValueError: numpy.dtype size changed, may indicate binary incompatibility.", "dependency_conflict"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "other"),
        ("PermissionError: [Errno 13] Permission denied: '/workspace/data/train.csv'", "other"),
        ("KeyboardInterrupt", "other"),
    ],
)
def test_last_lines_of_a_traceback(last: str, expected: str) -> None:
    assert type_of(traceback(last)) == expected


@pytest.mark.parametrize(
    ("last", "code", "expected"),
    [
        # really removed, renamed or moved
        ("AttributeError: module 'numpy' has no attribute 'float'.", "x = np.float(1)", "api_changed"),
        ("AttributeError: module 'pandas' has no attribute 'Panel'", "pd.Panel", "api_changed"),
        ("AttributeError: 'DataFrame' object has no attribute 'append'. Did you mean: '_append'?", "df.append(row)", "api_changed"),
        ("AttributeError: 'Series' object has no attribute 'iteritems'", "s.iteritems()", "api_changed"),
        ("AttributeError: 'CountVectorizer' object has no attribute 'get_feature_names'", "v.get_feature_names()", "api_changed"),
        ("TypeError: OneHotEncoder.__init__() got an unexpected keyword argument 'sparse'", "OneHotEncoder(sparse=False)", "api_changed"),
        ("TypeError: __init__() got an unexpected keyword argument 'n_jobs'", "KMeans(n_clusters=2, n_jobs=2)", "api_changed"),
        ("TypeError: mean_squared_error() got an unexpected keyword argument 'squared'", "mean_squared_error(a, b, squared=False)", "api_changed"),
        ("TypeError: read_csv() got an unexpected keyword argument 'error_bad_lines'", "pd.read_csv(f, error_bad_lines=False)", "api_changed"),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'", "TrainingArguments(", "api_changed"),
        ("TypeError: Word2Vec.__init__() got an unexpected keyword argument 'size'", "Word2Vec(text, size=5)", "api_changed"),
        ("ModuleNotFoundError: No module named 'sklearn.externals.six'", "from sklearn.externals.six import StringIO", "api_changed"),
        ("ModuleNotFoundError: No module named 'distutils'", "import distutils", "api_changed"),
        ("ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/python3.11/collections/__init__.py)", "from collections import Mapping", "api_changed"),
        (f"ImportError: cannot import name 'AdamW' from 'transformers' ({SITE}/transformers/__init__.py)", "from transformers import AdamW", "api_changed"),
        (f"ImportError: cannot import name 'load_boston' from 'sklearn.datasets' ({SITE}/sklearn/datasets/__init__.py)", "from sklearn.datasets import load_boston", "api_changed"),
        ("ValueError: The 'max_features' parameter of RandomForestRegressor must be an int. Got 'auto' instead.", "model.fit(x, y)", "api_changed"),
        # not there yet
        (f"ImportError: cannot import name 'GradScaler' from 'torch.amp' ({SITE}/torch/amp/__init__.py)", "from torch.amp import GradScaler", "api_changed"),
        ("ImportError: cannot import name 'Literal' from 'typing' (/usr/lib/python3.7/typing.py)", "from typing import Literal", "api_changed"),
        # never there
        ("AttributeError: module 'numpy' has no attribute 'softmax'", "np.softmax(x)", "own_logic"),
        ("AttributeError: module 'pandas' has no attribute 'read_table_fast'", "pd.read_table_fast(f)", "own_logic"),
        ("AttributeError: 'DataFrame' object has no attribute 'price'", "df.price", "own_logic"),
        ("AttributeError: 'DataFrame' object has no attribute 'normalize_columns'", "df.normalize_columns()", "own_logic"),
        ("AttributeError: 'numpy.ndarray' object has no attribute 'append'", "a.append(1)", "own_logic"),
        ("AttributeError: 'NoneType' object has no attribute 'fit'", "model.fit(x)", "own_logic"),
        ("AttributeError: module 'math' has no attribute 'clamp'", "math.clamp(x)", "own_logic"),
        ("TypeError: fit_model() got an unexpected keyword argument 'depth'", "fit_model(depth=3)", "own_logic"),
        ("TypeError: RandomForestClassifier.__init__() got an unexpected keyword argument 'learning_rate'", "RandomForestClassifier(learning_rate=1)", "own_logic"),
        (f"ImportError: cannot import name 'smart_split' from 'sklearn.model_selection' ({SITE}/sklearn/model_selection/__init__.py)", "from sklearn.model_selection import smart_split", "own_logic"),
        ("ImportError: cannot import name 'clean' from 'prepare' (/workspace/prepare.py)", "from prepare import clean", "own_logic"),
        ("AttributeError: partially initialized module 'pandas' has no attribute 'DataFrame' (most likely due to a circular import)", "pd.DataFrame()", "own_logic"),
        # a message of the program's own
        ("ValueError: all rows were removed by the filter", "raise ValueError('all rows were removed by the filter')", "own_logic"),
    ],
)  # fmt: skip
def test_changed_interfaces_and_invented_ones(last: str, code: str, expected: str) -> None:
    assert type_of(traceback(last, ("/workspace/final.py", code))) == expected


def test_a_library_that_asks_another_for_what_it_lacks_is_a_conflict() -> None:
    frames = (("/workspace/a.py", "import diffusers"), (f"{SITE}/diffusers/utils.py", "from huggingface_hub import cached_download"))
    last = f"ImportError: cannot import name 'cached_download' from 'huggingface_hub' ({SITE}/huggingface_hub/__init__.py)"
    assert type_of(traceback(last, *frames)) == "dependency_conflict"
    assert type_of(traceback(last, ("/workspace/a.py", "from huggingface_hub import cached_download"))) == "api_changed"


def test_a_module_that_a_file_of_the_project_bears_is_its_own() -> None:
    last = "ModuleNotFoundError: No module named 'pipework'"
    assert type_of(traceback(last, ("/workspace/pipework/run.py", "from pipework import x"))) == "own_logic"
    assert type_of(traceback(last)) == "missing_package"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("python: can't open file '/workspace/run.py': [Errno 2] No such file or directory\n", "file_not_found"),
        ("/bin/bash: line 1:   412 Killed                  python final.py\n", "out_of_memory"),
        ("step 1 done\nKilled\n", "out_of_memory"),
        ("ERROR: Could not find a version that satisfies the requirement pandas==9.9\nERROR: No matching distribution found\n", "dependency_conflict"),
        ("usage: run.py [-h]\nrun.py: error: unrecognized arguments: --fast\n", "tool_misused"),
        ("/bin/sh: 1: Syntax error: end of file unexpected\n", "tool_misused"),
        ("run.sh: line 25: --logging_steps: command not found\n", "tool_misused"),
        ("bash: ponyc: command not found\n", "other"),
        ("/usr/bin/python3: Error while finding module specification for 'train.py' (ModuleNotFoundError: ...)\n", "tool_misused"),
        ("fatal: repository 'https://example.org/a.git/' not found\n", "download_failed"),
        ("unzip:  cannot find or open a.zip, a.zip.zip or a.zip.ZIP.\n", "file_not_found"),
        ("--2024-- ERROR 404: Not Found.\n", "download_failed"),
        ("curl: (6) Could not resolve host: example.org\n", "download_failed"),
        ("  File \"final.py\", line 3\n    x = (1,\n        ^\nSyntaxError: '(' was never closed\n", "own_logic"),
        ("epoch 3\nExecution timed out after 600 seconds.\n", "time_limit"),
        ("Command timed out. The output so far:\n" + traceback("KeyError: 'a'"), "time_limit"),
        ("terminate called after throwing an instance of 'std::bad_alloc'\n", "out_of_memory"),
        ("something odd happened\n", "other"),
        ("", "other"),
    ],
)  # fmt: skip
def test_outputs_without_a_traceback(output: str, expected: str) -> None:
    assert type_of(output) == expected


def test_recorded_facts_come_before_text_and_text_before_exit_codes() -> None:
    output = traceback("KeyError: 'a'")
    assert failure_type(output, RULES, exit_code=-9, timed_out=True).type == "time_limit"
    assert failure_type(output, RULES, exit_code=-9, out_of_memory=True).type == "out_of_memory"
    assert type_of(output, exit_code=137) == "own_logic"
    assert (type_of("", exit_code=137), type_of("", exit_code=124), type_of("", exit_code=1)) == ("out_of_memory", "time_limit", "other")


def test_root_of_a_chain_decides_not_its_last_word() -> None:
    missing = traceback("ModuleNotFoundError: No module named 'torch'")
    passed_on = traceback("RuntimeError: no backend", ("/workspace/final.py", "raise RuntimeError('no backend')"))
    assert type_of(missing + CAUSE + traceback("RuntimeError: backend unavailable")) == "missing_package"
    assert type_of(missing + DURING + passed_on) == "missing_package"


def test_a_handler_that_fails_by_itself_is_what_ended_the_program() -> None:
    missing = traceback("ModuleNotFoundError: No module named 'cudf'")
    fallback = traceback(
        "FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'", ("/workspace/final.py", "df = pd.read_csv('a.csv')")
    )
    assert type_of(missing + DURING + fallback) == "file_not_found"


def test_unchained_tracebacks_are_judged_by_the_last() -> None:
    handled = traceback("ModuleNotFoundError: No module named 'torch'", function="load")
    assert type_of(handled + "falling back to numpy\n" + traceback("KeyError: 'x'")) == "own_logic"


def test_a_file_that_an_earlier_program_was_to_write_is_not_the_cause() -> None:
    first = traceback("ModuleNotFoundError: No module named 'ogb'", ("/workspace/train.py", "import ogb"))
    second = traceback("FileNotFoundError: [Errno 2] No such file or directory: 'model.pt'", ("/workspace/evaluate.py", "open('model.pt')"))
    assert type_of(first + second) == "missing_package"
    assert type_of(second + first) == "missing_package"


def test_exceptions_that_only_report_another_are_passed_over() -> None:
    worker = "\n".join(
        f"[rank0]: {line}" for line in traceback("FileNotFoundError: [Errno 2] No such file or directory: 'a.bin'").splitlines()
    )
    launcher = traceback("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    assert type_of(f"{worker}\n{launcher}") == "file_not_found"
    exited = traceback("RuntimeError: DataLoader worker (pid(s) 617) exited unexpectedly")
    assert type_of(traceback("KeyError: 'img'") + exited) == "own_logic"
    ignored = "Exception ignored in: <function Pool.__del__ at 0x7f>\n" + traceback(
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'"
    )
    assert type_of(traceback("KeyError: 'img'") + ignored) == "own_logic"


def test_workers_that_write_between_each_others_lines_are_read_apart() -> None:
    first = traceback("ModuleNotFoundError: No module named 'ogb'").splitlines()
    second = traceback("RuntimeError: Connection closed by peer [10.0.0.1]:4321", ("/workspace/final.py", "sync()")).splitlines()
    mixed = [f"[rank{rank}]: {line}" for lines in zip(first, second, strict=True) for rank, line in enumerate(lines)]
    assert type_of("\n".join(mixed)) == "missing_package"


def test_a_log_that_shows_line_ends_as_two_characters() -> None:
    assert type_of(repr(traceback("FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'"))) == "file_not_found"


def test_notebooks_exception_groups_and_unknown_names() -> None:
    cell = (
        "---------------------------------------------------------------------------\n"
        "FileNotFoundError                         Traceback (most recent call last)\nCell In[3], line 2\n      1 import os\n"
        "----> 2 open('a.csv')\nFileNotFoundError: [Errno 2] No such file or directory: 'a.csv'\n"
    )
    assert type_of(cell) == "file_not_found"
    group = (
        '  + Exception Group Traceback (most recent call last):\n  |   File "a.py", line 1, in <module>\n  |     run()\n'
        "  | ExceptionGroup: two failed (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
        "    |   File \"a.py\", line 3, in f\n    |     import dask\n    | ModuleNotFoundError: No module named 'dask'\n    +------------------------------------\n"
    )
    assert type_of(group) == "missing_package"
    assert failure_type(traceback("Stop: no data left"), RULES, exit_code=1) == ("own_logic", "Stop: no data left")
    assert type_of("E   ModuleNotFoundError: No module named 'hypofake'\n") == "missing_package"


def test_error_far_above_the_end_behind_colours_and_progress_bars() -> None:
    error = traceback("\x1b[31mModuleNotFoundError\x1b[0m: No module named 'catboost'").replace("\n", "\r\n")
    noise = "\r".join(f"epoch {n}" for n in range(200_000))
    assert len(noise) > 10 * OUTPUT_CHARS
    assert type_of(f"{noise[:OUTPUT_CHARS]}\rstart\r{error}{noise}\n") == "missing_package"


def test_message_goes_on_over_lines_but_not_into_the_next_program() -> None:
    text = clean(traceback("ValueError: bad value\nfor this column") + "sh: 1: other: Permission denied\n")
    assert raised_in(text)[-1].message == "bad value\nfor this column"
    assert type_of(text) == "own_logic"


def test_links_and_frames_of_a_chain() -> None:
    first, second = raised_in(traceback("KeyError: 'a'") + CAUSE + traceback("ValueError: b", (f"{SITE}/pandas/x.py", "raise ValueError")))
    assert (first.link, second.link, first.chain, second.chain) == (Link.NONE, Link.CAUSE, 0, 0)
    assert (second.frames[0].path, second.frames[0].code, first.program) == (
        f"{SITE}/pandas/x.py",
        "raise ValueError",
        "/workspace/final.py",
    )


ODD = ["A" * 50_000_000, "a." * 5_000_000, "\n" * 5_000_000, "run " * 2_000_000, "\x1b]" * 1_000_000, "E  " * 1_000_000, "\ud800\x00 KeyError: 1",
       "Traceback (most recent call last):\n" * 100_000, "ImportError: requires " + "a>=1," * 100_000, "bash: line 1: " * 300_000, ("A.B." * 500 + "\n") * 500]  # fmt: skip


@pytest.mark.parametrize("output", ODD, ids=[repr(text[:12]) for text in ODD])
def test_long_and_odd_outputs_end_in_a_type_soon(output: str) -> None:
    began = time.process_time()
    assert type_of(output) in {"other", "own_logic", "dependency_conflict"}
    assert time.process_time() - began < 3  # 0.2 s where it was measured; a pattern that backtracks takes minutes


def test_an_excerpt_keeps_head_tail_and_the_errors_between() -> None:
    error = traceback("ModuleNotFoundError: No module named 'catboost'")
    long = "first line\n" + "x\n" * 200_000 + error + "y\n" * 200_000 + "last line"
    kept = excerpt(long)
    assert len(kept) < OUTPUT_CHARS + 20_000
    assert kept.startswith("first line") and kept.endswith("last line") and error in kept


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?i)\bout of memory\b", "CUDA Out Of Memory"),
        (r"^(?:cat|cp): .*No such file", "cp: a: No such file"),
        (r"[Ss]yntax error|unexpected EOF", "syntax error"),
        (r"(?:pip3? install|conda install)", "pip install x"),
        (r"x+|no words", "xx"),
    ],
)
def test_a_sieve_lets_through_what_its_expression_matches(pattern: str, text: str) -> None:
    assert sieve(pattern).search(text, text.lower()) is not None
    assert sieve(pattern).search("quite another thing", "quite another thing") is None


FRAGMENTS = [
    "No such file or directory",
    "CUDA out of memory",
    "Killed",
    "requires numpy>=2",
    "pip install x",
    "404 Client Error",
    "error: ",
    "was removed",
    "\n",
    " ",
    ": ",
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join))
def test_no_sieve_changes_an_answer(text: str) -> None:
    for rule in (*RULES.stopped, *RULES.exhausted, *RULES.exceptions, *RULES.text):
        assert (rule.sieve.search(text, text.lower()) is None) == (rule.sieve.pattern.search(text) is None)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_has_a_type(text: str) -> None:
    assert type_of(text) in load_taxonomy(REPOSITORY / "resources/taxonomy.yaml").type_ids


def test_every_type_of_the_expressions_is_in_the_taxonomy() -> None:
    known = set(load_taxonomy(REPOSITORY / "resources/taxonomy.yaml").type_ids)
    groups = (RULES.stopped, RULES.exhausted, RULES.exceptions, RULES.text)
    assert {rule.type for rules in groups for rule in rules} | set(RULES.exit_codes.values()) <= known


def test_a_damaged_file_of_expressions_is_named(tmp_path: Path) -> None:
    path = tmp_path / "types.yaml"
    path.write_text("version: x\n")
    with pytest.raises(ValueError, match=r"types\.yaml"):
        load_rules(path)


@pytest.mark.skipif(not CASES.exists(), reason=f"labelled outputs are not at hand ({CASES})")
def test_labelled_real_outputs() -> None:
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    commands = {
        case["id"]: logged_command(case["command"], case["output"], case["exit_code"], timed_out=bool(case["timed_out"])) for case in cases
    }
    assert all(failed_command(commands[case["id"]], RULES) == case["failed"] for case in cases)
    failed = [case for case in cases if case["failed"]]
    right = {
        case["id"]: typed(commands[case["id"]], RULES).type == case["failure_type"].replace("own_logic_exception", "own_logic")
        for case in failed
    }
    clear = [case["id"] for case in failed if "DOUBTFUL" not in case["note"]]
    assert sum(right.values()) / len(right) >= 0.95
    assert sum(right[name] for name in clear) / len(clear) >= 0.98
