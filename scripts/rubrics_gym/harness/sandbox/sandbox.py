"""Where the agent's commands run: bubblewrap with no network, no keys, an unprivileged user and hard limits.

Every command gets fresh namespaces over the same work folder, so nothing that it started outlives it. As root the isolation is the
mount, pid and network namespace plus a real unprivileged user (a user namespace of root's would still be root outside); for an
ordinary user it is a user namespace. What cannot be enforced is refused when the sandbox is opened, never skipped.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rubrics_gym.harness.clock import CountedTime
from rubrics_gym.harness.output import Collector, Output
from rubrics_gym.harness.packages import Exposed, exposed
from rubrics_gym.settings.study import Limits, SandboxKind
from rubrics_gym.settings.study import Sandbox as SandboxSettings

_WORKSPACE = "/workspace"
_SITE = "/opt/site"
_CONTROL = "/opt/control"
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_USER_SITE = f".local/lib/{_PYTHON}/site-packages"
_FIRST_UID = 1_000_000  # plus our pid: processes are counted per user, so every sandbox needs a user of its own
_SHM_BYTES = 256_000_000
_DISK_RESERVE = 300_000_000  # bytes that a command must leave free on the disk of the work folder
_TICK_S = 0.25
_PATIENCE = 10  # times its limit that a command may take on a busy machine
_MEMORY_WORDS = re.compile(r"MemoryError|std::bad_alloc|Cannot allocate memory|cannot allocate memory|DefaultCPUAllocator: can't allocate")
_PIP_CONFIG = """\
[install]
{place}
break-system-packages = true
no-warn-script-location = true
[global]
disable-pip-version-check = true
no-cache-dir = true
progress-bar = off
no-index = true
"""  # in a file, because PIP_USER would make `pip list` leave out what is not the user's
_ids = itertools.count()


class SandboxRefused(RuntimeError):
    """The isolation that the settings ask for does not hold on this machine."""


class SandboxDied(RuntimeError):
    """The sandbox itself failed while a command was to run: an infrastructure loss, never output."""


class DiskReserve(RuntimeError):
    """A command was stopped because the disk was about to be full: an infrastructure loss."""


@dataclass(frozen=True)
class CommandResult:
    """What became of one command. `exit_code` is the shell's (128 + signal when killed); None when we stopped it at its limit."""

    exit_code: int | None
    timed_out: bool
    out_of_memory: bool
    duration_s: float  # of wall time
    waited_s: float  # of it, ready to run but without a processor
    output: Output


class Sandbox:
    """A work folder and the boundary around it; use as a context manager.

    `work` becomes /workspace (writable), `data` /workspace/data (read-only), `wheels` (if there) /wheels, the only package index.
    The kind `unsafe` has no boundary: limits and an allow-listed environment only, with `work` as the current folder.
    """

    def __init__(self, settings: SandboxSettings, limits: Limits, work: Path, data: Path, wheels: Path | None = None):
        self.settings = settings
        self.limits = limits
        self.work = work.resolve()
        self.data = data.resolve()
        self.wheels = wheels.resolve() if wheels and wheels.is_dir() else None
        self._uid = os.getuid()
        self._gid = os.getgid()
        self._prefix: list[str] = []
        self._environment: dict[str, str] = {}
        self._scratch: Path | None = None

    def __enter__(self) -> Sandbox:
        self._scratch = Path(tempfile.mkdtemp(prefix="rubrics-gym-"))
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            if self.settings.kind is SandboxKind.UNSAFE:
                self._open_unsafe()
            else:
                self._open_bubblewrap()
                self._probe()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove the sandbox's own files. The work folder stays."""
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def run(self, command: str, timeout_s: float, output: Path | None = None) -> CommandResult:
        """Run one command line in a fresh shell (bash, pipefail) and wait for its end or its limit.

        `timeout_s` is of time that counts (harness.clock); ten times as much of wall time ends the command as well. `output` is where the
        full output is kept (up to a cap). Raises SandboxDied when the sandbox itself fails, and DiskReserve when the command was about to
        fill the disk.
        """
        collector = Collector(self.limits.output_chars, output)
        with self._process(command) as (process, status):
            clock = CountedTime(process.pid)
            stopped = self._drain(process, collector, clock, timeout_s)
            code, left_over = self._end(process, status)
        clock.look()
        collected = collector.finish()
        if stopped == "disk":
            raise DiskReserve(
                f"{self.work}: less than {_DISK_RESERVE // 1_000_000} MB were left on the disk, so the command was stopped. Free some space."
            )
        if left_over:
            raise SandboxDied(f"{self.work}: process {left_over} outlived its command")
        if stopped is None and code is None:
            raise SandboxDied(f"{self.work}: the sandbox ended without reporting the command's end: {collected.text[-300:] or 'no output'}")
        timed_out = stopped == "time"
        exit_code = None if timed_out else code
        return CommandResult(exit_code, timed_out, _is_out_of_memory(exit_code, collected), clock.wall_s, clock.waited_s, collected)

    # ------------------------------------------------------------ one command

    @contextlib.contextmanager
    def _process(self, command: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        read_status, write_status = os.pipe()
        reports = self.settings.kind is SandboxKind.BUBBLEWRAP
        arguments = [str(write_status) if word == "{status}" else word for word in self._prefix] + self._shell(command)
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[write_status] if reports else [],
            start_new_session=True,
            cwd="/" if reports else self.work,
            env=self._environment,
        )
        os.close(write_status)
        try:
            yield process, read_status
        finally:
            _kill_group(process)
            process.wait()
            os.close(read_status)
            if process.stdout:
                process.stdout.close()

    def _shell(self, command: str) -> list[str]:
        if len(command.encode()) < 100_000:
            return ["bash", "-o", "pipefail", "-c", command]
        assert self._scratch is not None  # a single argument may not be longer than 128 KB on Linux
        (self._scratch / "control" / "command").write_text(command, encoding="utf-8")
        control = _CONTROL if self.settings.kind is SandboxKind.BUBBLEWRAP else str(self._scratch / "control")
        return ["bash", "-o", "pipefail", f"{control}/command"]

    def _drain(self, process: subprocess.Popen[bytes], collector: Collector, clock: CountedTime, timeout_s: float) -> str | None:
        """Read until every writer is gone. Returns what made us stop the command: `time`, `disk`, or None when it ended by itself."""
        assert process.stdout is not None
        stopped: str | None = None
        next_look = stopped_at = 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if now >= next_look:
                    clock.look()
                    next_look = now + min(_TICK_S, max(0.01, timeout_s - clock.counted_s))
                    if stopped is None and (stopped := self._must_stop(clock, timeout_s)):
                        stopped_at = now
                    if stopped or (self.settings.kind is SandboxKind.UNSAFE and process.poll() is not None):
                        _kill_group(process)  # without a boundary, a background process may hold the pipe open
                    if stopped and now > stopped_at + _PATIENCE:
                        return stopped  # a process that even SIGKILL does not end yet: the end is verified by the caller
                if selector.select(next_look - now):
                    data = os.read(process.stdout.fileno(), 1 << 16)
                    if not data:
                        return stopped
                    collector.add(data)

    def _must_stop(self, clock: CountedTime, timeout_s: float) -> str | None:
        if clock.counted_s >= timeout_s or clock.wall_s >= _PATIENCE * timeout_s:
            return "time"
        return "disk" if self._disk_is_short() else None

    def _disk_is_short(self) -> bool:
        disk = os.statvfs(self.work)
        return disk.f_bavail * disk.f_frsize < _DISK_RESERVE

    def _end(self, process: subprocess.Popen[bytes], status: int) -> tuple[int | None, int | None]:
        """The command's exit code as the sandbox reports it (None: no report), and a process that is still there (None: none)."""
        process.wait()
        if self.settings.kind is SandboxKind.UNSAFE:
            _kill_group(process)
            code = process.returncode
            return (code if code >= 0 else 128 - code), None
        report = _read_status(status)
        init = report.get("child-pid")
        return report.get("exit-code"), init if init and not _is_gone(init, 5.0) else None

    # ------------------------------------------------------------ setting up

    def _open_unsafe(self) -> None:
        assert self._scratch is not None
        self._control_folder()
        link = self.work / "data"
        if not link.exists():
            link.symlink_to(self.data)
        _require("prlimit", "setpriv")
        self._prefix = ["setpriv", "--pdeathsig", "KILL", "--", *_limits(self.limits)]
        path = f"{self._scratch}/control/bin:/usr/local/bin:{os.defpath}:{self.work}/.local/bin"
        self._environment = _environment(home=str(self.work), path=path, site=None, pip_config=f"{self._scratch}/control/pip.conf")

    def _open_bubblewrap(self) -> None:
        _require("bwrap", "prlimit", "setpriv")
        root = os.getuid() == 0
        if root:
            self._uid = self._gid = _unprivileged_uid()
        self._control_folder()
        self._own(self.work)
        (self.work / "data").mkdir(exist_ok=True)
        self._prefix = ["bwrap", *_namespaces(root), "--json-status-fd", "{status}", *self._mounts(), "--clearenv"]
        environment = _environment(
            home=_WORKSPACE,
            path=f"{_CONTROL}/bin:/usr/local/bin:/usr/bin:/bin:{_WORKSPACE}/.local/bin",
            site=_SITE,
            pip_config=f"{_CONTROL}/pip.conf",
        )
        for name, value in environment.items():
            self._prefix += ["--setenv", name, value]
        if root:
            user = [
                f"--reuid={self._uid}",
                f"--regid={self._gid}",
                "--clear-groups",
                "--no-new-privs",
                "--inh-caps=-all",
                "--bounding-set=-all",
            ]
            self._prefix += ["setpriv", *user]
        self._prefix += _limits(self.limits)
        self._environment = {"PATH": os.environ.get("PATH", os.defpath)}  # of bwrap itself; --clearenv takes it from the command

    def _control_folder(self) -> None:
        """Files that every command sees read-only: python and pip on the path, and the settings of pip."""
        assert self._scratch is not None
        control = self._scratch / "control"
        (control / "bin").mkdir(parents=True)
        if self.settings.kind is SandboxKind.BUBBLEWRAP:
            interpreter, place, wheels = Path(sys._base_executable).resolve(), "user = true", "/wheels"  # type: ignore[attr-defined]
        else:  # inside a virtual environment pip knows no packages of the user's
            interpreter, place, wheels = Path(sys.executable), f"target = {self.work / _USER_SITE}", str(self.wheels)
        programs = {name: str(interpreter) for name in ("python", "python3", _PYTHON)} | {name: "python -m pip" for name in ("pip", "pip3")}
        for name, program in programs.items():
            (control / "bin" / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            (control / "bin" / name).chmod(0o755)
        (control / "pip.conf").write_text(_PIP_CONFIG.format(place=place) + (f"find-links = {wheels}\n" if self.wheels else ""))
        (self._scratch / "tmp").mkdir(mode=0o700)
        self._own(self._scratch / "tmp")

    def _etc_folder(self) -> Path:
        """The little of /etc that programs need: user tables of one user, and where shared libraries lie."""
        assert self._scratch is not None
        etc = self._scratch / "etc"
        (etc / "alternatives").mkdir(parents=True)
        (etc / "passwd").write_text(f"agent:x:{self._uid}:{self._gid}::{_WORKSPACE}:/bin/bash\n")
        (etc / "group").write_text(f"agent:x:{self._gid}:\n")
        for name in ("ld.so.cache", "localtime"):
            if Path("/etc", name).exists():
                shutil.copyfile(f"/etc/{name}", etc / name)
        return etc

    def _site_folder(self, packages: Exposed) -> list[str]:
        """Mounts that show the allowed packages at /opt/site. Metadata and single modules are copied: a mount costs half a millisecond."""
        assert self._scratch is not None
        site = self._scratch / "site"
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

    def _own(self, folder: Path) -> None:
        """Give a folder and what is in it to the sandbox's user; links are not followed."""
        if self._uid == os.getuid():
            return
        os.chown(folder, self._uid, self._gid)
        for parent, folders, files in os.walk(folder):
            for name in folders + files:
                os.chown(Path(parent, name), self._uid, self._gid, follow_symlinks=False)

    def _mounts(self) -> list[str]:
        assert self._scratch is not None
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
        for folder in _base_site_folders(prefix):
            binds += ["--tmpfs", folder]
        binds += ["--ro-bind", str(self._etc_folder()), "/etc", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
        binds += self._site_folder(exposed(self.settings.packages))
        binds += ["--ro-bind", str(self._scratch / "control"), _CONTROL]
        if self.wheels:
            binds += ["--ro-bind", str(self.wheels), "/wheels"]
        binds += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm"]
        binds += ["--bind", str(self._scratch / "tmp"), "/tmp", "--bind", str(self.work), _WORKSPACE]
        return [*binds, "--ro-bind", str(self.data), f"{_WORKSPACE}/data", "--chdir", _WORKSPACE]

    def _probe(self) -> None:
        """Try what the sandbox promises, once, before anything of the agent's runs."""
        try:
            result = self.run(_PROBE, timeout_s=20)
        except SandboxDied as error:
            raise SandboxRefused(
                f"bubblewrap does not start here ({error}). In a container it needs the right to make namespaces; "
                "set sandbox.kind: unsafe to run the agent's commands without isolation."
            ) from None
        expected = {
            "uid": str(self._uid),
            "shadow": "hidden",
            "interfaces": "lo",
            "processes": str(self.limits.processes),
            "memory": str(self.limits.memory_mb * 1024),
            "usr": "read-only",
            "data": "read-only",
            "work": "writable",
        }
        seen = dict(line.split("=", 1) for line in result.output.text.splitlines() if "=" in line)
        wrong = {name: seen.get(name, "unknown") for name, value in expected.items() if seen.get(name) != value}
        if wrong:
            found = ", ".join(f"{name} is {value} instead of {expected[name]}" for name, value in wrong.items())
            raise SandboxRefused(f"The sandbox does not hold here: {found}. Output of the probe: {result.output.text[-300:]!r}")


_PROBE = """
echo uid=$(id -u)
if [ -e /etc/shadow ]; then echo shadow=visible; else echo shadow=hidden; fi
echo interfaces=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | tr '\\n' ' ' | sed 's/ $//')
echo processes=$(ulimit -u)
echo memory=$(ulimit -v)
if (: > /usr/probe) 2>/dev/null; then echo usr=writable; else echo usr=read-only; fi
if (: > data/probe) 2>/dev/null; then echo data=writable; else echo data=read-only; fi
if (: > .probe && rm .probe) 2>/dev/null; then echo work=writable; else echo work=read-only; fi
"""


def _require(*tools: str) -> None:
    for tool in tools:
        if not shutil.which(tool):
            raise SandboxRefused(
                f"{tool} is not installed. Install it (Debian: apt-get install bubblewrap util-linux), or set sandbox.kind: unsafe to run "
                "the agent's commands without isolation."
            )


def check_isolation(settings: SandboxSettings) -> None:
    """Open a sandbox and close it again, before any job needs one. SandboxRefused says what does not hold, and what to do."""
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-") as folder:
        data = Path(folder, "data")
        data.mkdir()
        with Sandbox(settings, Limits(), Path(folder, "work"), data):
            pass


def _namespaces(root: bool) -> list[str]:
    shared = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    shared += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if root:  # the capabilities that setpriv needs to give everything up
        return [*shared, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    return ["--unshare-user", "--disable-userns", *shared]


def _limits(limits: Limits) -> list[str]:
    megabyte = 1024 * 1024
    return [
        "prlimit",
        f"--as={limits.memory_mb * megabyte}",
        f"--nproc={limits.processes}",
        f"--fsize={limits.file_mb * megabyte}",
        "--nofile=512",
        "--core=0",
        "--",
    ]


def _environment(home: str, path: str, site: str | None, pip_config: str) -> dict[str, str]:
    """The whole environment of a command. What is installed by the agent goes before what it finds."""
    user_site = f"{home}/{_USER_SITE}"
    return {
        "HOME": home,
        "USER": "agent",
        "PATH": path,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TIME_STYLE": "+",  # `ls -l` without times, so that equal episodes read equal listings
        "PYTHONPATH": f"{user_site}:{site}" if site else user_site,
        "PYTHONUSERBASE": f"{home}/.local",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
        "PIP_CONFIG_FILE": pip_config,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }


def _base_site_folders(prefix: Path) -> list[str]:
    """Where the base Python keeps packages of its own, which are not on the allow-list."""
    libraries = {prefix / "lib", Path("/usr/lib"), Path("/usr/local/lib")}
    return sorted(str(folder) for library in libraries for folder in library.glob("python3*/*-packages") if not folder.is_symlink())


def _unprivileged_uid() -> int:
    """A user id that no other sandbox has, or nobody's where a container maps only a few ids."""
    uid = _FIRST_UID + os.getpid() * 64 + next(_ids) % 64
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, count = map(int, line.split())
        if inside <= uid < inside + count:
            return uid
    return 65534


def _is_out_of_memory(exit_code: int | None, output: Output) -> bool:
    """Whether a command that failed failed for want of memory: the allocator's words, or a SIGKILL that was not ours."""
    if exit_code in (None, 0):
        return False
    return exit_code == 128 + signal.SIGKILL or bool(_MEMORY_WORDS.search(output.tail[-4000:]))


def _read_status(descriptor: int) -> dict[str, int]:
    """bwrap's report: JSON documents, one a line, ending with the exit code when the command ended."""
    os.set_blocking(descriptor, False)
    data = b""
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(descriptor, 1 << 16):
            data += chunk
    report: dict[str, int] = {}
    for line in data.decode().splitlines():
        report.update(json.loads(line))
    return report


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _is_gone(pid: int, patience_s: float) -> bool:
    """Whether a sandbox's first process is gone, and with it, by the kernel's rule for pid namespaces, every other one."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.005)
    return False
