"""The boundary on a machine of one's own: bubblewrap.

Every command gets fresh namespaces over the same work folder, so nothing that it started outlives it. As root the isolation is the
mount, pid and network namespace plus a real unprivileged user (a user namespace of root's would still be root outside); for an
ordinary user it is a user namespace.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from rubrics_gym.harness.packages import Exposed, exposed
from rubrics_gym.harness.sandbox.entry import TOOLS as ENTRY_TOOLS
from rubrics_gym.harness.sandbox.seccomp import filter_program
from rubrics_gym.harness.sandbox.surroundings import (
    WORKSPACE,
    Boundary,
    Places,
    base_site_folders,
    environment,
    give_to,
    limit_words,
    write_control,
)
from rubrics_gym.harness.sandbox.users import unprivileged_uid
from rubrics_gym.settings.study import Limits, Network, SandboxPhase

TOOLS = ("bwrap", "prlimit", *ENTRY_TOOLS)
_SITE = "/opt/site"
_CONTROL = "/opt/control"
_WHEELS = "/wheels"
_SHM_BYTES = 256_000_000


def bubblewrap(settings: SandboxPhase, limits: Limits, places: Places) -> Boundary:
    """Make the folders that commands see, and the words that start one behind the boundary."""
    root = os.getuid() == 0
    uid, gid = (unprivileged_uid(),) * 2 if root else (os.getuid(), os.getgid())
    write_control(places, settings.network, str(Path(sys._base_executable).resolve()), "user = true", _WHEELS)  # type: ignore[attr-defined]
    for folder in (places.work, places.tmp):
        give_to(folder, uid, gid)
    (places.work / "data").mkdir(exist_ok=True)
    seen = environment(
        home=WORKSPACE,
        path=f"{_CONTROL}/bin:/usr/local/bin:/usr/bin:/bin:{WORKSPACE}/.local/bin",
        tmp="/tmp",
        site=_SITE,
        pip_config=f"{_CONTROL}/pip.conf",
    )
    prefix = ["bwrap", *_namespaces(root, settings.network), "--json-status-fd", "{status}", "--seccomp", "{seccomp}"]
    prefix += [*_mounts(settings, places, uid, gid), "--clearenv"]
    for name, value in seen.items():
        prefix += ["--setenv", name, value]
    if root:
        prefix += [
            "setpriv",
            f"--reuid={uid}",
            f"--regid={gid}",
            "--clear-groups",
            "--no-new-privs",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ]
    else:  # inside the user namespace, where the user's other processes do not count
        prefix += limit_words(limits)
    outside = {"PATH": os.environ.get("PATH", os.defpath)}  # of bwrap itself; --clearenv takes it from the command
    return Boundary(
        prefix=tuple(prefix),
        environment=outside,
        folder="/",
        control=_CONTROL,
        uid=uid,
        reports=True,
        limits=limits if root else None,
        filter=filter_program(network=True),  # a network namespace of its own has a loopback that is its own
    )


def _namespaces(root: bool, network: Network) -> list[str]:
    shared = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    shared += [] if network is Network.OPEN else ["--unshare-net"]
    shared += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if root:  # the capabilities that setpriv needs to give everything up
        return [*shared, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    return ["--unshare-user", *shared]


def _mounts(settings: SandboxPhase, places: Places, uid: int, gid: int) -> list[str]:
    binds = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            binds += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            binds += ["--ro-bind", str(path), str(path)]
    prefix = Path(sys.base_prefix).resolve()
    above = [str(parent) for parent in reversed(prefix.parents)][1:]
    for folder in ["/opt", *above]:  # by default bwrap makes these readable for root alone
        binds += ["--perms", "0755", "--dir", folder]
    if not prefix.is_relative_to("/usr"):
        binds += ["--ro-bind", str(prefix), str(prefix)]
    for folder in base_site_folders(prefix):
        binds += ["--tmpfs", folder]
    binds += ["--ro-bind", str(_etc_folder(places.scratch, uid, gid)), "/etc", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    if settings.network is Network.OPEN:
        for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl"):
            binds += ["--ro-bind-try", str(Path(file).resolve()), file]
    binds += _site_folder(places.scratch, exposed(settings.packages))
    binds += ["--ro-bind", str(places.control), _CONTROL]
    if settings.network is Network.INDEX and places.wheels:
        binds += ["--ro-bind", str(places.wheels), _WHEELS]
    binds += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm"]
    binds += ["--bind", str(places.tmp), "/tmp", "--bind", str(places.work), WORKSPACE]
    return [*binds, "--ro-bind", str(places.data), f"{WORKSPACE}/data", "--chdir", WORKSPACE]


def _etc_folder(scratch: Path, uid: int, gid: int) -> Path:
    """The little of /etc that programs need: user tables of one user, and where shared libraries lie."""
    etc = scratch / "etc"
    (etc / "alternatives").mkdir(parents=True)
    (etc / "passwd").write_text(f"agent:x:{uid}:{gid}::{WORKSPACE}:/bin/bash\n")
    (etc / "group").write_text(f"agent:x:{gid}:\n")
    for name in ("resolv.conf", "hosts", "nsswitch.conf"):  # places for mounts; a read-only folder takes no new ones
        (etc / name).touch()
    (etc / "ssl").mkdir()
    for name in ("ld.so.cache", "localtime"):
        if Path("/etc", name).exists():
            shutil.copyfile(f"/etc/{name}", etc / name)
    return etc


def _site_folder(scratch: Path, packages: Exposed) -> list[str]:
    """Mounts that show the allowed packages at /opt/site. Metadata and single modules are copied: a mount costs half a millisecond."""
    site = scratch / "site"
    site.mkdir()
    binds = ["--ro-bind", str(site), _SITE]
    for path in packages.paths:
        if path.suffix == ".dist-info":
            shutil.copytree(path, site / path.name, ignore=shutil.ignore_patterns("licenses", "LICENSE*", "sboms"))
        elif path.is_file():
            shutil.copyfile(path, site / path.name)
        else:
            (site / path.name).mkdir()
            binds += ["--ro-bind", str(path), f"{_SITE}/{path.name}"]
    for folder in packages.masked:
        binds += ["--tmpfs", f"{_SITE}/{folder}"]
    return binds
