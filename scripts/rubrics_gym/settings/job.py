"""The frame of every rule script: it dies with its parent, logs to the rule's log, reads typed settings, and fails in one paragraph."""

from __future__ import annotations

import errno
import logging
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from rubrics_gym.settings.process import die_with_parent
from rubrics_gym.settings.study import Settings

S = TypeVar("S", bound=Settings)


def _logger(path: str, rule: str) -> logging.Logger:
    """The rule's logger. What the library says on the way (retries, batches, unresolved requests) goes to the same file."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in (rule, "rubrics_gym"):
        logging.getLogger(name).setLevel(logging.INFO)
        logging.getLogger(name).addHandler(handler)
    return logging.getLogger(rule)


def _paragraph(rule: str, wildcards: str, error: BaseException) -> str:
    what = f"{rule} ({wildcards})" if wildcards else rule
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"{what}: the disk is full ({error.filename2 or error.filename or 'while writing'}). Free some space and run the same command again; nothing half-written was kept."
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES):
        return f"{what}: {error.filename} cannot be written ({error.strerror}). Make the folder writable, or choose another with --config 'pathvars={{results: FOLDER}}'."
    message = " ".join(str(error).split())
    return f"{what}: {message or type(error).__name__}"


def _remove(output: Path) -> None:
    """Remove a file or a folder. What cannot be removed stays: the error that is being reported must not be hidden by another one."""
    with suppress(OSError):
        if output.is_dir():
            shutil.rmtree(output, ignore_errors=True)
        else:
            output.unlink(missing_ok=True)


@contextmanager
def job(snakemake: Any, settings: type[S]) -> Iterator[tuple[S, logging.Logger]]:
    """Run the body of a rule script. `settings` is the slice's model; the log goes to the rule's log file.

    On an error the outputs of the job are removed (whoever wrote them), the traceback goes to the log, and one paragraph to stderr, with the
    notes of the exception below it.
    """
    die_with_parent()
    logging.raiseExceptions = False  # on a full disk the log cannot be written either; the paragraph on stderr must do
    wildcards = ", ".join(f"{key}={value}" for key, value in snakemake.wildcards.items())
    try:
        log = _logger(snakemake.log[0], snakemake.rule)
        yield settings.model_validate_json(snakemake.params.settings), log
    except Exception as error:
        for output in snakemake.output:
            _remove(Path(output))
        paragraph = _paragraph(snakemake.rule, wildcards, error)
        with suppress(NameError, OSError):  # without a log to write to, the paragraph on stderr must do
            log.error("%s\n%s", paragraph, traceback.format_exc())
        notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", []))
        print(f"{paragraph} (log: {snakemake.log[0]}){notes}", file=sys.stderr)
        sys.exit(1)
