"""How the agent works through an episode: a story told turn by turn.

Each generator yields a Turn and is sent the feedback to it, one per command. Told again from the start with the same dice and the same
feedback, the story is the same: that is how a stateless provider finds its place.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.drafting import Draft, first_draft, rewrite, start_over
from rubrics_gym.providers.simulated.agent.goals import Goal, PredictionGoal, Table
from rubrics_gym.providers.simulated.agent.looking import (
    check_commands,
    complaints,
    gaps_command,
    look_command,
    quick_look,
    read_heads,
    tables_seen,
)
from rubrics_gym.providers.simulated.agent.reading import Brief, Feedback
from rubrics_gym.providers.simulated.agent.repairing import (
    PIP_NAMES,
    after_failure,
    from_remark,
    missing_module,
    parts_importing,
    unusual_imports,
)
from rubrics_gym.providers.simulated.agent.understanding import NotUnderstood, named_files, understand
from rubrics_gym.providers.simulated.agent.wording import say
from rubrics_gym.settings.study import AgentSimulation

SUBMIT = "submit"
RUN = "python final.py"


@dataclass(frozen=True)
class Turn:
    """One answer: words, commands, and the program that they write, if any."""

    text: str
    commands: tuple[str, ...]
    wrote: Draft | None = None


Story = Generator[Turn, "list[Feedback]", None]


@dataclass
class Session:
    """What stays the same through an episode, and the count of turns."""

    brief: Brief
    settings: AgentSimulation
    dice: Dice
    turns: int = 0
    sample: Table | None = None

    def say(self, occasion: str) -> str:
        return say(occasion, self.dice.at("turn", self.turns))

    def turn(self, occasion: str, *commands: str, wrote: Draft | None = None) -> Turn:
        """The next turn, with a sentence for the occasion."""
        turn = Turn(self.say(occasion), commands, wrote)
        self.turns += 1
        return turn

    @property
    def near_the_end(self) -> bool:
        return self.turns >= self.brief.steps - 3


def work(brief: Brief, settings: AgentSimulation, dice: Dice) -> Story:
    """The whole episode. It never ends by itself: after `submit` it hands in again whatever comes back."""
    session = Session(brief, settings, dice)
    goal = yield from _explore(session)
    if goal is None:
        yield from _give_up(session)
        return
    draft = first_draft(goal, settings, dice.at("draft"))
    draft = yield from _improve(session, draft, (yield from _write_and_run(session, draft, "write")))
    while True:
        feedback = yield session.turn("submit", SUBMIT)
        real = feedback[-1]
        if real.held and not session.near_the_end:
            draft = yield from _improve(session, draft, real)


# ---------------------------------------------------------------- before writing


def _explore(session: Session) -> Generator[Turn, list[Feedback], Goal | None]:
    """Look at the files until the goal is clear; None when it does not become clear."""
    dice, brief = session.dice.at("explore"), session.brief
    first = ["ls -la data"] + (["pip list"] if dice.chance("pip", 0.35) else [])
    seen = yield session.turn("files", *first)
    paths = named_files(brief.statement, brief.files + "\n" + (seen[0].output if not brief.files else ""))
    if not paths or brief.deliverable is None:
        return None
    main = paths[:1]
    feedback = yield session.turn("heads", look_command(main), gaps_command(main[0]))
    heads = read_heads(main, feedback[0].output)
    gaps = {main[0]: feedback[1].output}
    if rest := paths[1:]:
        feedback = yield session.turn("more", look_command(rest))
        heads |= read_heads(rest, feedback[0].output)
    if dice.chance("quick", 0.3):
        yield session.turn("quick", *quick_look(main[0], dice.at("quick")))
    tables = tables_seen(heads, gaps)
    try:
        goal = understand(brief.statement, brief.deliverable, tables)
    except NotUnderstood:
        return None
    if isinstance(goal, PredictionGoal):
        session.sample = tables[goal.sample]
    return goal


def _give_up(session: Session) -> Story:
    """Without a task that can be read there is nothing to write but a stub."""
    stub = 'raise SystemExit("the task could not be read")'
    yield session.turn("unclear", f"cat > final.py <<'EOF'\n{stub}\nEOF")
    while True:
        yield session.turn("submit", SUBMIT)


# ---------------------------------------------------------------- writing, running, repairing


def _write_and_run(session: Session, draft: Draft, occasion: str) -> Generator[Turn, list[Feedback], Feedback]:
    """Write the program and run it, in one turn or two; returns what came of the run."""
    write = f"cat > {draft.program.path} <<'EOF'\n{draft.text}EOF"
    how = session.dice.at("turn", session.turns).pick("how", ["together", "beside", "after"])
    if how == "after":
        yield session.turn(occasion, write, wrote=draft)
        return (yield session.turn("run", RUN))[-1]
    commands = (f"{write}\n{RUN}",) if how == "together" else (write, RUN)
    return (yield session.turn(occasion, *commands, wrote=draft))[-1]


def _improve(session: Session, draft: Draft, feedback: Feedback) -> Generator[Turn, list[Feedback], Draft]:
    """React to what came of a run until it looks right, nothing more can be learnt, or patience is at an end."""
    patience = session.dice.pick("patience", [5, 6, 7])
    revisions = session.dice.pick("revisions", [2, 3, 3, 4])  # for mere predictions
    earlier: list[str] = []
    for attempt in range(patience):
        if session.near_the_end:
            return draft
        if feedback.failed:
            draft, occasion = yield from _after_failure(session, draft, feedback, earlier)
        elif feedback.violated:
            if attempt >= revisions:
                return draft
            changed = yield from _after_remarks(session, draft, feedback.violated)
            if changed is None:
                return draft
            draft, occasion = changed, "remark"
        elif feedback.ran and not feedback.verdict and feedback.exit_code == 0:
            parts = yield from _check(session, draft)
            if not parts:
                return draft
            for part in parts:
                draft = rewrite(draft, part, session.settings, real=True)
            draft, occasion = replace(draft, program=replace(draft.program, called=True)), "repair"
        else:
            return draft  # nothing was shown, or nothing speaks against it
        feedback = yield from _write_and_run(session, draft, occasion)
    return draft


def _after_failure(
    session: Session, draft: Draft, feedback: Feedback, earlier: list[str]
) -> Generator[Turn, list[Feedback], tuple[Draft, str]]:
    """Repair after a real failure. `earlier` remembers the errors, so that one that stays leads to a fresh start."""
    module = missing_module(feedback.output)
    if module is not None:
        installed = yield from _install(session, module)
        if installed:
            return draft, "run"
        for part in parts_importing(draft, module):
            draft = rewrite(draft, part, session.settings, real=True)
        return draft, "without"
    error = "time" if feedback.timed_out else _last_line(feedback.output)
    parts = after_failure(draft, feedback)
    stuck = earlier.count(error) >= (2 if parts else 1)
    earlier.append(error)
    if stuck or not parts:
        return start_over(draft), "over"
    for part in parts:
        draft = rewrite(draft, part, session.settings, real=True)
    return draft, "slow" if feedback.timed_out else "repair"


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("[exit")]
    return lines[-1] if lines else ""


def _after_remarks(session: Session, draft: Draft, remarks: tuple[str, ...]) -> Generator[Turn, list[Feedback], Draft | None]:
    """Rewrite what the remarks seem to be about; None when they say nothing that the agent can act on."""
    parts = tuple(dict.fromkeys(part for remark in remarks for part in from_remark(draft, remark)))
    if not parts:
        return None
    if "packages" in parts:
        for package in unusual_imports(draft):
            if not (yield from _install(session, package)):
                parts = (*parts, *parts_importing(draft, package))
    for part in dict.fromkeys(parts):
        if part in draft.program.names:
            draft = rewrite(draft, part, session.settings, real=False)
    return draft


def _install(session: Session, module: str) -> Generator[Turn, list[Feedback], bool]:
    """Try to install a package; true when pip says that it worked."""
    feedback = (yield session.turn("install", f"pip install {PIP_NAMES.get(module, module)}"))[-1]
    return feedback.exit_code == 0 and "No matching distribution" not in feedback.output


def _check(session: Session, draft: Draft) -> Generator[Turn, list[Feedback], tuple[str, ...]]:
    """Look at what was written; the parts that must be at fault. Now and then the look is too short to notice."""
    turn = session.turns
    feedback = yield session.turn("check", *check_commands(draft.goal))
    if session.dice.at("turn", turn).chance("overlook", 0.1):
        return ()
    return tuple(
        part for part in complaints(draft.goal, tuple(item.output for item in feedback), session.sample) if part in draft.program.names
    )
