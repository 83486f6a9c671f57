"""Frozen protocols: a complete configuration, the hashes of all that it depends on, and everything that was paid for.

Layout of `config/protocols/NAME/`::

    config.yaml     the merged configuration; it inherits nothing
    lock.json       settings, hashes of inputs, fingerprints of code, planned jobs
    manifest.json   sha256 of every stored file that was used and of every artefact that came out
    paid.tar.gz     the stored requests, responses and attempts; copies of the inputs; the tables, for a re-execution to be compared with

Inputs, settings, responses and attempts that differ from the frozen ones are refused. Code that differs is reported (refused under `strict_code`):
recomputing with the code of the day is what a protocol is for, and the verification says whether it still gives the same.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from rubrics_gym.records.archives import UnsafeArchive, iter_archive, write_archive
from rubrics_gym.records.base import Record
from rubrics_gym.records.files import DamagedFile, read_json, write_json, write_text
from rubrics_gym.settings.code import SCRIPTS, reach
from rubrics_gym.settings.slices import SLICES
from rubrics_gym.settings.study import Protocol, Study
from rubrics_gym.store.ledger import LedgerNote, State, last_lines, ledger_name, read_entries, response_name

PROTOCOLS = Path("config/protocols")
CONFIG, LOCK, MANIFEST, PAID = "config.yaml", "lock.json", "manifest.json", "paid.tar.gz"
MAX_BYTES, MAX_MEMBERS = 20_000_000_000, 5_000_000
UNPACKED = ".unpacked"

# the packages that a study runs with; like code, they are reported when they differ
PACKAGES = ("envs/requirements.txt", "envs/requirements-no-deps.txt", "envs/wheels.txt")


R = TypeVar("R", bound=Record)


class ProtocolChanged(ValueError):
    """Something that a frozen protocol depends on differs from what was frozen; the message names it."""


class Lock(Record):
    """All that a protocol depends on, as it was when it was frozen."""

    record: Literal["rubrics-gym/lock/1"] = "rubrics-gym/lock/1"
    name: str
    commit: str  # that it was frozen at; empty outside a checkout
    settings: dict[str, Any]  # the study, without `protocol`
    inputs: dict[str, str]  # path from the repository's top -> sha256: prompts, taxonomy, hold-outs, benchmarks, prices
    code: dict[str, str]  # module -> fingerprint, of every rule; and of each list of packages
    planned: dict[str, int]  # rule -> jobs: the planned denominators


class Manifest(Record):
    """What the frozen run used and what came out of it."""

    record: Literal["rubrics-gym/manifest/1"] = "rubrics-gym/manifest/1"
    paid_sha256: str  # of paid.tar.gz
    store: dict[str, str]  # path within the store -> sha256
    artefacts: dict[str, str]  # path within the results -> sha256


def read_lock(folder: Path) -> Lock:
    """The lock of a protocol. DamagedFile names the file when it is none."""
    return _read(folder / LOCK, Lock)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a protocol. DamagedFile names the file when it is none."""
    return _read(folder / MANIFEST, Manifest)


def _read(path: Path, kind: type[R]) -> R:
    try:
        return kind.model_validate(read_json(path))
    except FileNotFoundError:
        raise DamagedFile(f"{path}: missing. A protocol is made whole by `make freeze NAME={path.parent.name}`.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise DamagedFile(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}. Restore the file from git.") from None


def sha256(path: Path) -> str:
    """sha256 of a file, 64 hex digits."""
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def settings_of_study(study: Study) -> dict[str, Any]:
    """What a protocol freezes of a study: everything but how it is reproduced and where its results lie."""
    return study.model_dump(mode="json", exclude={"protocol", "extends", "pathvars"})


def code_fingerprints(top: Path) -> dict[str, str]:
    """Module -> fingerprint of the code that any rule reaches, and list of packages -> sha256.

    Simulated models and transports are not among them: nothing asks them in a replay.
    """
    found: dict[str, str] = {}
    for rule in SLICES:
        found.update(reach(SCRIPTS / f"{rule}.py"))
    return {name: sha256(top / name) for name in PACKAGES} | dict(sorted(found.items()))


# ---------------------------------------------------------------- freezing


@dataclass(frozen=True)
class FinishedRun:
    """What a finished run read, used and made."""

    top: Path  # of the repository
    commit: str
    inputs: Sequence[str]  # paths from the top
    store: Path
    units: Iterable[str]  # that asked or were attempted
    results: Path
    artefacts: Sequence[Path]  # below the results
    planned: Mapping[str, int]  # rule -> jobs


def write_protocol(folder: Path, study: Study, run: FinishedRun) -> Manifest:
    """Write lock, manifest and archive of a finished run."""
    stored = {path.relative_to(run.store).as_posix(): path for path in stored_files(run.store, run.units, study.name)}
    made = {path.relative_to(run.results).as_posix(): path for path in run.artefacts}
    members = {f"store/{name}": path for name, path in stored.items()}
    members |= {f"inputs/{path}": run.top / path for path in run.inputs}
    members |= {f"tables/{Path(name).name}": path for name, path in made.items() if name.startswith("tables/")}
    write_archive(folder / PAID, members, MAX_BYTES, MAX_MEMBERS)
    manifest = Manifest(
        paid_sha256=sha256(folder / PAID),
        store={name: sha256(path) for name, path in sorted(stored.items())},
        artefacts={name: sha256(path) for name, path in sorted(made.items())},
    )
    write_json(folder / MANIFEST, manifest)
    write_json(
        folder / LOCK,
        Lock(
            name=folder.name,
            commit=run.commit,
            settings=settings_of_study(study),
            inputs={path: sha256(run.top / path) for path in sorted(run.inputs)},
            code=code_fingerprints(run.top),
            planned=dict(run.planned),
        ),
    )
    return manifest


def stored_files(store: Path, units: Iterable[str], study: str) -> Iterator[Path]:
    """Every file of the store that a study needs of some units: ledgers, the responses that they name, attempts with what was lost; and the study's
    starts and stops, which say why a planned slot was not run.

    DamagedFile when the store knows nothing of a unit. A response that two units share is given once.
    """
    yield from sorted((store / "studies" / study).glob("*.json"))
    answered: set[str] = set()
    for unit in sorted(set(units)):
        ledger, attempts = store / ledger_name(unit), store / "attempts" / unit
        if not ledger.exists() and not attempts.exists():
            raise DamagedFile(
                f"{store}: nothing of {unit} is in this store, so its study cannot be frozen. Name the store that holds it: RUBRICS_STORE"
            )
        if ledger.exists():
            yield ledger
            answered |= _answered(ledger)
        yield from (path for path in sorted(attempts.rglob("*")) if path.is_file() and path.name != ".lease")
    yield from (store / response_name(key) for key in sorted(answered))


def _answered(ledger: Path) -> set[str]:
    """Keys of the responses by which a unit was answered: its own, and those that it took from other units."""
    entries = read_entries(ledger)
    reused = {entry.source for entry in entries if isinstance(entry, LedgerNote) and entry.note == "reused"}
    return reused | {line.key for line in last_lines(entries) if line.state is State.RETURNED}


# ---------------------------------------------------------------- reproducing


def check_lock(folder: Path, study: Study, top: Path, strict_code: bool) -> None:
    """Compare the present with a lock. ProtocolChanged names the first setting or input that differs; with `strict_code` also the code."""
    lock = read_lock(folder)
    setting = _first_difference(_settings_today(folder, lock), settings_of_study(study))
    if setting:
        raise ProtocolChanged(
            f"{folder}: the setting {setting}. A frozen protocol is run as it is; for another study copy {folder / CONFIG} and remove its `protocol`."
        )
    for path, digest in lock.inputs.items():
        if not (top / path).exists() or sha256(top / path) != digest:
            raise ProtocolChanged(
                f"{folder}: {path} is not what was frozen ({_what_changed(folder, top, path)}). "
                f"Restore it (git log -- {path}), or freeze a new protocol: make freeze NAME=..."
            )
    changed = changed_code(lock, top) if strict_code else []
    if changed:
        some = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
        raise ProtocolChanged(
            f"{folder}: the code of {some} is not what was frozen, and protocol.strict_code is on. "
            "Check out the frozen code, or turn it off to recompute with the code of the day."
        )


def _settings_today(folder: Path, lock: Lock) -> dict[str, Any]:
    """The frozen settings as the models of today read them: a key that did not exist then has its default."""
    try:
        return settings_of_study(Study.model_validate(lock.settings))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise ProtocolChanged(
            f"{folder}: the code of the day cannot read the frozen setting `{where}` ({error.errors()[0]['msg']}). "
            f"Check out the frozen code: git checkout {lock.commit or 'COMMIT'}"
        ) from None


def changed_code(lock: Lock, top: Path) -> list[str]:
    """Modules whose code, and lists of packages whose content, are not what was frozen."""
    present = code_fingerprints(top)
    return sorted(module for module in lock.code.keys() | present.keys() if lock.code.get(module) != present.get(module))


def store_of(protocol: Protocol) -> str:
    """Where the run of a protocol keeps paid work: apart from this machine's own, and the two ways of reproduction apart from each other."""
    return f"store/protocols/{protocol.name}/{protocol.by.value}"


def unpack_store(folder: Path, store: Path) -> None:
    """Put the stored requests, responses and attempts of a protocol into a store of their own. ProtocolChanged when a file is not the frozen one."""
    manifest = read_manifest(folder)
    archive, marker = folder / PAID, store / UNPACKED
    if not archive.exists() or sha256(archive) != manifest.paid_sha256:
        raise ProtocolChanged(f"{folder}: {PAID} is not what was frozen ({_damage(folder)}). Restore it from git.")
    if marker.exists() and marker.read_text() == manifest.paid_sha256:
        _check_responses(manifest.store, store)
        return
    missing = dict(manifest.store)
    for name, data in _members(folder, "store/"):
        if hashlib.sha256(data).hexdigest() != missing.pop(name, None):
            raise ProtocolChanged(f"{folder}: {name} in {PAID} is not what was frozen. Restore it from git.")
        path = store / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if missing:
        raise ProtocolChanged(f"{folder}: {min(missing)} is missing in {PAID} ({len(missing)} files in all). Restore it from git.")
    write_text(marker, manifest.paid_sha256)


def _check_responses(frozen: Mapping[str, str], store: Path) -> None:
    """ProtocolChanged when an unpacked response is not the frozen one, whether this run would read it or not."""
    for name in sorted(name for name in frozen if name.startswith("responses/")):
        if not (store / name).exists() or sha256(store / name) != frozen[name]:
            raise ProtocolChanged(f"{store}: {name} is not what was frozen. Remove that folder; it is unpacked again.")


def frozen_tables(folder: Path) -> dict[str, str]:
    """Name -> text of the tables of the frozen run."""
    return {name: data.decode() for name, data in _members(folder, "tables/")}


def _members(folder: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Name (without the prefix) and bytes of the members of the archive below a folder."""
    for name, data in iter_archive(folder / PAID, MAX_BYTES, MAX_MEMBERS):
        if name.startswith(prefix):
            yield name.removeprefix(prefix), data


def _damage(folder: Path) -> str:
    """Which stored file of a changed archive is the changed one, where that can still be read."""
    stored = read_manifest(folder).store
    try:
        for name, data in _members(folder, "store/"):
            if hashlib.sha256(data).hexdigest() != stored.get(name):
                return f"{name} differs"
    except (UnsafeArchive, OSError) as error:
        return str(error)
    return "its bytes differ, its stored files do not"


def _what_changed(folder: Path, top: Path, path: str) -> str:
    """The first changed lines of an input, or that it is new or gone."""
    if not (top / path).exists():
        return "it is gone"
    try:
        frozen = dict(_members(folder, "inputs/"))[path]
    except (UnsafeArchive, OSError, KeyError):
        return "its sha256 differs"
    before, after = (text.decode(errors="replace").splitlines() for text in (frozen, (top / path).read_bytes()))
    lines = [line for line in difflib.unified_diff(before, after, lineterm="", n=0) if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return f"{len(lines)} changed lines, first: {lines[0][:100]!r}" if lines else "its line ends differ"


def _first_difference(frozen: Any, present: Any, path: str = "") -> str | None:
    """The first leaf at which two settings differ, in words."""
    if isinstance(frozen, Mapping) and isinstance(present, Mapping):
        for key in sorted(frozen.keys() | present.keys()):
            found = _first_difference(frozen.get(key), present.get(key), f"{path}.{key}" if path else str(key))
            if found:
                return found
        return None
    return None if frozen == present else f"`{path}` is {present!r:.80} and was frozen as {frozen!r:.80}"
