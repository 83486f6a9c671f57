"""What the agent says beside its commands."""

from __future__ import annotations

from rubrics_gym.providers.simulated.agent.dice import Dice

_SAYINGS: dict[str, tuple[str, ...]] = {
    "files": ("Let me see which files there are.", "I start with the data folder.", "First, what do we have?"),
    "heads": ("Now the first rows, and rows with empty cells.", "Let me look at the columns.", "I want to see how the files are written."),
    "more": ("And the other files.", "Let me check the rest of the files too.", "Now the remaining files."),
    "quick": ("A quick look at the numbers.", "Let me get a feeling for the table.", "I check types and gaps before writing anything."),
    "write": ("Here is a first version.", "I write the program.", "This should do it; let me write final.py."),
    "run": ("Let me run it.", "Now run it.", "Does it work?"),
    "repair": ("I see what is wrong there. I rewrite that section.", "That part needs another go.", "Let me fix this.", "I correct it and run again."),
    "slow": ("That takes too long. I cut it down.", "Too slow; a smaller version will do.", "I have to make this cheaper."),
    "remark": ("The review makes sense; I change what it points at.", "I work through the remarks.", "Let me address what was said."),
    "install": ("The package is not there; I try to install it.", "Let me install it.", "I need that package."),
    "without": ("It cannot be installed. I do without it.", "No such package here, so I use what is at hand.", "Then I go without it."),
    "check": ("It ran. What did it write?", "Let me look at the output.", "I check the file before I submit."),
    "submit": ("I am done.", "This is my solution.", "I hand it in."),
    "over": ("I go back to a plain version and write everything anew.", "Too much went wrong. I start over."),
    "unclear": ("I cannot tell from this what is to be made. Which file should hold what?", "The task does not say what is asked. Could you give the statement and the files?"),
}  # fmt: skip


def say(occasion: str, dice: Dice) -> str:
    """A sentence for an occasion."""
    return dice.pick(f"say {occasion}", _SAYINGS[occasion])
