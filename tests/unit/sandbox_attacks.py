"""Attacks on a sandbox from inside. As a program it tries them all and prints which of them the sandbox held against.

python sandbox_attacks.py KIND FOLDER: FOLDER is an empty folder of the user that runs it. Prints a JSON object with what came of each
attack; an empty text means that the sandbox held. Needs ANTHROPIC_API_KEY in its environment, a key that opens nothing. What each kind cannot hold is a table in docs/sandbox.md, and the tests compare the two.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubrics_gym.harness.sandbox import CommandResult, Sandbox
from rubrics_gym.harness.sandbox.usage import usage
from rubrics_gym.harness.world import WorkFolder, regular_files
from rubrics_gym.settings.study import Limits, Network, SandboxKind, SandboxPhase

LIMITS = Limits(memory_mb=500, processes=60, file_mb=5, disk_mb=20, disk_files=2000, output_chars=2000)
SECRET = "the-answer-is-42"
MARK = f"{700_000 + os.getpid()}.25"  # a duration of `sleep` that nothing else has
_KEY = "sk-ant-not-a-real-key"  # in ANTHROPIC_API_KEY of the process that runs this


@dataclass
class Target:
    """What there is to attack: a sandbox, and around it what a command must not reach."""

    sandbox: Sandbox
    outside: Path
    port: int
    received: list[bytes] = field(default_factory=list)

    def run(self, command: str, seconds: float = 20) -> CommandResult:
        return self.sandbox.run(command, seconds, self.outside / "output.txt")

    def text(self, command: str, seconds: float = 20) -> str:
        return self.run(command, seconds).output.text


Attack = Callable[[Target], str]
ATTACKS: dict[str, Attack] = {}


def attack(name: str) -> Callable[[Attack], Attack]:
    def register(function: Attack) -> Attack:
        ATTACKS[name] = function
        return function

    return register


def _reads(target: Target, path: Path | str) -> str:
    text = target.text(f"cat {path}; cp {path} stolen && cat stolen; python -c \"print(open('{path}').read())\"; rm -f stolen")
    return f"read {path}" if SECRET in text or "root:" in text else ""


@attack("read the private bundle")
def _private(target: Target) -> str:
    return _reads(target, target.outside / "private.tar.gz")


@attack("read another episode's files")
def _other_episode(target: Target) -> str:
    return _reads(target, target.outside / "other_episode" / "final.py")


@attack("read the store")
def _store(target: Target) -> str:
    return _reads(target, target.outside / "store" / "responses.json")


@attack("read /etc/shadow")
def _shadow(target: Target) -> str:
    return _reads(target, "/etc/shadow")


@attack("read keys from its environment")
def _environment(target: Target) -> str:
    return "a key is in the environment" if _KEY in target.text("env; export -p; cat /proc/self/environ") else ""


@attack("read keys from other processes")
def _other_environments(target: Target) -> str:
    text = target.text("for f in /proc/[0-9]*/environ; do tr '\\0' '\\n' < $f | grep -a ANTHROPIC; done 2>/dev/null; true")
    return "a key was read from another process" if _KEY in text else ""


@attack("reach loopback")
def _loopback(target: Target) -> str:
    target.run(f"exec 3<>/dev/tcp/127.0.0.1/{target.port} && echo loopback >&3", 5)
    return "reached" if _arrived(target, b"loopback") else ""


@attack("reach an address of the machine")
def _address(target: Target) -> str:
    target.run(f"exec 3<>/dev/tcp/{_own_address()}/{target.port} && echo address >&3", 5)
    return "reached" if _arrived(target, b"address") else ""


@attack("send a datagram")
def _datagram(target: Target) -> str:
    program = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'datagram', ('127.0.0.1', {target.port}))"
    target.run(f'python -c "{program}"', 10)
    return "received" if _arrived(target, b"datagram") else ""


@attack("reach an abstract socket")
def _abstract(target: Target) -> str:
    program = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + 'rubrics-{target.port}'); s.send(b'abstract')"
    target.run(f'python -c "{program}"', 10)
    return "reached" if _arrived(target, b"abstract") else ""


def _arrived(target: Target, word: bytes) -> bool:
    time.sleep(0.1)
    return any(word in data for data in target.received)


@attack("fork bomb")
def _fork_bomb(target: Target) -> str:
    result = target.run("for i in $(seq 300); do sleep 30 & done; ls /proc/self/task > /dev/null; jobs -r | wc -l", 10)
    started = [int(line) for line in result.output.text.split() if line.isdigit()]
    ended = "" if target.text("echo fine", 10).endswith("fine\n") else "nothing runs any more"
    return ended or (f"{started[-1]} processes at a time" if result.exit_code == 0 and started and started[-1] > 250 else "")


@attack("fill the disk")
def _fill_disk(target: Target) -> str:
    result = target.run("i=0; while :; do i=$((i+1)); head -c 3000000 /dev/zero > fill$i; done", 20)
    size = usage(target.sandbox.work).bytes / 1e6
    target.run("rm -f fill*")
    return "" if _killed_for_quota(result) else f"{size:.0f} MB, exit code {result.exit_code}"


def _killed_for_quota(result: CommandResult) -> bool:
    return result.exit_code == 137 and not result.timed_out and "quota of the work folder" in result.output.text


@attack("fill the disk with a deleted file")
def _fill_deleted(target: Target) -> str:
    program = "import os, time\nfor i in range(400):\n f = os.open(str(i), os.O_CREAT | os.O_WRONLY); os.unlink(str(i)); os.write(f, bytes(1000000)); time.sleep(0.02)"
    result = target.run(f"python -c '{program}'", 20)
    return "" if _killed_for_quota(result) else f"exit code {result.exit_code}, timed out {result.timed_out}"


@attack("write a large file")
def _large_file(target: Target) -> str:
    result = target.run("head -c 9000000 /dev/zero > large; ls -l large")
    size = (target.sandbox.work / "large").stat().st_size
    target.run("rm large")
    return "" if size <= LIMITS.file_mb * 1024 * 1024 else f"{size} bytes, exit code {result.exit_code}"


@attack("fill inodes")
def _fill_inodes(target: Target) -> str:
    result = target.run("mkdir many; cd many; i=0; while :; do i=$((i+1)); : > $i; done", 20)
    count = usage(target.sandbox.work).files
    target.run("rm -rf many")
    return "" if _killed_for_quota(result) else f"{count} files, exit code {result.exit_code}"


@attack("fill the disk with holes")
def _holes(target: Target) -> str:
    result = target.run("for i in $(seq 1000); do truncate -s 4000000 hole$i; done; sleep 2", 20)  # the harness would read 4 GB
    target.run("rm -f hole*")
    return "" if _killed_for_quota(result) else f"exit code {result.exit_code}"


@attack("hide files too deep to be found")
def _deep(target: Target) -> str:
    nest = "import os\nfor i in range(60):\n os.mkdir('d' * 100); os.chdir('d' * 100)\nopen('final.py', 'w').write('x')"
    result = target.run(f'python -c "{nest}"', 20)
    for look in (lambda: WorkFolder(target.sandbox.work).changes(1), lambda: list(regular_files(target.sandbox.work))):
        look()  # it must not stumble
    target.run("rm -rf d*")
    return "" if _killed_for_quota(result) else f"exit code {result.exit_code}"


@attack("fill memory in one process")
def _memory(target: Target) -> str:
    result = target.run("python -c 'x = bytearray(10**9)'")
    return "" if result.exit_code != 0 and result.out_of_memory else f"exit code {result.exit_code}"


@attack("fill memory with many processes")
def _memory_of_many(target: Target) -> str:
    program = "import time; x = bytearray(2 * 10**8); x[::4096] = bytes(len(x[::4096])); time.sleep(2); print(1)"
    result = target.run(f"for i in 1 2 3 4 5 6; do python -c '{program}' & done; wait", 25)
    return "all of it was granted" if result.output.text.split().count("1") == 6 else ""


@attack("fill shared memory")
def _shared_memory(target: Target) -> str:
    name = f"attack-{os.getpid()}"  # no other run's: who truncates and fills a segment of another's takes over what it is charged
    result = target.run(f"for i in $(seq 200); do head -c 3000000 /dev/zero > /dev/shm/{name}-$i || exit 9; done", 20)
    left = list(Path("/dev/shm").glob(f"{name}-*"))
    return "600 MB were granted" if result.exit_code == 0 else f"{len(left)} segments left" if left else ""


@attack("write 10 GB to its output")
def _flood(target: Target) -> str:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = target.run("head -c 10000000000 /dev/zero", 4)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    kept = (target.outside / "output.txt").stat().st_size
    return "" if grown < 50 and kept <= 4_000_000 and len(result.output.text) < 2500 else f"{grown:.0f} MB of memory, {kept} bytes kept"


@attack("ignore SIGTERM")
def _ignore_term(target: Target) -> str:
    began = time.monotonic()
    result = target.run(f"trap '' TERM INT HUP QUIT; sleep {MARK}; sleep {MARK}", 0.5)
    late = time.monotonic() - began > 15
    return "" if result.timed_out and not late and not _left_over() else f"timed out {result.timed_out}, left over {_left_over()}"


@attack("outlive the command as a daemon")
def _daemon(target: Target) -> str:
    daemon = f"import os, time\nos.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)\nos.execvp('sleep', ['sleep', '{MARK}'])"
    target.run(f'setsid nohup sleep {MARK} >/dev/null 2>&1 & disown; python -c "{daemon}" >/dev/null 2>&1; echo', 15)
    return f"processes {_left_over()} live on" if _left_over() else ""


def _left_over() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(b"sleep\0" + MARK.encode()):
                found.append(int(entry.name))
    return found


@attack("write outside its folder")
def _write_outside(target: Target) -> str:
    victim = target.outside / "victim.txt"
    target.run(f"echo changed > {victim}; echo changed > /usr/rubrics-attack; echo changed > data/train.csv; rm -rf data; mv {victim} .")
    changed = not victim.exists() or victim.read_text() != SECRET or (target.sandbox.data / "train.csv").read_text() != "a\n1\n"
    written = Path("/usr/rubrics-attack")
    if written.exists():
        written.unlink()
        changed = True
    victim.write_text(SECRET)
    return "a file outside was changed" if changed else ""


@attack("write through a symbolic link")
def _symbolic_link(target: Target) -> str:
    victim = target.outside / "victim.txt"
    target.run(f"ln -s {victim} link.txt; echo changed > link.txt; ln -s {target.outside} folder; echo changed > folder/victim.txt")
    changed = victim.read_text() != SECRET
    victim.write_text(SECRET)
    target.run("rm -f link.txt folder")
    return "a file outside was changed" if changed else ""


@attack("have the harness read a link")
def _link_for_the_harness(target: Target) -> str:
    target.run(
        f"ln -s {target.outside}/victim.txt leak.py; ln -s {target.outside} leak; mkfifo pipe.py; ln {target.outside}/victim.txt hard.py"
    )
    seen = "".join(event.text or "" for event in WorkFolder(target.sandbox.work).changes(1))
    hard = (target.sandbox.work / "hard.py").exists()
    target.run("rm -f leak.py leak pipe.py hard.py")
    return "the harness read it" if SECRET in seen or hard else ""


@attack("make a user namespace")
def _user_namespace(target: Target) -> str:
    program = "import ctypes; c = ctypes.CDLL(None); print('made' if c.unshare(0x10000000) == 0 else 'refused')"
    return "made" if "made" in target.text(f'unshare -Ur echo made; python -c "{program}"') else ""


@attack("signal the recorder")
def _signal(target: Target) -> str:
    return "it can be signalled" if "yes" in target.text(f"kill -0 {os.getpid()} && echo yes") else ""


@attack("become root")
def _root(target: Target) -> str:
    text = target.text(
        "grep CapEff /proc/self/status; su -c id; sudo -n id; chown 0:0 . && echo chowned; mount -t tmpfs none . && echo mounted && umount -l ."
    )
    return text[-200:] if "chowned" in text or "mounted" in text or "CapEff:\t0000000000000000" not in text else ""


# ---------------------------------------------------------------- around the attacks


def _own_address() -> str:
    """An address of this machine that is not loopback, where it has one; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))
        address = probe.getsockname()[0]
    return "127.0.0.1" if address == "0.0.0.0" else str(address)


@contextlib.contextmanager
def _listening(received: list[bytes]) -> Iterator[int]:
    """Servers that a command must not reach: TCP and UDP on every address of the machine, and an abstract socket."""
    tcp = socket.create_server(("0.0.0.0", 0))
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("0.0.0.0", port))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0rubrics-{port}")
    abstract.listen()

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                peer.settimeout(2)
                with contextlib.suppress(OSError):
                    received.append(peer.recv(100))

    def receive() -> None:
        with contextlib.suppress(OSError):
            while True:
                received.append(udp.recv(100))

    for job in (lambda: serve(tcp), lambda: serve(abstract), receive):
        threading.Thread(target=job, daemon=True).start()
    try:
        yield port
    finally:
        for server in (tcp, udp, abstract):
            server.close()


def results(kind: str, folder: Path) -> dict[str, Any]:
    """What came of each attack on one kind of sandbox, as the user that runs this, and what a control group limited."""
    outside = folder / "outside"
    for place in ("store", "other_episode"):
        (outside / place).mkdir(parents=True)
    for file in ("private.tar.gz", "store/responses.json", "other_episode/final.py", "victim.txt"):
        (outside / file).write_text(SECRET)
        (outside / file).chmod(0o666)
    (folder / "data").mkdir()
    (folder / "data" / "train.csv").write_text("a\n1\n")
    received: list[bytes] = []
    settings = SandboxPhase(kind=SandboxKind(kind), packages=("pip",), network=Network.NONE)
    with _listening(received) as port, Sandbox(settings, LIMITS, folder / "work", folder / "data") as sandbox:
        target = Target(sandbox, outside, port, received)
        return {"controllers": sandbox.controllers, "results": {name: run(target) for name, run in ATTACKS.items()}}


if __name__ == "__main__":
    if sys.argv[1] == SandboxKind.POD and len(sys.argv) > 3:  # where a test lets /workspace be
        from rubrics_gym.harness.sandbox import pod

        pod.WORKSPACE = sys.argv[3]
    print(json.dumps(results(sys.argv[1], Path(sys.argv[2]))))
