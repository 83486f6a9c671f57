"""A filter of system calls: no new user namespaces, no kernel keyrings or tracing, and without a network no sockets but local ones.

A command that could make a user namespace would hold every capability inside it, and with them a far larger part of the kernel to attack.
The filter is classic BPF over `struct seccomp_data` (Linux, Documentation/userspace-api/seccomp_filter.rst): it is built here, because all
that it needs is a dozen comparisons.
"""

from __future__ import annotations

import errno
import platform
import struct

_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets
_NEW_USER_NAMESPACE = 0x10000000
_UNIX_SOCKETS = 1
_X32 = 0x40000000  # system calls of x86-64's 32-bit pointers form: another way to the same calls

# machine -> audit architecture, and the numbers of its system calls
_MACHINES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {"clone": 56, "unshare": 272, "clone3": 435, "socket": 41, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321}
        | {"perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "kexec_load": 246, "process_vm_writev": 311},
    ),
    "aarch64": (
        0xC00000B7,
        {"clone": 220, "unshare": 97, "clone3": 435, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280}
        | {"perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425, "kexec_load": 104, "process_vm_writev": 271},
    ),
}
_DENIED = ("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "kexec_load", "process_vm_writev")


class UnknownMachine(RuntimeError):
    """No filter is known for this processor."""


def filter_program(network: bool, machine: str | None = None) -> bytes:
    """The filter as an array of `struct sock_filter`, for bubblewrap's `--seccomp` or for prctl. UnknownMachine names the processor."""
    name = machine or platform.machine()
    if name not in _MACHINES:
        raise UnknownMachine(name)
    architecture, numbers = _MACHINES[name]
    deny, absent = _return(_ERRNO | errno.EPERM), _return(_ERRNO | errno.ENOSYS)
    program = [_load(_ARCHITECTURE), *_unless_equal(architecture, deny), _load(_NUMBER)]
    if name == "x86_64":
        program += [_jump(_AT_LEAST, _X32, 0, 1), deny]
    for call in _DENIED:
        program += [_jump(_EQUAL, numbers[call], 0, 1), deny]
    program += [_jump(_EQUAL, numbers["clone3"], 0, 1), absent]  # its flags lie in memory: the C library falls back to clone
    for call in ("clone", "unshare"):
        program += [
            _jump(_EQUAL, numbers[call], 0, 4),
            _load(_FIRST_ARGUMENT),
            _jump(_BITS, _NEW_USER_NAMESPACE, 0, 1),
            deny,
            _return(_ALLOW),
        ]
    if not network:
        program += [
            _jump(_EQUAL, numbers["socket"], 0, 4),
            _load(_FIRST_ARGUMENT),
            _jump(_EQUAL, _UNIX_SOCKETS, 1, 0),
            deny,
            _return(_ALLOW),
        ]
    return b"".join([*program, _return(_ALLOW)])


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return _instruction(code, value, if_true, if_false)


def _return(value: int) -> bytes:
    return _instruction(_RETURN, value)


def _unless_equal(value: int, otherwise: bytes) -> list[bytes]:
    return [_jump(_EQUAL, value, 1, 0), otherwise]
