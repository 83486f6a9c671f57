"""The taxonomy file, and a taxonomy drafted from scratch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from rubrics_gym.failures.distributions import on_21
from rubrics_gym.failures.drafting import MOST_CATEGORIES, Drafter, cases_of, to_yaml
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import Request, Response
from rubrics_gym.providers.simulated.classifier import Classifier
from rubrics_gym.records.failures import Cause
from rubrics_gym.settings.study import ModelSettings, TextSimulation

RESOURCES = Path(__file__).parents[2] / "resources"
TAXONOMY = load_taxonomy(RESOURCES / "taxonomy.yaml")


def test_22_categories_of_which_21_came_first_and_11_types() -> None:
    assert len(TAXONOMY.category_ids) == 22 and len(TAXONOMY.type_ids) == 11
    assert set(TAXONOMY.category_ids) - set(TAXONOMY.first_21) == {"modelling_choice"}
    assert len(TAXONOMY.bins) == len(set(TAXONOMY.bins)) == 21 + 11
    assert on_21({"runtime:time_limit": 2, "runtime:other": 1, "modelling_choice": 4, "other": 1}, TAXONOMY) == {"runtime": 3, "other": 1}


def test_every_bin_has_an_entry_and_nothing_else_has() -> None:
    assert TAXONOMY.entry("runtime:time_limit").title == "Time limit"
    assert TAXONOMY.entry("output_format").positive
    for name in ("runtime:sloth", "output_format:time_limit", "nothing"):
        with pytest.raises(ValueError, match="is no bin of taxonomy/2"):
            TAXONOMY.entry(name)


def test_an_entry_without_a_near_miss_is_refused(tmp_path: Path) -> None:
    content = yaml.safe_load((RESOURCES / "taxonomy.yaml").read_text())
    content["categories"][3]["negative"] = []
    path = tmp_path / "taxonomy.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ValueError, match=rf"{path}: {content['categories'][3]['id']} needs"):
        load_taxonomy(path)


class Proposals:
    """A client that answers with one proposal after the other."""

    def __init__(self, *proposals: Any):
        self.proposals = list(proposals)
        self.requests: list[Request] = []

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        self.requests.append(request)
        value = self.proposals[min(len(self.requests), len(self.proposals)) - 1]
        return Answer(Response(text=value if isinstance(value, str) else json.dumps(value)), "k", 0, "live")


def proposed(name: str, definition: str = "Something goes wrong.") -> dict[str, Any]:
    return {"id": name, "title": name, "definition": definition, "positive": ["It does."], "negative": ["It nearly does."]}


def drafter() -> Drafter:
    return Drafter(ModelSettings(model="m"), load_prompt(str(RESOURCES / "prompts/taxonomist.yaml")), TAXONOMY, seed=1)


def test_a_draft_grows_by_batches_and_can_be_loaded(tmp_path: Path) -> None:
    client = Proposals(
        {"categories": [proposed("Leaky Split"), proposed("runtime")]}, {"categories": [proposed("leaky_split", "Better said.")]}
    )
    draft, invalid = drafter().draft([f"case {number}" for number in range(30)], client)  # type: ignore[arg-type]
    assert (draft.category_ids, invalid, len(client.requests)) == (("runtime", "leaky_split", "other"), 0, 2)
    assert draft.entry("leaky_split").definition == "Better said."
    assert "leaky_split: Leaky Split" in client.requests[1].messages[0].text
    path = tmp_path / "draft.yaml"
    path.write_text(to_yaml(draft))
    assert load_taxonomy(path) == draft and draft.version.startswith("draft/")


def test_a_draft_survives_bad_answers_and_says_so() -> None:
    client = Proposals("not json", {"categories": [proposed(f"kind_{number}") for number in range(40)]})
    draft, invalid = drafter().draft([f"case {number}" for number in range(30)], client)  # type: ignore[arg-type]
    assert invalid == 1 and len(draft.categories) == MOST_CATEGORIES + 2
    with pytest.raises(ValueError, match="none of 1 answers"):
        drafter().draft(["a"], Proposals("no"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no failures"):
        drafter().draft([], Proposals())  # type: ignore[arg-type]


def test_the_simulated_classifier_drafts_too() -> None:
    class Asked(Proposals):
        def ask(self, request: Request, occurrence: int = 0) -> Answer:
            return Answer(Classifier(TextSimulation()).answer(request), "k", 0, "live")

    causes = [
        Cause(unit="u", benchmark="b", task="t", category=None, reason="The file is never written."),
        Cause(unit="v", benchmark="b", task="t", category=None, reason="Only part of the data was used: the first rows."),
    ]
    draft, invalid = drafter().draft(cases_of([], causes), Asked())  # type: ignore[arg-type]
    assert invalid == 0 and "artifact_missing" in draft.category_ids and "fabricated" in draft.category_ids
