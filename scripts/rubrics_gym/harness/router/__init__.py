"""What a command line would do: each of its parts is code_run, install, inspect, edit, submit or other.

The line is read as shell, and every simple command in it is looked at, through wrappers, substitutions and nested shells. A program
that is not known to be harmless runs code: taking an inspection for code costs a prediction, taking code for an inspection runs it.
"""

from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, INSTALL, OTHER, SUBMIT
from rubrics_gym.harness.router.logs import kind_of
from rubrics_gym.harness.router.parts import Part, Piece, classify

__all__ = ["CODE_RUN", "EDIT", "INSPECT", "INSTALL", "OTHER", "SUBMIT", "Part", "Piece", "classify", "kind_of"]
