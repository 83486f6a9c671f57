"""One self-contained page to browse and search a library with its evidence: from a rubric to the failed commands behind it, and back.

Everything on it that a model or a program wrote is escaped by the template; the content security policy admits the page's own script and
style sheet and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rubrics_gym.records.failures import FailureEvent
from rubrics_gym.records.rubrics import LibraryManifest, Rubric, Support
from rubrics_gym.report.html import content_policy, template

RESOURCES = Path(__file__).parents[3] / "resources" / "library_page"
UNCLASSIFIED = "unclassified"


class Evidence(NamedTuple):
    """One support of a rubric, with the failed commands of the steps that it names."""

    unit: str
    steps: tuple[int, ...]
    quotes: tuple[str, ...]
    failures: list[FailureEvent]


class ShownRubric(NamedTuple):
    id: str
    bin: str
    rubric: Rubric
    evidence: list[Evidence]


class Link(NamedTuple):
    id: str
    title: str


class ShownFailure(NamedTuple):
    event: FailureEvent
    rubrics: list[Link]
    bins: list[str]  # of the rubrics about it


def library_page(manifest: LibraryManifest, rubrics: Sequence[Rubric], events: Sequence[FailureEvent]) -> str:
    """The HTML text of the page. Rubrics are sorted by weight and support; failures keep their order. The same inputs give the same bytes."""
    shown = linked_rubrics(rubrics, events)
    style, script = ((RESOURCES / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    return template(RESOURCES, "page.html.j2").render(
        manifest=manifest,
        rubrics=shown,
        failures=linked_failures(shown, events),
        bins=Counter(one.bin for one in shown).most_common(),
        kinds=sorted({rubric.kind.value for rubric in rubrics}),
        style=style,
        script=script,
        policy=content_policy(style, script),
    )


def linked_rubrics(rubrics: Sequence[Rubric], events: Sequence[FailureEvent]) -> list[ShownRubric]:
    """Every rubric with its evidence."""
    failed: dict[tuple[str, int], list[FailureEvent]] = {}
    for event in events:
        failed.setdefault((event.unit, event.step), []).append(event)

    def evidence(support: Support) -> Evidence:
        unit = f"rollouts/{support.collection}/{support.benchmark}/{support.task}/{support.attempt}"
        return Evidence(unit, support.steps, support.quotes, [event for step in support.steps for event in failed.get((unit, step), ())])

    ordered = sorted(rubrics, key=lambda rubric: (-rubric.weight, -len(rubric.support), rubric.title, rubric.id))
    return [ShownRubric(one.id, one.bin or UNCLASSIFIED, one, [evidence(support) for support in one.support]) for one in ordered]


def linked_failures(rubrics: Sequence[ShownRubric], events: Sequence[FailureEvent]) -> list[ShownFailure]:
    """Every failed command with the rubrics whose evidence it is, each once."""
    about: dict[str, dict[str, ShownRubric]] = {}
    for one in rubrics:
        for evidence in one.evidence:
            for event in evidence.failures:
                about.setdefault(event.event_id, {})[one.id] = one
    return [
        ShownFailure(
            event,
            [Link(one.id, one.rubric.title) for one in about.get(event.event_id, {}).values()],
            sorted({one.bin for one in about.get(event.event_id, {}).values()}),
        )
        for event in events
    ]
