"""Write the task table of a benchmark from a clone of its repository: ids, titles and hashes of files, none of its texts.

Call: make task_table NAME=dabench CHECKOUT=FOLDER. The head of resources/benchmarks/NAME.yaml, down to the line `tasks:` (or `splits:`, where there
are splits), is written by hand and kept; what follows is written here. Beside it, NAME_files.txt lists the files of the pinned commit that tasks
are made from: `HASH  PATH`, where 40 digits are git's hash of the content and 64 the sha256 of a Git LFS file.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from rubrics_gym.records.files import write_text
from rubrics_gym.records.tasks import TaskKind
from rubrics_gym.tasks.catalog import RESOURCES, CatalogError
from rubrics_gym.tasks.holdouts import words_of

LINE = re.compile(r"^(?:tasks|splits):.*\n", re.MULTILINE)
LFS_POINTER = re.compile(rb"\Aversion https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\n")
POINTER_BYTES = 200  # a pointer is shorter
NEVER_LFS = (".py", ".yaml", ".yml", ".json", ".jsonl")


class Clone:
    """One commit of a clone, read through git: its files need not be checked out."""

    def __init__(self, folder: str | Path, commit: str):
        self.folder, self.commit = folder, commit
        listed = self._git("ls-tree", "-r", "-z", commit).decode()
        lines = (line.split("\t", 1) for line in listed.split("\0") if line)
        self.blobs = {path: facts.split()[2] for facts, path in lines if facts.split()[1] == "blob"}

    def _git(self, *arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(self.folder), *arguments], check=True, capture_output=True).stdout

    def content(self, path: str) -> bytes:
        return self._git("show", f"{self.commit}:{path}")

    def text(self, path: str) -> str:
        return self.content(path).decode()

    def below(self, folder: str) -> list[str]:
        return sorted(path for path in self.blobs if path.startswith(folder))

    def names(self, folder: str) -> list[str]:
        """The names directly below a folder."""
        return sorted({path.removeprefix(folder).split("/")[0] for path in self.below(folder)})

    def hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """Path -> git's hash of the content, or the sha256 that a Git LFS pointer names."""
        chosen = {path: self.blobs[path] for path in paths}
        asked = "\n".join(chosen.values()) + "\n"
        checked = subprocess.run(
            ["git", "-C", str(self.folder), "cat-file", "--batch-check=%(objectname) %(objectsize)"],
            input=asked.encode(),
            check=True,
            capture_output=True,
        ).stdout.decode()
        sizes = dict(line.split() for line in checked.splitlines() if line.split()[1].isdigit())
        hashes = {}
        for path, blob in chosen.items():
            small = int(sizes.get(blob, POINTER_BYTES)) < POINTER_BYTES and not path.endswith(NEVER_LFS)
            pointer = LFS_POINTER.match(self.content(path)) if small else None
            hashes[path] = pointer.group(1).decode() if pointer else blob
        return hashes


Row = dict[str, Any]


def _dabench(clone: Clone) -> Iterator[Row]:
    for line in clone.text("examples/DA-Agent/data/da-dev-questions.jsonl").splitlines():
        question = json.loads(line)
        yield {"id": str(question["id"]), "title": question["file_name"]}


def _dacode(clone: Clone) -> Iterator[Row]:
    held_out = _held_out_words()
    evaluations = {line["id"]: line for line in map(json.loads, clone.text("da_code/configs/eval/eval_all.jsonl").splitlines())}
    kinds = {"compare_ml": TaskKind.PREDICTION, "compare_competition_ml": TaskKind.PREDICTION}
    for task in map(json.loads, clone.text("da_code/configs/task/all.jsonl").splitlines()):
        name, evaluation = task["id"], evaluations[task["id"]]
        row = {
            "id": name,
            "title": f"{task['type']}, {task['hardness'].lower()}",
            "kind": kinds.get(evaluation["func"][0], TaskKind.RESULT_FILE).value,
        }
        words = sorted(word for word in words_of(task["instruction"]) if word in held_out)
        if words:
            row["words"] = words
        missing = _without_data(clone, name, evaluation)
        yield {**row, "exclude": missing} if missing else row


def _without_data(clone: Clone, task: str, evaluation: Row) -> str:
    """Why a task of DA-Code has nothing to work on; empty when it has. Descriptions and templates of the result are no data."""
    inputs = clone.below(f"da_code/source/{task}/")
    if not inputs:
        return "its files are not in the repository"
    results = {Path(name).name for result in evaluation["result"] for name in _listed(result.get("file", []))}
    data = [name for name in map(lambda path: Path(path).name, inputs) if name not in results and Path(name).suffix in DATA_SUFFIXES]
    return "" if [name for name in data if not name.startswith("sample_")] else "its folder in the repository holds no input data"


DATA_SUFFIXES = {
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".xlsx",
    ".xls",
    ".txt",
    ".db",
    ".sqlite",
    ".parquet",
    ".zip",
    ".gz",
    ".npy",
    ".pkl",
    ".dat",
}


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _dsbench(clone: Clone) -> Iterator[Row]:
    with zipfile.ZipFile(io.BytesIO(clone.content("data_modeling/save_performance.zip"))) as scores:

        def score(model: str, name: str) -> float:
            [path] = [one for one in scores.namelist() if one.endswith(f"{model}/{name}/result.txt") and "__MACOSX" not in one]
            return float(scores.read(path))

        for line in clone.text("data_modeling/data.json").splitlines():
            if line.strip():
                name = json.loads(line)["name"]
                yield {"id": name, "title": name, "facts": {"baseline": score("baseline", name), "reference": score("GT", name)}}


def _mlgym(clone: Clone) -> Iterator[Row]:
    for path in clone.below("configs/tasks/"):
        if path.endswith(".yaml"):
            task = yaml.safe_load(clone.text(path))
            kind = TaskKind.PREDICTION if task["task_entrypoint"] == "CSVSubmissionTasks" else TaskKind.PROGRAM
            yield {"id": Path(path).stem, "title": task["name"], "kind": kind.value}


def _mlagentbench(clone: Clone) -> Iterator[Row]:
    root = "MLAgentBench/benchmarks/"
    for name in clone.names(root):
        if clone.below(f"{root}{name}/"):
            script = f"{root}{name}/scripts/eval.py"
            reads_table = script in clone.blobs and "submission.csv" in clone.text(script)
            yield {"id": name, "title": name, "kind": (TaskKind.PREDICTION if reads_table else TaskKind.PROGRAM).value}


def _paperbench(clone: Clone) -> Iterator[Row]:
    root = "project/paperbench/data/papers/"
    held_out = set(clone.text("project/paperbench/experiments/splits/all.txt").split())
    for name in clone.names(root):
        if f"{root}{name}/rubric.json" in clone.blobs:
            row = {"id": name, "title": yaml.safe_load(clone.text(f"{root}{name}/config.yaml"))["title"]}
            yield row if name in held_out else {**row, "role": "development"}


def _mlebench(clone: Clone) -> Iterator[Row]:
    root = "mlebench/competitions/"
    held_out = set(clone.text("experiments/splits/split75.txt").split())
    for name in clone.names(root):
        if f"{root}{name}/config.yaml" in clone.blobs:
            config = yaml.safe_load(clone.text(f"{root}{name}/config.yaml"))
            row = {"id": name, "title": config["name"], "facts": {"answers": config["dataset"]["answers"]}}
            row["facts"] |= {key: config["dataset"][key] for key in ("sample_submission", "gold_submission") if key in config["dataset"]}
            yield row if name in held_out else {**row, "role": "development"}


SPLITS = {  # our name -> the file in experiments/splits/
    "mlebench": {"lite": "low", "medium": "medium", "high": "high", "full": "split75", "dev": "dev"},
    "paperbench": {"lite": "lite", "all": "all", "dev": "dev"},
}
ROWS: dict[str, Callable[[Clone], Iterator[Row]]] = {
    "dabench": _dabench,
    "dacode": _dacode,
    "dsbench": _dsbench,
    "mlgym": _mlgym,
    "mlagentbench": _mlagentbench,
    "mlebench": _mlebench,
    "paperbench": _paperbench,
}


def _splits(name: str, clone: Clone) -> dict[str, list[str]]:
    [folder] = {path.rsplit("/", 1)[0] for path in clone.blobs if re.search(r"(^|/)experiments/splits/dev\.txt$", path)}
    return {split: clone.text(f"{folder}/{file}.txt").split() for split, file in SPLITS[name].items()}


def _held_out_words() -> set[str]:
    """Every word of at least four letters in an id of MLE-bench, so that a stricter rule needs no new table."""
    table = yaml.safe_load((RESOURCES / "mlebench.yaml").read_text(encoding="utf-8"))
    return {word for line in table["tasks"] for word in words_of(line["id"]) if len(word) >= 4}


def _flow(value: Any) -> str:
    """One line of YAML, in JSON's own spelling where a value needs quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    plain = isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w./ -]*", value) and yaml.safe_load(value) == value
    return value if plain else json.dumps(value, ensure_ascii=False)


def tabulate(name: str, checkout: str | Path) -> int:
    """Write the task table and the list of files of one benchmark; the number of tasks. CatalogError when there is no table to write."""
    path = RESOURCES / f"{name}.yaml"
    if name not in ROWS:
        raise CatalogError(f"the table of {name} is not written by this program; it is written for {', '.join(ROWS)}")
    text = path.read_text(encoding="utf-8")
    kept = LINE.search(text)
    head = text[: kept.start()] if kept else text.rstrip() + "\n\n"
    header = yaml.safe_load(head)
    clone = Clone(checkout, header["source"]["commit"])
    rows = list(ROWS[name](clone))
    lines = [f"  - {_flow(row)}" for row in rows]
    if name in SPLITS:
        splits = [f"  {split}: {_flow(tasks)}" for split, tasks in _splits(name, clone).items()]
        head += "\n".join(["splits:", *splits, "", ""])
    write_text(path, head + "\n".join(["tasks:", *lines, ""]))
    needed = {need.format(id=row["id"], title=row["title"]) for row in rows for need in header["needs"]}
    files = sorted({path for path in clone.blobs if any(path == need or (need.endswith("/") and path.startswith(need)) for need in needed)})
    write_text(RESOURCES / f"{name}_files.txt", "".join(f"{digest}  {path}\n" for path, digest in clone.hashes(files).items()))
    return len(rows)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("task_table: name a benchmark and a clone of its repository: make task_table NAME=dabench CHECKOUT=FOLDER")
    try:
        print(f"{tabulate(sys.argv[1], sys.argv[2])} tasks")
    except (CatalogError, subprocess.CalledProcessError) as error:
        sys.exit(f"task_table: {error}")
