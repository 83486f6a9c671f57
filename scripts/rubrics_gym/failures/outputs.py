"""What a program printed, made readable: without colours, progress bars and worker prefixes, and of a very long output the parts that tell.

Every step takes time in proportion to the length, whatever the text: outputs are written by programs that nobody checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

OUTPUT_CHARS = 100_000
LINE_CHARS = 4000
HEAD_CHARS, TAIL_CHARS = 20_000, 60_000  # of an output that is longer than OUTPUT_CHARS
WINDOW_CHARS = 6000  # around each anchor between head and tail
ANCHORS = (
    "Traceback (most recent call last)",
    "Error: ",
    "Exception: ",
    "Killed",
    "out of memory",
    "No space left",
    "timed out",
    ": error: ",
)

ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")
BLANK_LINES = re.compile(r"\n{3,}")
# Prefixes that launchers put before each line of a worker: [rank0]:, [default0]:, [1,0]<stderr>:, (RayWorker pid=7, ip=…), worker-1  | .
WORKER_PREFIX = re.compile(
    r"^(?:\[(?:rank|default|worker|node)[ _-]?\d+\]:|\[\d+,\d+\]<std\w+>:|\((?:\w[\w.]* )?pid=\d+[^)\n]{0,80}\)|[\w.-]{1,60} +\| (?=Traceback|  File|[A-Z]\w*Error)|\d{1,4}: (?=Traceback|  File|    |[A-Z]\w*Error)) ?",
    re.MULTILINE,
)
PREFIX_SIGNS = ("[rank", "[default", "[worker", "[node", "<std", "pid=", " | ", ": Traceback")


def clean(output: str) -> str:
    """Output without colours and worker prefixes; a carriage return starts a new line, because progress bars hide errors behind it.

    Of an output of more than 100,000 characters the beginning, the end and the surroundings of its first and last error words are kept, of
    a line of more than 4,000 its ends.
    """
    text = output if len(output) <= OUTPUT_CHARS else excerpt(output)
    if "\x1b" in text:
        text = ANSI.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "(most recent call last):\\n" in text:  # a log that shows line ends as two characters
        text = text.replace("\\n", "\n")
    if "\n\n\n" in text:
        text = BLANK_LINES.sub("\n\n", text)
    if len(text) > LINE_CHARS:
        text = _short_lines(text)
    if any(sign in text for sign in PREFIX_SIGNS):
        text = _by_worker(text)
    return text


def _by_worker(text: str) -> str:
    """The lines of each worker together and without their prefix, where the worker's first line stands: workers write in between each other."""
    blocks: dict[str, list[str]] = {}
    kept: list[list[str]] = []
    for line in text.split("\n"):
        match = WORKER_PREFIX.match(line)
        if match is None:
            kept.append([line])
            continue
        if match[0] not in blocks:
            blocks[match[0]] = []
            kept.append(blocks[match[0]])
        blocks[match[0]].append(line[match.end() :])
    return "\n".join(line for block in kept for line in block)


def excerpt(output: str) -> str:
    """Head, tail, and what stands around the first and the last of each anchor between them, in the order of the output."""
    end = len(output) - TAIL_CHARS
    spans = [(0, HEAD_CHARS), (end, len(output))]
    for anchor in ANCHORS:
        for place in (output.find(anchor, HEAD_CHARS, end), output.rfind(anchor, HEAD_CHARS, end)):
            if place >= 0:
                spans.append((max(0, place - WINDOW_CHARS), min(len(output), place + WINDOW_CHARS)))
    return "\n...\n".join(output[start:stop] for start, stop in _joined(spans))


def _joined(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start, stop = 0, 0
    for left, right in sorted(spans):
        if left > stop:
            yield start, stop
            start = left
        stop = max(stop, right)
    yield start, stop


def _short_lines(text: str) -> str:
    lines = text.split("\n")
    if max(map(len, lines)) <= LINE_CHARS:
        return text
    half = LINE_CHARS // 2
    return "\n".join(line if len(line) <= LINE_CHARS else f"{line[:half]} ... {line[-half:]}" for line in lines)
