"""The last step before an agent's command inside a container: give up everything that it may not have, then become the command.

Run as a program, with the standard library alone: python -I -S launch.py SETTINGS COMMAND...; SETTINGS is a JSON file (see `pod`). What the
kernel cannot enforce is an error, exit code 125, before the command starts.
"""

import ctypes
import json
import os
import resource
import struct
import sys

FAILED = 125
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # Landlock's system calls have the same numbers on every architecture
_SET_DEATH_SIGNAL, _SET_NO_NEW_PRIVILEGES, _SET_SECCOMP = 1, 38, 22
_KILL, _FILTER, _PATH_BENEATH, _ABI = 9, 2, 1, 1

# Access rights of Landlock (include/uapi/linux/landlock.h) by the version of the interface that brought them.
_FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2  # execute, write, read
_ALL_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_LIST = 1 << 3
_READ = 1 << 0 | 1 << 2 | _LIST  # execute, read a file, list a folder
_SCOPES = {6: 1 << 0 | 1 << 1}  # abstract sockets and signals stay inside

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_abi() -> int:
    """The version of the kernel's Landlock, 0 where it has none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _ABI)))


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def restrict_files(listable: list[str], readable: list[str], writable: list[str]) -> None:
    """From now on this process and its children reach only these files and folders, and signal only each other.

    A right holds for everything below a folder, so a listable one shows names alone.
    """
    abi = landlock_abi()
    rights = sum(bits for version, bits in _ALL_RIGHTS.items() if abi >= version)
    scopes = sum(bits for version, bits in _SCOPES.items() if abi >= version)
    attributes = struct.pack("=QQQ", rights, 0, scopes)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = _checked(_libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0), "landlock_create_ruleset")
    for paths, granted in ((listable, _LIST), (readable, _READ), (writable, rights)):
        for path in paths:
            _allow(ruleset, path, granted, rights)
    _checked(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, granted: int, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):  # noqa: PTH112, this program knows no pathlib: it starts for every command
        granted &= _FILE_RIGHTS | 1 << 14 | 1 << 15
    if granted & rights:
        _add_rule(ruleset, path, granted & rights, handle)
    os.close(handle)


def _add_rule(ruleset: int, path: str, granted: int, handle: int) -> None:
    _checked(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", granted, handle), 0), f"landlock_add_rule {path}")


def _filter_calls(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    described = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    _checked(_libc.prctl(_SET_SECCOMP, _FILTER, described, 0, 0), "seccomp filter")


def main(settings_file: str, command: list[str]) -> None:
    with open(settings_file, encoding="utf-8") as file:
        settings = json.load(file)
    if settings["uid"] != os.getuid():
        os.setgroups([])
        os.setresgid(settings["gid"], settings["gid"], settings["gid"])
        os.setresuid(settings["uid"], settings["uid"], settings["uid"])
    _checked(_libc.prctl(_SET_DEATH_SIGNAL, _KILL, 0, 0, 0), "death signal")  # after the change of user, which clears it
    _checked(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    restrict_files(settings["listable"], settings["readable"], settings["writable"])
    for name, value in settings["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    _filter_calls(bytes.fromhex(settings["filter"]))
    os.execvp(command[0], command)


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2:])
    except (OSError, ValueError) as error:
        print(f"The command was not started: {error}", file=sys.stderr)
        sys.exit(FAILED)
