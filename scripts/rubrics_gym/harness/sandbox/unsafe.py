"""No boundary: limits and an allow-listed environment only. Must be asked for by name."""

from __future__ import annotations

import os
import sys

from rubrics_gym.harness.sandbox.entry import TOOLS as ENTRY_TOOLS
from rubrics_gym.harness.sandbox.surroundings import USER_SITE, Boundary, Places, environment, write_control
from rubrics_gym.harness.sandbox.users import unprivileged_uid
from rubrics_gym.settings.study import Limits, SandboxPhase

TOOLS = ENTRY_TOOLS


def unsafe(settings: SandboxPhase, limits: Limits, places: Places) -> Boundary:
    """Commands run as this process's user, in the work folder, with everything of this machine in sight."""
    into = f"target = {places.work / USER_SITE}"  # inside a virtual environment pip knows no packages of the user's
    write_control(places, settings.network, sys.executable, into, str(places.wheels))
    link = places.work / "data"
    if not link.exists():
        link.symlink_to(places.data)
    seen = environment(
        home=str(places.work),
        path=f"{places.control}/bin:/usr/local/bin:{os.defpath}:{places.work}/.local/bin",
        tmp=str(places.tmp),
        site="",
        pip_config=f"{places.control}/pip.conf",
    )
    return Boundary(
        prefix=(),
        environment=seen,
        folder=str(places.work),
        control=str(places.control),
        uid=os.getuid(),
        limits=limits,
        gid=unprivileged_uid() if os.getuid() == 0 else None,  # tells its shared memory from that of other programs of root's
    )
