"""The table of changed interfaces: how it is read from releases, and whether what it says is true of what is installed."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from rubrics_gym.failures.api_history import changes, interface_of, listed_releases
from rubrics_gym.failures.interfaces import Change, Interfaces, read_changes

RESOURCES = Path(__file__).parents[2] / "resources"
TABLE = RESOURCES / "api_changes.tsv"
OLD = {
    "lib/__init__.py": "from lib.tools import *\nfrom lib.base import Model\nimport os\n",
    "lib/tools.py": "__all__ = ['load', 'gone']\ndef load(path, sep=',', squeeze=False): ...\ndef gone(): ...\ndef hidden(): ...\n",
    "lib/base.py": "class Base:\n    def __init__(self, size, iter=5): self.vocab_ = {}\n    def fit(self, x, verbose=1): ...\n    def old_name(self): ...\nclass Model(Base): ...\n",
    "lib/extra.py": "def more(): ...\n",
    "lib/tests/test_a.py": "def load(nothing): ...\n",
    "lib/broken.py": "print 'python two'\n",
}
NEW = OLD | {
    "lib/tools.py": "__all__ = ['load', 'fresh']\ndef load(path, sep=',', engine=None): ...\ndef fresh(): ...\n",
    "lib/base.py": "from dataclasses import dataclass\nclass Base:\n    def __init__(self, vector_size): self.vocab = {}\n    def fit(self, x): ...\nclass Model(Base): ...\n",
}
del NEW["lib/extra.py"]


def wheel(folder: Path, version: str, files: dict[str, str]) -> Path:
    path = folder / f"lib-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def found(tmp_path: Path) -> list[Change]:
    return changes("lib", [(version, interface_of(wheel(tmp_path, version, files))) for version, files in (("1", OLD), ("2", NEW))])


def test_what_went_and_what_came_between_two_releases(found: list[Change]) -> None:
    said = {(change.kind, change.owner, item): (change.having, change.lacking) for change in found for item in change.items}
    gone, come = ("1", "2"), ("2", "1")
    assert said["name", "lib", "gone"] == gone and said["name", "lib", "fresh"] == come
    assert said["module", "", "lib.extra"] == gone
    assert said["parameter", "load", "squeeze"] == gone and said["parameter", "load", "engine"] == come
    assert said["parameter", "Base.__init__", "iter"] == gone and said["parameter", "Base.fit", "verbose"] == gone
    assert said["attribute", "Model", "old_name"] == gone and said["attribute", "Model", "vocab_"] == gone  # inherited, and set in __init__
    assert ("name", "lib", "hidden") not in said and ("name", "lib", "load") not in said
    assert ("attribute", "Model", "vocab") not in said  # what a class gained is not listed


def test_names_are_looked_up_as_python_says_them(found: list[Change], tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("".join("\t".join(row) + "\n" for row in [Change._fields, *((*one[:-1], " ".join(one.items)) for one in found)]))
    assert read_changes(table) == found
    known = Interfaces(table, {"modules": ["imp"], "names": {"numpy": ["float"]}, "attributes": [], "parameters": []}, {"numpy": ["later"]})
    assert known.name("lib", "gone") and not known.name("lib", "invented") and known.name("numpy", "float") and known.name("numpy", "later")
    assert known.module("imp") and known.module("lib.extra.deeper") and not known.module("lib.tools")
    assert known.attribute("Model", "old_name") and known.attribute("lib.base.Model", "vocab_") and not known.attribute("Model", "price")
    assert known.parameter("load", "squeeze") and known.parameter("Base.fit", "verbose") and not known.parameter("load", "invented")
    assert known.parameter("__init__", "iter", "m = Base(iter=3)") and not known.parameter("__init__", "iter", "m = Other(iter=3)")
    assert known.covers("lib.tools") and not known.covers("lib._hidden") and not known.covers("torch")
    table.write_text("library\tkind\nlib\tname\n")
    with pytest.raises(ValueError, match=r"table\.tsv, line 2: 2 fields"):
        read_changes(table)


def test_every_release_of_the_table_is_listed() -> None:
    listed = {library: {version for version, _ in releases} for library, releases in listed_releases().items()}
    for change in read_changes(TABLE):
        assert {change.having, change.lacking} <= listed[change.library], change


PACKAGES = {"pandas": "pandas", "scikit-learn": "sklearn", "networkx": "networkx", "numpy": "numpy"}


def test_what_the_newest_listed_release_lacks_is_not_in_the_installed_one() -> None:
    """Installed are releases newer than the listed ones, so a few names may have come back; nearly all must be gone."""
    newest = {library: releases[-1][0] for library, releases in listed_releases().items()}
    gone = here = 0
    for change in read_changes(TABLE):
        if change.library not in PACKAGES or change.kind != "name" or change.lacking != newest[change.library] or change.owner.count("."):
            continue
        module = importlib.import_module(change.owner)
        for item in change.items:
            gone += not hasattr(module, item)
            here += hasattr(module, item)
    assert gone > 20 and here <= 0.05 * gone, (gone, here)


# What the list by hand says of Python's own modules and is gone only from a later version than the oldest that this project runs on.
GONE_FROM = {
    (3, 12): {"pkgutil": ["ImpImporter", "ImpLoader"], "importlib": ["find_loader"], "importlib.abc": ["Finder"], "configparser": ["SafeConfigParser"],
              "unittest": ["_TextTestResult"], "locale": ["format"], "ssl": ["wrap_socket", "match_hostname"]},
    (3, 13): {"typing": ["io", "re"], "unittest": ["makeSuite", "findTestCases"], "re": ["template", "TEMPLATE"]},
    (3, 14): {"ast": ["Num", "Str", "Bytes", "NameConstant", "Ellipsis"], "pkgutil": ["find_loader", "get_loader"]},
}  # fmt: skip


def test_what_the_list_by_hand_says_came_later_is_there() -> None:
    """Of the names that came with later releases of Python, all up to this version are there."""
    added = yaml.safe_load((RESOURCES / "failure_types.yaml").read_text())["added"]
    missing = {
        (module, name)
        for module, names in added.items()
        if module in sys.stdlib_module_names
        for name in names
        if not hasattr(importlib.import_module(module), name)
    }
    later = {
        ("math", "sumprod"),
        ("itertools", "batched"),
        ("typing", "override"),
        ("typing", "TypeIs"),
        ("typing", "ReadOnly"),
        ("random", "binomialvariate"),
    }
    assert missing <= later


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_the_list_by_hand_says_of_python_is_true() -> None:
    """No name that is listed as removed from one of Python's modules is there, unless it goes in a later version than this."""
    by_hand = yaml.safe_load((RESOURCES / "failure_types.yaml").read_text())["removed"]
    still = {
        (module, name)
        for version, listed in GONE_FROM.items()
        if sys.version_info < version
        for module in listed
        for name in listed[module]
    }
    checked = 0
    for module, names in by_hand["names"].items():
        if module in sys.stdlib_module_names:
            loaded = importlib.import_module(module)
            checked += len(names)
            assert not [name for name in names if hasattr(loaded, name) and (module, name) not in still], module
    assert checked > 60
