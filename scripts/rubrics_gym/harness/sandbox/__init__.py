"""Where the agent's commands run: a boundary, hard limits, and nothing left behind.

`sandbox` runs commands; `entry` is what comes before each; `bubblewrap`, `pod` and `unsafe` make the boundary of each kind; `probe` tries it; `seccomp`, `cgroup`, `usage` and
`launch` are what boundaries are made of.
"""

from rubrics_gym.harness.sandbox.results import CommandResult, DiskReserve, SandboxDied, SandboxRefused
from rubrics_gym.harness.sandbox.sandbox import Sandbox, check_isolation

__all__ = ["CommandResult", "DiskReserve", "Sandbox", "SandboxDied", "SandboxRefused", "check_isolation"]
