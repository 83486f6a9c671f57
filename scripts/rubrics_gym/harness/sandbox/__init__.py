"""Where the agent's commands run: a boundary, hard limits, and nothing left behind."""

from rubrics_gym.harness.sandbox.sandbox import CommandResult, DiskReserve, Sandbox, SandboxDied, SandboxRefused, check_isolation

__all__ = ["CommandResult", "DiskReserve", "Sandbox", "SandboxDied", "SandboxRefused", "check_isolation"]
