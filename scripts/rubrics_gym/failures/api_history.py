"""How the interfaces of libraries changed: which modules, names, attributes and parameters some releases have and others do not.

Read from released wheels without importing or running them: every module is parsed, star imports and base classes are followed inside the
library, and the public interfaces of consecutive releases are compared. The result is resources/api_changes.tsv, by which a failure type
tells a changed interface from an invented one. `make api_changes` fetches the releases that resources/api_releases.txt lists and makes it anew.

Limits: what C extensions or metaclasses add at import is not seen. Such names, when they were removed, are listed by hand in
resources/failure_types.yaml.
"""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rubrics_gym.failures.interfaces import COVERED_DEPTH, PUBLIC_DEPTH, Change, read_changes
from rubrics_gym.records.files import write_text

REPOSITORY = Path(__file__).parents[3]
RELEASES = REPOSITORY / "resources/api_releases.txt"
CHANGES = REPOSITORY / "resources/api_changes.tsv"
ASKED_METHODS = (".__init__", ".fit", ".predict", ".transform", ".from_pretrained", ".generate")
UNNAMED = (".forward", ".call", ".construct")  # what frameworks call, not programs
MOST_CLASSES = 40  # an attribute that a base class lost, and with it more classes than these, is left to the list by hand
TESTS = re.compile(r"(?:^|/)(?:tests?|testing|benchmarks?|examples?|_vendor|vendored)/|(?:^|/)conftest\.py$")


@dataclass
class Interface:
    """What one release offers."""

    modules: set[str] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=dict)  # module -> names
    attributes: dict[str, set[str]] = field(default_factory=dict)  # class -> own and inherited attributes
    parameters: dict[str, set[str]] = field(default_factory=dict)  # function or Class.method -> parameters


@dataclass
class _Module:
    names: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)
    exported: set[str] | None = None


def interface_of(wheel: Path) -> Interface:
    """The public interface of the library in a wheel. Files that this Python cannot parse are left out."""
    modules: dict[str, _Module] = {}
    bases: dict[str, set[str]] = defaultdict(set)
    own: dict[str, set[str]] = defaultdict(set)
    fields: dict[str, set[str]] = defaultdict(set)
    found = Interface()
    with zipfile.ZipFile(wheel) as archive:
        for path in sorted(archive.namelist()):
            if not path.endswith(".py") or ".dist-info/" in path or ".data/" in path or TESTS.search(path):
                continue
            tree = _parsed(archive.read(path))
            if tree is None:
                continue
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            modules[name] = _read_module(tree, name, path.endswith("__init__.py"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    bases[node.name] |= {base for base in map(_last_name, node.bases) if base}
                    own[node.name] |= _class_attributes(node)
                    fields[node.name] |= _fields_of_dataclass(node)
                    for method in (one for one in node.body if isinstance(one, ast.FunctionDef)):
                        _add_parameters(found.parameters, f"{node.name}.{method.name}", method)
            for function in (one for one in tree.body if isinstance(one, ast.FunctionDef)):
                _add_parameters(found.parameters, function.name, function)
    found.modules = {name for name in modules if not re.search(r"(?:^|\.)_", name) and name.count(".") < PUBLIC_DEPTH}
    found.names = {name: {one for one in _offered(name, modules, set()) if not one.startswith("_")} for name in found.modules}
    for name in found.modules:  # a submodule is an attribute of its package
        package, _, last = name.rpartition(".")
        found.names.get(package, set()).add(last)
    public = set().union(*found.names.values())
    found.attributes = {
        name: {one for one in _inherited(name, own, bases, set()) if not one.startswith("_")} for name in own if name in public
    }
    for name in [name for name in fields if fields[name]]:
        found.parameters.setdefault(f"{name}.__init__", set()).update(_inherited(name, fields, bases, set()))
    found.parameters = {name: known for name, known in found.parameters.items() if name.split(".")[0] in public}
    return found


def changes(library: str, releases: list[tuple[str, Interface]]) -> list[Change]:
    """What changed between consecutive releases, oldest first. Of what came and went, the last going counts."""
    found: dict[tuple[str, str, str], tuple[str, str]] = {}
    for (before, old), (after, new) in itertools.pairwise(releases):
        found |= {what: (before, after) for what in _differences(old, new) if not what[1].endswith(UNNAMED)}
        for what in _differences(new, old):
            if _worth_listing_as_added(*what):
                found.setdefault(what, (after, before))
    shared = Counter(item for kind, _, item in found if kind == "attribute")
    found = {what: when for what, when in found.items() if what[0] != "attribute" or shared[what[2]] <= MOST_CLASSES}
    grouped: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for (kind, owner, item), (having, lacking) in found.items():
        grouped[kind, owner, having, lacking].append(item)
    return sorted(Change(library, *group, tuple(sorted(items))) for group, items in grouped.items())


def _worth_listing_as_added(kind: str, owner: str, item: str) -> bool:
    """What a program may ask of an older release: modules, names of a package or of what stands right below it, parameters of functions
    and of a few methods. The rest would make the list long, and is rarely asked for."""
    match kind:
        case "name":
            return owner.count(".") < COVERED_DEPTH
        case "parameter":
            return "." not in owner or owner.endswith(ASKED_METHODS)
    return kind == "module"


def _differences(one: Interface, other: Interface) -> Iterator[tuple[str, str, str]]:
    """(kind, owner, item) that `one` has and `other` has not."""
    for module in one.modules - other.modules:
        yield "module", "", module
    for kind, mine, theirs in (
        ("name", one.names, other.names),
        ("attribute", one.attributes, other.attributes),
        ("parameter", one.parameters, other.parameters),
    ):
        for owner in mine.keys() & theirs.keys():
            for item in mine[owner] - theirs[owner]:
                yield kind, owner, item


def _parsed(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _read_module(tree: ast.Module, name: str, is_package: bool) -> _Module:
    module = _Module()
    for node in _statements(tree.body):
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                module.names.add(node.name)
            case ast.Assign():
                for target in node.targets:
                    module.names |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
                if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
                    module.exported = _texts(node.value)
            case ast.AnnAssign(target=ast.Name(id=target_name)):
                module.names.add(target_name)
            case ast.Import() if is_package:
                module.names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            case ast.ImportFrom():
                source = _absolute(node, name, is_package)
                if any(alias.name == "*" for alias in node.names):
                    module.stars.append(source)
                elif is_package or source.split(".")[0] == name.split(".")[0]:
                    module.names |= {alias.asname or alias.name for alias in node.names}
    return module


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those inside conditions, tries and withs too."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.ExceptHandler):
                yield from _statements(getattr(node, inner, []))


def _texts(node: ast.expr) -> set[str] | None:
    if isinstance(node, ast.List | ast.Tuple) and all(isinstance(one, ast.Constant) for one in node.elts):
        return {str(one.value) for one in node.elts if isinstance(one, ast.Constant)}
    return None


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _offered(name: str, modules: dict[str, _Module], seen: set[str]) -> set[str]:
    """Names of a module, with those of its star imports inside the library."""
    if name not in modules or name in seen:
        return set()
    seen.add(name)
    offered = set(modules[name].names)
    for star in modules[name].stars:
        inherited = _offered(star, modules, seen)
        exported = modules[star].exported if star in modules else None
        offered |= inherited & exported if exported else inherited
    return offered


def _class_attributes(node: ast.ClassDef) -> set[str]:
    found = {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    for one in ast.walk(node):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.add(name)
    for statement in node.body:
        match statement:
            case ast.Assign():
                found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


def _fields_of_dataclass(node: ast.ClassDef) -> set[str]:
    decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    if not any(_last_name(one) == "dataclass" for one in decorators):
        return set()
    return {one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}


def _inherited(name: str, own: dict[str, set[str]], bases: dict[str, set[str]], seen: set[str]) -> set[str]:
    if name in seen:
        return set()
    seen.add(name)
    found = set(own.get(name, ()))
    for base in bases.get(name, ()):
        found |= _inherited(base, own, bases, seen)
    return found


def _last_name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
    return None


def _add_parameters(parameters: dict[str, set[str]], name: str, function: ast.FunctionDef) -> None:
    """Functions of one name are read as one: the parameters of all. `**` alone takes any keyword, so nothing can be missing there."""
    if name.rsplit(".", 1)[-1].startswith("_") and not name.endswith("__init__"):
        return
    arguments = function.args
    named = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} - {"self", "cls"}
    parameters[name] = parameters.get(name, set()) | named


def listed_releases(path: Path = RELEASES) -> dict[str, list[tuple[str, str]]]:
    """library -> (version, Python version of its wheel), oldest first."""
    listed: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            library, version, python = line.split()
            listed.setdefault(library, []).append((version, python))
    return listed


def _wheel(library: str, version: str, folder: Path) -> Path:
    pattern = f"{re.sub(r'[-.]', '_', library)}-{version}-*.whl".lower()
    return next(path for path in folder.iterdir() if path.match(pattern) or Path(path.name.lower()).match(pattern))


def _fetch(library: str, version: str, python: str, folder: Path) -> None:
    abi = f"cp{python}{'m' if int(python) <= 37 else ''}"
    platforms = [
        "any",
        *(f"{name}_x86_64" for name in ("manylinux1", "manylinux2010", "manylinux2014", "manylinux_2_17", "manylinux_2_28")),
    ]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", python),
            *("--implementation", "cp", "--abi", abi, "--abi", "abi3", "--abi", "none", "--dest", str(folder)),
            *(part for name in platforms for part in ("--platform", name)),
            f"{library}=={version}",
        ],
        check=True,
    )


def main(folder: Path, libraries: Sequence[str] = ()) -> None:
    """Fetch what is missing in a folder of wheels, compare, and write the table: all libraries anew, or only those named.

    The table is written after every library, so that a run that is cut off can go on with the others.
    """
    listed = listed_releases()
    for library in libraries or listed:
        interfaces = []
        for version, python in listed[library]:
            try:
                wheel = _wheel(library, version, folder)
            except StopIteration:
                _fetch(library, version, python, folder)
                wheel = _wheel(library, version, folder)
            interfaces.append((version, interface_of(wheel)))
        others = [change for change in read_changes(CHANGES) if change.library != library] if CHANGES.exists() else []
        _write(sorted([*others, *changes(library, interfaces)]))
        print(f"{library}: {len(interfaces)} releases", flush=True)


def _write(found: Iterable[Change]) -> None:
    rows = [Change._fields, *((*change[:-1], " ".join(change.items)) for change in found)]
    write_text(CHANGES, "".join("\t".join(row) + "\n" for row in rows))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary), sys.argv[2:])
