"""The type of a failure, on written outputs and (where it is at hand) on labelled real ones."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.failures.types import clean, exceptions_in, failure_type, load_rules

REPOSITORY = Path(__file__).parents[2]
RULES = load_rules(REPOSITORY / "resources/failure_types.yaml")
CASES = Path(os.environ.get("RUBRICS_CORPUS", REPOSITORY.parent / "shared")) / "cases/failure_cases.jsonl"


def traceback(last: str, *frames: tuple[str, str]) -> str:
    lines = [f'  File "{path}", line 3, in <module>\n    {code}' for path, code in frames or (("/workspace/final.py", "step()"),)]
    return "\n".join(["Traceback (most recent call last):", *lines, last, ""])


SITE = "/usr/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (traceback("ModuleNotFoundError: No module named 'lightgbm'"), "missing_package"),
        (traceback("ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda to install openpyxl."), "missing_package"),
        (traceback("ModuleNotFoundError: No module named 'utils'"), "own_logic"),
        (
            traceback("ModuleNotFoundError: No module named 'pipework'", ("/workspace/pipework/run.py", "from pipework import x")),
            "own_logic",
        ),
        (traceback("ModuleNotFoundError: No module named 'sklearn.externals'"), "api_changed"),
        (traceback("ModuleNotFoundError: No module named 'distutils'"), "api_changed"),
        (traceback("AttributeError: module 'numpy' has no attribute 'float'."), "api_changed"),
        (traceback("AttributeError: 'DataFrame' object has no attribute 'append'. Did you mean: '_append'?"), "api_changed"),
        (traceback("AttributeError: 'numpy.ndarray' object has no attribute 'append'"), "own_logic"),
        (traceback("AttributeError: 'NoneType' object has no attribute 'fit'"), "own_logic"),
        (traceback("TypeError: OneHotEncoder.__init__() got an unexpected keyword argument 'sparse'"), "api_changed"),
        (traceback("TypeError: fit_model() got an unexpected keyword argument 'depth'"), "own_logic"),
        (traceback("TypeError: mean_squared_error() got an unexpected keyword argument 'squared'"), "api_changed"),
        (
            traceback(f"ImportError: cannot import name 'load_boston' from 'sklearn.datasets' ({SITE}/sklearn/datasets/__init__.py)"),
            "api_changed",
        ),
        (traceback("ImportError: cannot import name 'clean' from 'prepare' (/workspace/prepare.py)"), "own_logic"),
        (
            traceback(
                f"ImportError: cannot import name 'cached_download' from 'huggingface_hub' ({SITE}/huggingface_hub/__init__.py)",
                ("/workspace/a.py", "import diffusers"),
                (f"{SITE}/diffusers/utils.py", "from huggingface_hub import cached_download"),
            ),
            "dependency_conflict",
        ),
        (traceback("FileNotFoundError: [Errno 2] No such file or directory: 'data/trian.csv'"), "file_not_found"),
        ("python: can't open file '/workspace/run.py': [Errno 2] No such file or directory\n", "file_not_found"),
        (traceback("MemoryError: Unable to allocate 80.0 GiB for an array"), "out_of_memory"),
        ("/bin/bash: line 1:   412 Killed                  python final.py\n", "out_of_memory"),
        (traceback("OSError: [Errno 28] No space left on device"), "disk_full"),
        (traceback("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"), "download_failed"),
        (
            "ERROR: Could not find a version that satisfies the requirement pandas==9.9\nERROR: No matching distribution found\n",
            "dependency_conflict",
        ),
        ("usage: run.py [-h]\nrun.py: error: unrecognized arguments: --fast\n", "tool_misused"),
        (traceback("ImportError: tokenizers>=0.11.1,!=0.11.3,<0.14 is required, but found tokenizers==0.15.0."), "dependency_conflict"),
        (traceback("ImportError: numpy.core.umath failed to import"), "dependency_conflict"),
        (traceback("ValueError: The 'max_features' parameter of RandomForestRegressor must be an int. Got 'auto' instead."), "api_changed"),
        (traceback("RuntimeError: DataLoader worker (pid 5) is killed by signal: Killed."), "out_of_memory"),
        (traceback("subprocess.TimeoutExpired: Command 'x' timed out after 600 seconds"), "time_limit"),
        (traceback("zipfile.BadZipFile: File is not a zip file"), "own_logic"),
        (traceback("RuntimeError: Found no NVIDIA driver on your system."), "other"),
        ("/bin/sh: 1: Syntax error: end of file unexpected\n", "tool_misused"),
        (traceback("KeyError: 'price'"), "own_logic"),
        ("  File \"final.py\", line 3\n    x = (1,\n        ^\nSyntaxError: '(' was never closed\n", "own_logic"),
        (traceback("PermissionError: [Errno 13] Permission denied: '/workspace/data/train.csv'"), "other"),
        ("something odd happened\n", "other"),
        ("", "other"),
    ],
)
def test_types_of_written_outputs(output: str, expected: str) -> None:
    assert failure_type(output, RULES, exit_code=1).type == expected


def test_recorded_facts_come_before_text() -> None:
    output = traceback("KeyError: 'a'")
    assert failure_type(output, RULES, exit_code=-9, timed_out=True).type == "time_limit"
    assert failure_type(output, RULES, exit_code=-9, out_of_memory=True).type == "out_of_memory"
    assert failure_type("", RULES, exit_code=137).type == "out_of_memory"


def test_root_of_a_chain_decides_not_its_last_word() -> None:
    cause = traceback("ModuleNotFoundError: No module named 'torch'")
    joint = "\nThe above exception was the direct cause of the following exception:\n\n"
    assert failure_type(cause + joint + traceback("RuntimeError: backend unavailable"), RULES, exit_code=1).type == "missing_package"


def test_unchained_tracebacks_are_judged_by_the_last() -> None:
    handled = traceback("ModuleNotFoundError: No module named 'torch'")
    assert failure_type(handled + "falling back to numpy\n" + traceback("KeyError: 'x'"), RULES, exit_code=1).type == "own_logic"


def test_wrappers_of_launchers_are_passed_over() -> None:
    worker = traceback("FileNotFoundError: [Errno 2] No such file or directory: 'a.bin'").replace("\n", "\n[rank0]: ")
    launcher = traceback("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    assert failure_type(f"[rank0]: {worker}\n{launcher}", RULES, exit_code=1).type == "file_not_found"


def test_error_far_above_the_end_behind_colours_and_progress_bars() -> None:
    error = traceback("\x1b[31mModuleNotFoundError\x1b[0m: No module named 'catboost'").replace("\n", "\r\n")
    noise = "\r".join(f"epoch {n}" for n in range(2000))
    assert failure_type(f"\rstart\r{error}{noise}\n", RULES, exit_code=1).type == "missing_package"


def test_message_goes_on_over_lines_but_not_into_the_next_program() -> None:
    text = clean(traceback("ValueError: bad value") + "sh: 1: other: Permission denied\n")
    assert exceptions_in(text)[-1].message == "bad value"
    assert failure_type(text, RULES, exit_code=1).type == "own_logic"


@pytest.mark.parametrize(
    "output",
    ["A" * 5_000_000, "\n" * 1_000_000, "run " * 1_000_000, "\ud800\x00 KeyError: 1", "Traceback (most recent call last):\n" * 20_000],
)
def test_odd_outputs_end_in_a_type(output: str) -> None:
    assert failure_type(output, RULES, exit_code=1).type in {"other", "own_logic"}


def test_every_type_of_the_expressions_is_in_the_taxonomy() -> None:
    known = set(load_taxonomy(REPOSITORY / "resources/taxonomy.yaml").type_ids)
    assert {rule.type for rules in (RULES.first, RULES.exceptions, RULES.text) for rule in rules} | set(RULES.exit_codes.values()) <= known


def test_a_damaged_file_of_expressions_is_named(tmp_path: Path) -> None:
    path = tmp_path / "types.yaml"
    path.write_text("version: x\n")
    with pytest.raises(ValueError, match=r"types\.yaml"):
        load_rules(path)


@pytest.mark.skipif(not CASES.exists(), reason=f"labelled outputs are not at hand ({CASES})")
def test_labelled_real_outputs() -> None:
    cases = [case for case in map(json.loads, CASES.read_text().splitlines()) if case["failed"]]
    right = {
        case["id"]: failure_type(case["output"], RULES, exit_code=case["exit_code"], timed_out=bool(case["timed_out"])).type
        == case["failure_type"].replace("own_logic_exception", "own_logic")
        for case in cases
    }
    clear = [case["id"] for case in cases if "DOUBTFUL" not in case["note"]]
    assert sum(right.values()) / len(right) >= 0.95
    assert sum(right[name] for name in clear) / len(clear) >= 0.97
