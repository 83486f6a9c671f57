"""Every attack of `sandbox_attacks.py`, in every kind of sandbox, as root and as an ordinary user, against the table in docs/sandbox.md."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sandbox_attacks import ATTACKS

TOP = Path(__file__).resolve().parents[2]
NOBODY = 65534
COLUMNS = [(kind, user) for kind in ("bubblewrap", "pod", "unsafe") for user in ("root", "user")]
SLOW = [column for column in COLUMNS if column != ("bubblewrap", "root" if os.getuid() == 0 else "user")]


@functools.cache
def table() -> dict[str, dict[tuple[str, str], str]]:
    """Attack -> (kind, user) -> yes, group or no, as documented."""
    lines = [line.strip("| ").split(" | ") for line in (TOP / "docs" / "sandbox.md").read_text().splitlines() if line.startswith("|")]
    return {line[0]: dict(zip(COLUMNS, line[1:], strict=True)) for line in lines if len(line) == 7 and line[0] in ATTACKS}


@functools.cache
def outcome(kind: str, user: str) -> dict[str, Any]:
    """What the attacks came to; `skipped` says why they could not be tried."""
    python = Path(sys.executable)
    other_user = user == "user" and os.getuid() == 0
    if user == "root" and os.getuid() != 0:
        return {"skipped": "only root can try it as root"}
    if other_user or kind == "pod":  # an environment below a home of root's is closed to others
        python = Path("/usr/bin/python3")
        if not python.exists() or f"{sys.version_info.major}.{sys.version_info.minor}" not in python.resolve().name:
            return {"skipped": "needs a system Python of the same version"}
    with tempfile.TemporaryDirectory(prefix="attacks-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "tried").mkdir()
        if other_user:
            os.chown(folder / "tried", NOBODY, NOBODY)
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if other_user else []
        environment = {
            **os.environ,
            "TMPDIR": str(folder / "tried"),
            "PYTHONPATH": os.pathsep.join([str(TOP / "scripts"), *sys.path[1:]]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ANTHROPIC_API_KEY": "sk-ant-not-a-real-key",
        }
        program = [
            str(python),
            str(TOP / "tests" / "unit" / "sandbox_attacks.py"),
            kind,
            str(folder / "tried"),
            str(folder / "tried" / "workspace"),
        ]
        done = subprocess.run([*become, *program], env=environment, capture_output=True, text=True, timeout=900, check=False)
    if "SandboxRefused" in done.stderr or "ModuleNotFoundError" in done.stderr or "Permission denied" in done.stderr:
        return {"skipped": done.stderr.strip().splitlines()[-1][-300:]}
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def is_promised(attack: str, column: tuple[str, str], controllers: list[str]) -> bool:
    """Whether the table promises that a sandbox with these controllers holds against the attack."""
    promise = table()[attack][column]
    return promise == "yes" or (promise == "group" and {"fork bomb": "pids"}.get(attack, "memory") in controllers)


def test_the_table_has_every_attack_in_every_column() -> None:
    assert set(table()) == set(ATTACKS)
    assert all(re.fullmatch("yes|group|no", value) for line in table().values() for value in line.values())


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(
    ("kind", "user"), [pytest.param(*column, marks=[pytest.mark.slow] if column in SLOW else [], id="-".join(column)) for column in COLUMNS]
)
def test_attack(kind: str, user: str, attack: str) -> None:
    if kind == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    found = outcome(kind, user)
    if "skipped" in found:
        pytest.skip(found["skipped"])
    if is_promised(attack, (kind, user), found["controllers"]):
        assert found["results"][attack] == ""
