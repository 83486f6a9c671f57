"""Where the agent's commands run: one shell per command, behind a boundary, under hard limits, with nothing left behind.

What cannot be enforced is refused when the sandbox is opened, never skipped (docs/sandbox.md says what each kind enforces, and how).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from rubrics_gym.harness.clock import CountedTime
from rubrics_gym.harness.output import Collector, Output
from rubrics_gym.harness.sandbox import bubblewrap, pod, unsafe
from rubrics_gym.harness.sandbox.cgroup import ControlGroup, make_control_group
from rubrics_gym.harness.sandbox.ends import Stop, is_out_of_memory, shell_code
from rubrics_gym.harness.sandbox.entry import ENTERED, entry_words
from rubrics_gym.harness.sandbox.probe import check, require
from rubrics_gym.harness.sandbox.processes import (
    adopt_orphans,
    descendants,
    end_orphans,
    is_gone,
    kill_group,
    own_children,
    read_status,
    remove_shared_memory,
    shared_memory,
)
from rubrics_gym.harness.sandbox.results import CommandResult, DiskReserve, SandboxDied, SandboxRefused
from rubrics_gym.harness.sandbox.seccomp import UnknownMachine
from rubrics_gym.harness.sandbox.surroundings import Boundary, Places
from rubrics_gym.harness.sandbox.usage import Quota, disk_is_short
from rubrics_gym.harness.scratch import remove_tree
from rubrics_gym.settings.study import Limits, Network, SandboxKind, SandboxPhase

_TICK_S = 0.1
_PATIENCE = 10  # times its limit that a command may take on a busy machine
_END_S = 5.0  # until everything that a command started must be gone
_HEARTBEAT_S = 20.0
_FIRST_DOUBTFUL_CODE = 125  # from here on an exit code may be that of a launcher, not of the command
_LONGEST_ARGUMENT = 100_000  # bytes; Linux takes no single argument over 128 KiB

_KINDS = {
    SandboxKind.BUBBLEWRAP: (bubblewrap.TOOLS, bubblewrap.bubblewrap),
    SandboxKind.POD: (pod.TOOLS, pod.pod),
    SandboxKind.UNSAFE: (unsafe.TOOLS, unsafe.unsafe),
}


class Sandbox:
    """A work folder and the boundary around it; use as a context manager.

    `work` becomes /workspace (writable), `data` /workspace/data (read-only), `wheels` the only package index of the network `index`.
    The kind `unsafe` has no boundary: `work` is the current folder of its commands.
    """

    def __init__(self, settings: SandboxPhase, limits: Limits, work: Path, data: Path, wheels: Path | None = None):
        self.settings = settings
        self.limits = limits
        self.work = work.resolve()
        self.data = data.resolve()
        self.wheels = wheels.resolve() if wheels and wheels.is_dir() else None
        self._places: Places | None = None
        self._boundary: Boundary | None = None
        self._group: ControlGroup | None = None
        self._quota: Quota | None = None

    def __enter__(self) -> Sandbox:
        tools, build = _KINDS[self.settings.kind]
        require(*tools)
        self._places = Places(self.work, self.data, Path(tempfile.mkdtemp(prefix="rubrics-gym-")), self.wheels)
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            self._boundary = build(self.settings, self.limits, self._places)
            self._group = make_control_group(self.limits)
            self._quota = Quota((self.work, self._places.tmp), self.limits.disk_mb * 1_000_000, self.limits.disk_files)
            if not self._boundary.reports:
                adopt_orphans()
            check(self, self._boundary)
        except UnknownMachine as error:
            self.close()
            raise SandboxRefused(
                f"sandbox.kind: {self.settings.kind.value}: no system-call filter is known for the processor {error}. Run on x86_64 or aarch64."
            ) from None
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove the sandbox's own files. The work folder stays."""
        if self._group:
            self._group.remove()
            self._group = None
        if self._boundary and self._boundary.link:
            self._boundary.link.unlink(missing_ok=True)
        self._boundary = None
        if self._places:
            remove_tree(self._places.scratch)
            self._places = None

    @property
    def controllers(self) -> tuple[str, ...]:
        """What is limited for all processes together: memory, pids, cpu; empty where no control group can be made."""
        return self._group.controllers if self._group else ()

    def run(self, command: str, timeout_s: float, output: Path | None = None) -> CommandResult:
        """Run one command line in a fresh shell (bash, pipefail) and wait for its end or its limit.

        `timeout_s` is of time that counts (harness.clock); ten times as much of wall time ends the command as well. `output` is where the
        full output is kept (up to a cap). A command that makes the work folder outgrow its quota is killed and told so. Raises SandboxDied
        when the sandbox itself fails, and DiskReserve when the command was about to fill the disk.
        """
        result, stop = self._run(command, timeout_s, output)
        if stop is None and result.exit_code is not None and result.exit_code >= _FIRST_DOUBTFUL_CODE:
            self._check_heartbeat()
        return result

    def _check_heartbeat(self) -> None:
        """Raise SandboxDied unless the sandbox still runs the simplest command: else its end would pass for the command's own."""
        beat, _ = self._run("exit 42", _HEARTBEAT_S, None)
        if beat.exit_code != 42:
            raise SandboxDied(
                f"{self.work}: the sandbox answers no more (exit code {beat.exit_code}): {beat.output.text[-300:] or 'no output'}"
            )

    # ------------------------------------------------------------ one command

    def _run(self, command: str, timeout_s: float, output: Path | None) -> tuple[CommandResult, Stop | None]:
        assert self._quota is not None
        collector = Collector(self.limits.output_chars, output)
        began = time.monotonic()
        with self._process(command) as (process, status, others):
            clock = CountedTime(process.pid, began)
            stop = self._drain(process, others, collector, clock, timeout_s)
            has_begun, code, left_over = self._end(process, status, others)
        clock.look()
        outgrown = self._quota.settled()
        if stop is None and disk_is_short(self.work):
            stop = Stop.DISK
        if stop is None and outgrown:
            stop = Stop.QUOTA
        if stop is Stop.QUOTA:
            collector.add(self._quota_notice().encode())
        collected = collector.finish()
        if stop is Stop.DISK:
            raise DiskReserve(f"{self.work}: the disk was about to be full, so the command was stopped. Free some space.")
        if left_over:
            raise SandboxDied(f"{self.work}: process {left_over} outlived its command")
        if stop is None and not has_begun:
            raise SandboxDied(
                f"{self.work}: the command was not started, because its limits do not hold: {collected.text[-300:] or 'no output'}"
            )
        if stop is None and code is None:
            raise SandboxDied(f"{self.work}: the sandbox ended without reporting the command's end: {collected.text[-300:] or 'no output'}")
        exit_code = shell_code(stop, code)
        killed = self._group.new_out_of_memory_kills() if self._group else None
        out_of_memory = stop is None and is_out_of_memory(exit_code, collected, killed)
        return CommandResult(exit_code, stop is Stop.TIME, out_of_memory, clock.wall_s, clock.waited_s, collected), stop

    def _quota_notice(self) -> str:
        limits = self.limits
        return f"\n[killed: No space left on device: the quota of the work folder is {limits.disk_mb} MB and {limits.disk_files} files]\n"

    @contextlib.contextmanager
    def _process(self, command: str) -> Iterator[tuple[subprocess.Popen[bytes], int, set[int]]]:
        """A started command, the pipe on which its boundary reports, and the children that this process had before."""
        boundary = self._boundary
        assert boundary is not None
        others, segments = (set(), set()) if boundary.reports else (own_children(), shared_memory())
        read_status_end, write_status = os.pipe()
        opened = {"{status}": write_status} | ({"{seccomp}": _memory_file(boundary.filter)} if boundary.filter else {})
        entrances = self._group.entrances() if self._group else []
        words = [str(opened[word]) if word in opened else word for word in boundary.prefix]
        try:
            process = subprocess.Popen(
                [*entry_words(os.getpid(), entrances, boundary.limits, boundary.gid), *words, *self._shell(command)],
                stdin=write_status,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=list(opened.values()) if boundary.reports else [],
                start_new_session=True,
                cwd=boundary.folder,
                env=boundary.environment,
            )
        except OSError as error:
            os.close(read_status_end)
            raise SandboxDied(f"{self.work}: the command was not started: {error}") from error
        finally:
            for descriptor in opened.values():
                os.close(descriptor)
        try:
            yield process, read_status_end, others
        finally:
            kill_group(process)
            self._end_everything(process, others)
            process.wait()
            if not boundary.reports:
                remove_shared_memory(segments, boundary.uid, boundary.gid)
            os.close(read_status_end)
            if process.stdout:
                process.stdout.close()

    def _shell(self, command: str) -> list[str]:
        assert self._places is not None and self._boundary is not None
        if len(command.encode()) < _LONGEST_ARGUMENT:
            return ["bash", "-o", "pipefail", "-c", command]
        (self._places.control / "command").write_text(command, encoding="utf-8")
        return ["bash", "-o", "pipefail", f"{self._boundary.control}/command"]

    def _drain(
        self, process: subprocess.Popen[bytes], others: set[int], collector: Collector, clock: CountedTime, timeout_s: float
    ) -> Stop | None:
        """Read until every writer is gone. Returns what made us stop the command, or None when it ended by itself."""
        assert process.stdout is not None and self._boundary is not None
        stop: Stop | None = None
        next_look, stopped_at = time.monotonic() + min(_TICK_S, timeout_s), 0.0
        with selectors.DefaultSelector() as selector, _end_of(process.pid) as end:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not self._boundary.reports:  # without namespaces a background process may hold the pipe open
                selector.register(end, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                if now >= next_look:
                    clock.look()
                    next_look = now + min(_TICK_S, max(0.01, timeout_s - clock.counted_s))
                    if stop is None and (stop := self._must_stop(process.pid, clock, timeout_s)):
                        stopped_at = now
                    if stop:
                        kill_group(process)
                        self._end_everything(process, others)
                    if stop and now > stopped_at + _PATIENCE:
                        return stop  # a process that even SIGKILL does not end yet: the end is verified by the caller
                ready = {key.fileobj for key, _ in selector.select(next_look - now)}
                if end in ready:
                    selector.unregister(end)
                    self._end_everything(process, others)
                if process.stdout in ready:
                    data = os.read(process.stdout.fileno(), 1 << 16)
                    if not data:
                        return stop
                    collector.add(data)

    def _must_stop(self, pid: int, clock: CountedTime, timeout_s: float) -> Stop | None:
        assert self._quota is not None
        if clock.counted_s >= timeout_s or clock.wall_s >= _PATIENCE * timeout_s:
            return Stop.TIME
        if disk_is_short(self.work):
            return Stop.DISK
        return Stop.QUOTA if self._quota.exceeded(descendants(pid)) else None

    def _end(self, process: subprocess.Popen[bytes], status: int, others: set[int]) -> tuple[bool, int | None, int | None]:
        """Whether the command was let in, its exit code (None: the boundary did not report one), a process that is still there (None: none)."""
        assert self._boundary is not None
        process.wait()
        report = read_status(status)
        has_begun = ENTERED in report
        if not self._boundary.reports:
            kill_group(process)
            code = process.returncode
            return has_begun, (code if code >= 0 else 128 - code), self._end_everything(process, others)
        init = report.get("child-pid")
        return has_begun, report.get("exit-code"), init if init and not is_gone(init, _END_S) else None

    def _end_everything(self, process: subprocess.Popen[bytes], others: set[int]) -> int | None:
        """End what a command without a pid namespace left behind. A process that will not die, or None."""
        assert self._boundary is not None
        if self._boundary.reports:
            return None
        if self._group and not self._group.kill(_END_S):
            return min(self._group.members(), default=None)
        return end_orphans(others | {process.pid}, _END_S)


@contextlib.contextmanager
def _end_of(pid: int) -> Iterator[int]:
    """A descriptor that becomes readable when a child ends."""
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _memory_file(content: bytes) -> int:
    """An open file that holds `content`, to be read from its start."""
    descriptor = os.memfd_create("seccomp", 0)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def check_isolation(settings: SandboxPhase, wheels: Path | None = None) -> None:
    """Open a sandbox and close it again, before any job needs one. SandboxRefused says what does not hold, and what to do."""
    if settings.network is Network.INDEX and not (wheels and wheels.is_dir()):
        raise SandboxRefused(
            f"sandbox.network: index needs a folder of wheels, and {wheels} is none. Make it with `make environment`, name another in RUBRICS_WHEELS, or set "
            "sandbox.network: none."
        )
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-") as folder:
        data = Path(folder, "data")
        data.mkdir()
        with Sandbox(settings, Limits(), Path(folder, "work"), data, wheels):
            pass


__all__ = ["CommandResult", "DiskReserve", "Output", "Sandbox", "SandboxDied", "SandboxRefused", "check_isolation"]
