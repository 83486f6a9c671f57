"""Trying what a sandbox promises, once, before anything of the agent's runs in it."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from rubrics_gym.harness.sandbox.results import SandboxDied, SandboxRefused
from rubrics_gym.harness.sandbox.surroundings import Boundary
from rubrics_gym.settings.study import Network, SandboxKind

if TYPE_CHECKING:
    from rubrics_gym.harness.sandbox.sandbox import Sandbox

_PROBE = """
echo uid=$(id -u)
if cat /etc/shadow >/dev/null 2>&1; then echo shadow=readable; else echo shadow=hidden; fi
if cat /proc/{pid}/environ >/dev/null 2>&1; then echo keys=readable; else echo keys=hidden; fi
if cat {secret} >/dev/null 2>&1; then echo harness=readable; else echo harness=hidden; fi
interfaces=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | tr '\\n' ' ')
refused=$( (: > /dev/tcp/127.0.0.1/9) 2>&1 )
if [[ $interfaces = "lo " || $refused = *"not permitted"* ]]; then echo network=closed; else echo network=open; fi
if unshare --user true 2>/dev/null; then echo namespaces=open; else echo namespaces=closed; fi
echo processes=$(ulimit -u)
echo memory=$(ulimit -v)
if (: > /usr/probe) 2>/dev/null; then echo usr=writable; else echo usr=read-only; fi
if (: > data/probe) 2>/dev/null; then echo data=writable; else echo data=read-only; fi
if (: > .probe && rm .probe) 2>/dev/null; then echo work=writable; else echo work=read-only; fi
"""


def require(*tools: str) -> None:
    """SandboxRefused when a program that the boundary is made with is not installed."""
    for tool in tools:
        if not shutil.which(tool):
            raise SandboxRefused(
                f"{tool} is not installed. Install it (Debian: apt-get install bubblewrap util-linux), or set sandbox.kind: unsafe to run "
                "the agent's commands without isolation."
            )


def check(sandbox: Sandbox, boundary: Boundary) -> None:
    """SandboxRefused, with what was found instead, unless every promise of the sandbox's kind holds."""
    expected = _expected(sandbox, boundary)
    if not expected:
        return
    secret = sandbox.work.parent / f".rubrics-gym-probe-{os.getpid()}"
    try:
        secret.touch(mode=0o644)
        result = sandbox.run(_PROBE.format(pid=os.getpid(), secret=secret), timeout_s=20)
    except SandboxDied as error:
        raise SandboxRefused(
            f"The sandbox does not start here ({error}). In a container bubblewrap needs the right to make namespaces: use sandbox.kind: pod there. "
            "sandbox.kind: unsafe runs the agent's commands without isolation."
        ) from None
    finally:
        secret.unlink(missing_ok=True)
    seen = dict(line.split("=", 1) for line in result.output.text.splitlines() if "=" in line)
    wrong = {name: seen.get(name, "unknown") for name, value in expected.items() if seen.get(name) != value}
    if wrong:
        found = ", ".join(f"{name} is {value} instead of {expected[name]}" for name, value in wrong.items())
        raise SandboxRefused(f"The sandbox does not hold here: {found}. Output of the probe: {result.output.text[-300:]!r}")


def _expected(sandbox: Sandbox, boundary: Boundary) -> dict[str, str]:
    if sandbox.settings.kind is SandboxKind.UNSAFE:
        return {}
    return {
        "uid": str(boundary.uid),
        "shadow": "hidden",
        "keys": "hidden",
        "harness": "hidden",
        "network": "open" if sandbox.settings.network is Network.OPEN else "closed",
        "namespaces": "closed",
        "processes": str(sandbox.limits.processes),
        "memory": str(sandbox.limits.memory_mb * 1024),
        "usr": "read-only",
        "data": "read-only",
        "work": "writable",
    }
