"""What the arms of a study are to each other: which contrasts they are for, which questions they answer, and what each does in words."""

from __future__ import annotations

from dataclasses import dataclass

from rubrics_gym.settings.study import Arm, CodeRuns, Study


@dataclass(frozen=True, slots=True)
class Parts:
    """What the evaluated arms of a study are to each other, each in the order of the evaluation."""

    libraries: tuple[str, ...]  # judge with a library that says something, matched ones first
    nulls: tuple[str, ...]  # judge with a scrambled or random library
    task_only: tuple[str, ...]  # judge without a library
    floor: tuple[str, ...]  # code does not run and nothing is predicted
    ceiling: tuple[str, ...]  # code runs


def parts(study: Study) -> Parts:
    """Sort the evaluated arms of a study by what they are for."""
    arms = {name: study.arms[name] for name in study.evaluation.arms}
    judges = {name: arm.judge for name, arm in arms.items() if arm.judge is not None}
    recipe = {name: study.libraries[judge.library].recipe for name, judge in judges.items() if judge.library is not None}
    nulls = tuple(name for name, made in recipe.items() if made in ("scramble", "sample"))
    libraries = sorted((name for name in recipe if name not in nulls), key=lambda name: recipe[name] != "match")
    return Parts(
        libraries=tuple(libraries),
        nulls=nulls,
        task_only=tuple(name for name in judges if name not in recipe),
        floor=tuple(name for name, arm in arms.items() if arm.code_runs in (CodeRuns.NOTICE, CodeRuns.CHECKS)),
        ceiling=tuple(name for name, arm in arms.items() if arm.code_runs is CodeRuns.EXECUTE),
    )


def default_pairs(study: Study) -> list[tuple[str, str]]:
    """The contrasts (first, second) of a study: those that it declares, else those that its arms are for: libraries against the task
    criterion alone, against their nulls and against the floor, the nulls against the task criterion alone, that against the floor, and the
    ceiling against all but the nulls."""
    if study.evaluation.contrasts is not None:
        return list(study.evaluation.contrasts)
    of = parts(study)
    pairs = [(first, second) for first in of.libraries for second in (*of.task_only, *of.nulls, *of.floor)]
    pairs += [(first, second) for first in of.nulls for second in of.task_only]
    pairs += [(first, second) for first in of.task_only for second in of.floor]
    pairs += [(first, second) for first in of.ceiling for second in (*of.libraries, *of.task_only, *of.floor)]
    return pairs


def questions(study: Study) -> list[tuple[str, str, str]]:
    """What a reader wants to know first, with the two arms whose contrast answers it: (question, first, second)."""
    of = parts(study)
    asked = [("Does running the code matter here?", first, second) for first in of.ceiling for second in of.floor[:1]]
    for library in of.libraries[:1]:
        asked += [("Does a library of rubrics add to the judge?", library, second) for second in of.task_only]
        asked += [(f"Is it what the rubrics say, or any {second}?", library, second) for second in of.nulls]
        asked += [("Is a judge with rubrics better than none?", library, second) for second in of.floor[:1]]
        asked += [("How far is the judge from really running the code?", first, library) for first in of.ceiling]
    return asked


def describe(arm: Arm) -> str:
    """One sentence about what an arm does, from its settings."""
    says = {
        CodeRuns.EXECUTE: "code runs",
        CodeRuns.NOTICE: "code does not run; the agent sees a fixed notice",
        CodeRuns.JUDGE: "code does not run; the agent sees the judge's prediction",
        CodeRuns.CHECKS: "code does not run, except for scheduled checks of final.py",
    }[arm.code_runs]
    if arm.judge is not None:
        library = (
            f"{arm.judge.k} rubrics of {arm.judge.library} ({arm.judge.retrieval})" if arm.judge.library else "the task criterion alone"
        )
        says += f", made with {library}; it sees {', '.join(arm.judge.sees) or 'task and code alone'}"
    if arm.checks is not None:
        says += f"; every {arm.checks.every} code commands final.py really runs, for at most {arm.checks.cap_s:g} s"
    if arm.submit.run_final:
        says += f"; at submit final.py really runs, for at most {arm.submit.cap_s:g} s"
        says += f" and is held on {' or '.join(arm.submit.hold_on)}, at most {arm.submit.max_holds} times" if arm.submit.hold_on else ""
    if arm.escalate.flagged or arm.escalate.clean:
        says += f"; judged commands also run with probability {arm.escalate.flagged:g} (flagged) or {arm.escalate.clean:g} (clean)"
    if arm.escalate.and_run is not None:
        says += f", and {arm.escalate.and_run} with the clean ones"
    if arm.installs == "bare":
        says += "; installs that are chained or piped count as code"
    if not arm.preamble:
        says += "; predictions come without an explanation"
    if arm.limits_factor != 1:
        says += f"; {arm.limits_factor:g} times the wall time, steps and cost"
    return says
