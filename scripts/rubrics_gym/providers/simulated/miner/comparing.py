"""What a careful reader sees when two programs of one task lie side by side: what the weaker one does, or leaves out, and the stronger one does not."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from rubrics_gym.providers.simulated.miner.wording import worded


class Sign(NamedTuple):
    """How a topic shows in a program: where it matters, what the mistake looks like (None: by what is not there), what avoids it (None: nothing does)."""

    topic: str
    matters: str
    mistake: str | None
    remedy: str | None


SIGNS = (
    Sign("unchecked_predictions", r"\.fit\(", None, r"cross_val|train_test_split|KFold|ShuffleSplit|oob_score"),
    Sign("labels_for_probabilities", r"\.predict(?:_proba)?\(", None, r"predict_proba"),
    Sign("partial_data", r"read_csv\(", r"nrows=|\.sample\(|\.head\(\d{2,}\)", None),
    Sign("holes_filled", r"\.fit\(|mean\(|fillna", r"fillna\((?:0|-1|-?\d+)", r"SimpleImputer|dropna|median\(\)"),
    Sign("out_of_step", r"to_csv", r"sort_values\(|sample\(frac", None),
    Sign("single_weak_model", r"\.fit\(", None, r"Forest|Boosting|XGB|LGBM"),
    Sign("one_split_only", r"\.fit\(", None, r"n_splits=[2-9]|cv=[2-9]"),
    Sign("untuned_settings", r"\.fit\(", None, r"GridSearch|RandomizedSearch|max\(scores|for \w+ in \["),
    Sign("skewed_target", r"Regressor\(|Ridge\(", None, r"log1p|absolute_error|TransformedTarget"),
    Sign("unequal_classes", r"Classifier\(|LogisticRegression\(", None, r"class_weight|Stratified"),
    Sign("unscaled_distances", r"LogisticRegression|Ridge|KNeighbors|SV[CR]", None, r"StandardScaler|MinMaxScaler"),
    Sign("dropped_text_columns", r"\.fit\(", None, r"OneHotEncoder|get_dummies|OrdinalEncoder"),
    Sign("fixed_rounds", r"max_iter=|n_estimators=", None, r"early_stopping=True"),
    Sign("no_ensemble", r"\.fit\(", None, r"Voting|Stacking|np\.mean\(\["),
)


@dataclass(frozen=True)
class Side:
    """One of the two programs: its lines as written, and the number of each where numbers are shown."""

    lines: tuple[str, ...]

    def line_like(self, pattern: str) -> int | None:
        """The position of the first line that the expression matches."""
        return next((at for at, line in enumerate(self.lines) if re.search(pattern, line)), None)

    def makes(self, sign: Sign) -> bool:
        if self.line_like(sign.matters) is None:
            return False
        return self.line_like(sign.mistake) is not None if sign.mistake else not self.avoids(sign)

    def avoids(self, sign: Sign) -> bool:
        if self.line_like(sign.matters) is None:
            return False
        if sign.remedy is None:
            return sign.mistake is not None and self.line_like(sign.mistake) is None
        return self.line_like(sign.remedy) is not None


def read_sides(text: str) -> tuple[Side, Side] | None:
    """The stronger and the weaker program of a mining request; None where it does not show two."""
    found = [re.search(rf"<{name}>\n(.*?)\n</{name}>", text, re.DOTALL) for name in ("stronger", "weaker")]
    if found[0] is None or found[1] is None:
        return None
    stronger, weaker = (Side(tuple(re.sub(r"^ *\d+\| ?", "", line) for line in one[1].split("\n"))) for one in found if one)
    return stronger, weaker


def lessons(sides: tuple[Side, Side], by_lines: bool, limit: int, error: float, dice: random.Random) -> list[dict[str, Any]]:
    """At most `limit` lessons: what tells the two apart, or else advice that nothing in them bears out. `error` is the chance that a lesson attributes
    its citations to the wrong programs."""
    stronger, weaker = sides
    telling = [sign for sign in SIGNS if weaker.makes(sign) and stronger.avoids(sign)]
    unfounded = [sign for sign in SIGNS if weaker.line_like(sign.matters) is not None and sign not in telling]
    chosen = telling[:limit] or dice.sample(unfounded, min(1, len(unfounded)))
    return [_lesson(sign, stronger, weaker, by_lines, dice.random() < error, dice) for sign in chosen]


def _lesson(sign: Sign, stronger: Side, weaker: Side, by_lines: bool, misattributed: bool, dice: random.Random) -> dict[str, Any]:
    shown = [
        ("weaker", weaker, weaker.line_like(sign.mistake or sign.matters)),
        ("stronger", stronger, stronger.line_like(sign.remedy or sign.matters)),
    ]
    evidence = []
    for name, side, at in shown:
        place = at if at is not None else 0
        named = {"stronger": "weaker", "weaker": "stronger"}[name] if misattributed else name
        evidence.append(
            {"program": named, **({"first": place + 1, "last": place + 1} if by_lines else {"quote": side.lines[place].strip()})}
        )
    return {**worded(sign.topic, "", dice), "evidence": evidence}
