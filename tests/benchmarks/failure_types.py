"""How fast failures get their types, beside the same expressions without their sieves. python tests/benchmarks/failure_types.py [OUTPUTS]"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from tests.evidence.libraries_failures import rules_of_project, written_outputs

from rubrics_gym.failures.prefilter import Sieve
from rubrics_gym.failures.types import Rule, Rules, failure_type, load_rules


def without_sieves(rules: Rules) -> Rules:
    """The baseline: every expression is tried on every text."""

    def bare(group: Sequence[Rule]) -> tuple[Rule, ...]:
        return tuple(Rule(rule.type, Sieve(rule.sieve.pattern, ())) for rule in group)

    return rules._replace(
        stopped=bare(rules.stopped), exhausted=bare(rules.exhausted), exceptions=bare(rules.exceptions), text=bare(rules.text),
        reports=Sieve(rules.reports.pattern, ()), changed_text=Sieve(rules.changed_text.pattern, ()),
    )  # fmt: skip


def seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def main(count: int) -> None:
    outputs = list(written_outputs(count))
    rules = rules_of_project()
    bare = without_sieves(rules)
    assert [failure_type(one, rules, exit_code=1) for one in outputs[:500]] == [
        failure_type(one, bare, exit_code=1) for one in outputs[:500]
    ]
    fast = seconds(lambda: [failure_type(one, rules, exit_code=1) for one in outputs])
    slow = seconds(lambda: [failure_type(one, bare, exit_code=1) for one in outputs])
    load_rules.cache_clear()
    print(f"{count:,} outputs, {sum(map(len, outputs)) / count:,.0f} characters on average")
    print(f"with sieves      {fast / count * 1e6:8.1f} us each, {fast / count * 1e6 / 60:6.1f} minutes for a million")
    print(f"without          {slow / count * 1e6:8.1f} us each, ratio {slow / fast:.1f}")
    print(f"reading the rules and the table of interfaces: {seconds(rules_of_project):.2f} s, once per process")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
