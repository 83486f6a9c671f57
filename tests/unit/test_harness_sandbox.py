"""The sandbox: what works inside, and what attacks on it come to."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rubrics_gym.harness.packages import exposed
from rubrics_gym.harness.sandbox import DiskReserve, Sandbox, SandboxDied, SandboxRefused
from rubrics_gym.settings.study import Limits, SandboxKind
from rubrics_gym.settings.study import Sandbox as Settings

LIMITS = Limits(memory_mb=2000, processes=48, file_mb=5, output_chars=2000)
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.csv").write_text("a,b\n1,2\n")
    (tmp_path / "wheels").mkdir()
    (tmp_path / "private.tar.gz").write_text("answers")
    try:
        with Sandbox(Settings(), LIMITS, tmp_path / "work", tmp_path / "data", tmp_path / "wheels") as opened:
            yield opened
    except SandboxRefused as refused:
        pytest.skip(str(refused))


pytestmark = needs_bwrap


def test_the_agents_world(sandbox: Sandbox) -> None:
    result = sandbox.run(
        "pwd; echo $HOME; whoami; cat data/train.csv; command -v python python3 pip; echo $OMP_NUM_THREADS $MPLBACKEND $PYTHONHASHSEED", 10
    )
    assert result.exit_code == 0
    assert result.output.text.splitlines() == [
        "/workspace",
        "/workspace",
        "agent",
        "a,b",
        "1,2",
        "/opt/control/bin/python",
        "/opt/control/bin/python3",
        "/opt/control/bin/pip",
        "1 Agg 0",
    ]


def test_allowed_packages_work_and_no_other_is_there(sandbox: Sandbox) -> None:
    """Packages that carry the tables of tasks would carry their answers."""
    program = """
import importlib.util, numpy, pandas, scipy.stats, sklearn.datasets
for name in ["vega_datasets", "statsmodels", "palmerpenguins", "causaldata", "ISLP", "pydantic", "rubrics_gym"]:
    assert importlib.util.find_spec(name) is None, name
for load in [sklearn.datasets.load_iris, sklearn.datasets.load_wine, sklearn.datasets.load_diabetes, sklearn.datasets.load_digits]:
    try:
        load()
    except FileNotFoundError:
        continue
    raise SystemExit(f"{load} found its table")
print(sklearn.datasets.make_blobs(3)[0].shape)
"""
    (sandbox.work / "probe.py").write_text(program)
    result = sandbox.run("python probe.py && pip list --format=freeze", 60)
    assert result.exit_code == 0, result.output.text
    lines = result.output.text.splitlines()
    assert lines[0] == "(3, 2)"
    assert {line.partition("==")[0].lower() for line in lines[1:]} == set(exposed(Settings().packages).versions)


def test_no_table_of_an_allowed_package_is_readable(sandbox: Sandbox) -> None:
    result = sandbox.run(
        "find / -path /proc -prune -o \\( -name '*.csv*' -o -name '*.arff*' -o -name '*.json.gz' \\) -path '*dataset*' -print 2>/dev/null",
        30,
    )
    assert result.output.text == ""


def test_files_and_installs_stay_between_commands(sandbox: Sandbox) -> None:
    sandbox.run("echo 1 > a; echo 2 > /tmp/b", 10)
    assert sandbox.run("cat a /tmp/b", 10).output.text == "1\n2\n"


def test_time_limit_kills_everything(sandbox: Sandbox) -> None:
    result = sandbox.run("echo before; trap '' TERM INT; (setsid sleep 987654 &) ; sleep 987654", 0.5)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.output.text == "before\n"
    assert not _running("987654")


def test_a_daemon_does_not_outlive_its_command(sandbox: Sandbox) -> None:
    result = sandbox.run("setsid nohup sleep 876543 >/dev/null 2>&1 & disown; echo started", 10)
    assert result.exit_code == 0
    assert not _running("876543")


def _processes(start: bytes) -> list[int]:
    """Process ids on the host whose command line starts so."""

    def command(pid: str) -> bytes:
        try:
            return Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            return b""

    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and command(entry.name).startswith(start)]


def _running(mark: str) -> bool:
    return bool(_processes(b"sleep\0" + mark.encode()))


def _wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_dead_sandbox_is_not_output(sandbox: Sandbox) -> None:
    def kill() -> None:
        assert _wait_for(lambda: _running("765432"))
        for pid in _processes(b"bwrap\0"):
            if str(sandbox.work).encode() in Path("/proc", str(pid), "cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(SandboxDied):
        sandbox.run("sleep 765432", 30)
    killer.join()
    assert not _running("765432")


@pytest.mark.parametrize("kind", ["bubblewrap", "unsafe"])
def test_commands_die_with_the_process_that_runs_them(tmp_path: Path, kind: str) -> None:
    mark = f"65{os.getpid()}{len(kind)}"
    program = f"""
from pathlib import Path
from rubrics_gym.harness.sandbox import Sandbox
from rubrics_gym.settings.study import Limits, Sandbox as Settings
folder = Path({str(tmp_path)!r})
with Sandbox(Settings(kind={kind!r}), Limits(), folder / "work", folder) as sandbox:
    sandbox.run("sleep {mark}", 600)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)
    assert _wait_for(lambda: _running(mark) or process.poll() is not None)
    process.kill()
    process.wait()
    assert _wait_for(lambda: not _running(mark))


def test_a_command_that_fills_the_disk_is_a_loss(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubrics_gym.harness.sandbox.usage._RESERVE", 1 << 60)
    with pytest.raises(DiskReserve, match="Free some space"):
        sandbox.run("sleep 30", 10)


def test_memory_limit_is_told_from_other_ends(sandbox: Sandbox) -> None:
    full = sandbox.run("python -c 'x = bytearray(10**10)'", 20)
    assert (full.exit_code, full.out_of_memory, full.timed_out) == (1, True, False)
    killed = sandbox.run("sh -c 'kill -9 $$'; exit 137", 10)
    assert killed.out_of_memory is ("memory" not in sandbox.controllers)  # a kill that is not ours, if the kernel does not tell
    assert not sandbox.run("python -c 'raise ValueError'", 20).out_of_memory


def test_exit_codes_and_pipefail(sandbox: Sandbox) -> None:
    assert sandbox.run("exit 7", 10).exit_code == 7
    assert sandbox.run("sh -c 'exit 3' | cat", 10).exit_code == 3
    assert sandbox.run("no-such-program", 10).exit_code == 127


def test_output_flood_is_counted_not_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    result = sandbox.run("head -c 50000000 /dev/zero | tr '\\0' x; echo end >&2", 20, tmp_path / "output.txt")
    assert result.output.bytes == 50_000_004
    assert result.output.tail.endswith("xend\n")
    assert len(result.output.text) < 2200
    assert (tmp_path / "output.txt").stat().st_size == 4_000_000


def test_binary_output_becomes_text(sandbox: Sandbox) -> None:
    result = sandbox.run("printf '\\033[31mred\\033[0m \\xff\\x00 10%%\\r20%%\\n'", 10)
    assert result.output.text == "20%\n"
    assert "\x1b" not in sandbox.run("printf '\\033[31mred\\033[0m\\xff'", 10).output.text


def test_a_long_command_line_runs(sandbox: Sandbox) -> None:
    result = sandbox.run(f"cat > f <<'EOF'\n{'x' * 300_000}\nEOF\nwc -c < f", 10)
    assert result.output.text.strip() == "300001"


# ---------------------------------------------------------------- attacks


def test_secrets_of_the_host_are_not_there(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-value")
    result = sandbox.run(
        f"env; cat /etc/shadow /proc/1/environ {tmp_path}/private.tar.gz /root/.bashrc; ls {tmp_path} /work /home; find / -name private.tar.gz 2>/dev/null",
        20,
    )
    assert "sk-secret-value" not in result.output.text
    assert "answers" not in result.output.text
    assert result.exit_code != 0


def test_no_network(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        local = sandbox.run(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached", 10)
    assert "reached" not in local.output.text
    assert "reached" not in sandbox.run("exec 3<>/dev/tcp/1.1.1.1/53 && echo reached", 10).output.text


def test_fork_bomb_is_bounded(sandbox: Sandbox) -> None:
    result = sandbox.run("bomb() { bomb | bomb & }; bomb; sleep 1; echo survived", 2)
    assert result.exit_code != 0 or "fork" in result.output.text
    assert sandbox.run("echo fine", 10).output.text == "fine\n"


def test_file_size_is_bounded(sandbox: Sandbox) -> None:
    result = sandbox.run("head -c 20000000 /dev/zero > big", 10)
    assert result.exit_code != 0
    assert (sandbox.work / "big").stat().st_size <= 5 * 1024 * 1024


def test_shared_memory_is_bounded(sandbox: Sandbox) -> None:
    result = sandbox.run("for i in $(seq 100); do head -c 5000000 /dev/zero > /dev/shm/$i || exit 9; done", 20)
    assert result.exit_code == 9


@pytest.mark.parametrize(
    "path", ["/usr/x", "/opt/site/numpy/x", "/opt/control/bin/python", "/etc/x", "data/train.csv", "data/x", "/x", "/wheels/x"]
)
def test_nothing_is_writable_but_the_work_folder(sandbox: Sandbox, path: str) -> None:
    assert sandbox.run(f"echo x > {path}", 10).exit_code != 0


def test_the_data_cannot_be_moved_away(sandbox: Sandbox) -> None:
    assert sandbox.run("mv data data2 || rm -rf data", 10).exit_code != 0
    assert (sandbox.data / "train.csv").read_text() == "a,b\n1,2\n"


def test_the_user_is_nobody(sandbox: Sandbox) -> None:
    result = sandbox.run(
        "grep -E 'CapEff|NoNewPrivs' /proc/self/status; chown root:root . ; mount -t tmpfs none /tmp; kill -9 1; echo still here", 10
    )
    assert "CapEff:\t0000000000000000" in result.output.text
    assert "still here" in result.output.text


def test_nothing_of_the_harness_can_be_killed(sandbox: Sandbox) -> None:
    result = sandbox.run(f"kill -9 {os.getpid()} {os.getppid()}; ls /proc | grep -cE '^[0-9]+$'", 10)
    assert int(result.output.text.splitlines()[-1]) < 10  # only its own processes are there


def test_a_nested_user_namespace_gains_nothing(sandbox: Sandbox) -> None:
    result = sandbox.run("unshare -Urm sh -c 'cat /etc/shadow; umount /workspace/data; echo x > /usr/x' && echo gained", 10)
    assert "gained" not in result.output.text


def test_an_ordinary_user_gets_a_sandbox_too() -> None:
    """Root's sandbox has no user namespace; an ordinary user's has. Only root can try both."""
    python = Path("/usr/bin/python3")
    if os.getuid() != 0 or not python.exists() or f"{sys.version_info.major}.{sys.version_info.minor}" not in python.resolve().name:
        pytest.skip("needs root and a system Python of the same version")
    program = """
import sys
from pathlib import Path
from rubrics_gym.harness.sandbox import Sandbox
from rubrics_gym.settings.study import Limits, Sandbox as Settings
folder = Path(sys.argv[1])
with Sandbox(Settings(packages=("numpy", "pip")), Limits(), folder / "work", folder / "data") as sandbox:
    print(sandbox.run("python -c 'import numpy; print(numpy.ones(2))'; unshare -Ur id || cat /etc/shadow || echo x > /usr/x || echo held", 60).output.text)
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        os.chown(folder, 65534, 65534)
        user = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "env",
            f"TMPDIR={folder}",
            f"PYTHONPATH={os.pathsep.join(sys.path[1:])}",
        ]
        done = subprocess.run([*user, str(python), "-c", program, name], capture_output=True, text=True, timeout=120)
    if "SandboxRefused" in done.stderr or "Permission" in done.stderr:
        pytest.skip(done.stderr[-300:])
    assert done.stdout.startswith("[1. 1.]"), done.stderr
    assert "held" in done.stdout


# ---------------------------------------------------------------- refusals, and the kind without isolation


def test_a_missing_tool_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxRefused, match=r"bwrap is not installed.*unsafe"), Sandbox(Settings(), LIMITS, tmp_path / "work", tmp_path):
        pass


def test_a_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="no-such-package"),
        Sandbox(Settings(packages=("no-such-package",)), LIMITS, tmp_path / "work", tmp_path),
    ):
        pass


def test_unsafe_has_limits_but_no_boundary(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("1")
    with Sandbox(Settings(kind=SandboxKind.UNSAFE), LIMITS, tmp_path / "work", tmp_path / "data") as sandbox:
        assert sandbox.run("cat data/a; env | grep -c KEY", 10).output.text == "10\n"
        assert sandbox.run("python -c 'import numpy; x = bytearray(10**10)'", 20).out_of_memory
        begun = time.monotonic()
        assert sandbox.run("sleep 60 & sleep 60", 0.5).timed_out
        assert time.monotonic() - begun < 30
        assert sandbox.run("sleep 60 & exit 4", 30).exit_code == 4
