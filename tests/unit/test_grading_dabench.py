"""DABench: answers in the official form, both rules, and the benchmark's own labels."""

import json

import pytest
from tests.corpus import CORPUS, needs_corpus

from rubrics_gym.grading.attempts import grade
from rubrics_gym.grading.dabench import Question, accuracies, corrected, official
from rubrics_gym.records.archives import write_archive
from rubrics_gym.records.outcomes import Outcome

LABELS = CORPUS / "DABench" / "examples" / "DA-Agent" / "data" / "da-dev-labels.jsonl"
EXPECTED = [("mean", "34.65"), ("significant", "True")]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("@mean[34.65] and @significant[True]", [True, True]),
        ("@mean[34.650]\n@significant[True]", [True, True]),
        ("@mean[34.651]\n@significant[True]", [False, True]),
        ("@mean[34.65%]\n@significant[true]", [False, False]),
        ("@mean[ 34.65 ]\n@significant[ True]", [True, False]),  # a number may have blanks, a text may not
        ("@mean[1]\n@mean[34.65]", [True, False]),  # the last answer of a name counts
        ("@mean[34.65\n]", [False, False]),
        ("mean = 34.65", [False, False]),
        ("@mean[nan]", [False, False]),
    ],
)
def test_both_rules_read_answers_alike(text, right):
    assert official(EXPECTED, text) == right
    assert corrected(EXPECTED, text) == right


def test_repeated_names_are_held_against_each_other_in_order():
    expected = [("r", "0.1"), ("p", "yes"), ("r", "0.2"), ("p", "no")]
    right = "@r[0.1] @p[yes] @r[0.2] @p[no]"
    assert official(expected, right) == [True, True] and corrected(expected, right) == [True] * 4
    first_wrong = "@r[9] @p[yes] @r[0.2] @p[no]"
    assert official(expected, first_wrong) == [True, True]  # only the last of each name is looked at
    assert corrected(expected, first_wrong) == [False, True, True, True]
    assert corrected(expected, "thinking: @r[5] so\n" + right) == [True] * 4


def test_too_few_answers_of_a_repeated_name_are_never_all_right():
    expected = [("r", "0.1"), ("r", "0.2"), ("r", "0.3")]
    assert not all(corrected(expected, "@r[0.2] @r[0.3]"))
    assert all(official(expected, "@r[0.3]"))


def bundle(tmp_path, answers=EXPECTED):
    grading = {"benchmark": "dabench", "id": "6", "kind": "question", "metric": {"name": "all_answers_right", "greater_is_better": True}}
    members = {"grading.json": json.dumps({**grading, "deliverables": ["answer.txt"], "tolerance": 1e-6}).encode()}
    write_archive(tmp_path / "private.tar.gz", {**members, "answers.json": json.dumps(answers).encode()})
    return tmp_path / "private.tar.gz"


def test_a_partly_right_answer(tmp_path):
    (tmp_path / "answer.txt").write_text("@mean[34.65]\n@significant[False]\n")
    result = grade(bundle(tmp_path), tmp_path / "answer.txt", None)
    assert (result.outcome, result.score, result.correct_share, result.ended_wrong) == (Outcome.VALID, 0.0, 0.5, True)
    assert result.disagreement == ""


def test_a_missing_answer_is_wrong_and_officially_left_out(tmp_path):
    result = grade(bundle(tmp_path), tmp_path / "answer.txt", None)
    assert (result.outcome, result.score, result.ended_wrong) == (Outcome.NO_SUBMISSION, None, True)
    assert result.official is not None and result.official.ended_wrong is None
    assert result.disagreement == "verdict"


def test_the_official_denominator_shrinks_and_ours_does_not():
    questions = [Question([True], True), Question([True, False], True), Question([False, False], False)]
    assert accuracies(questions, skip_unanswered=True) == (0.5, 0.75, 2 / 3, 2)
    assert accuracies(questions, skip_unanswered=False) == (1 / 3, 0.5, 0.4, 3)
    with pytest.raises(ValueError, match="no question was answered"):
        accuracies([Question([False], False)], skip_unanswered=True)


@needs_corpus
def test_all_labels_grade_in_full_and_each_corrupted_part_is_wrong():
    labels = [json.loads(line)["common_answers"] for line in LABELS.read_text().splitlines()]
    parts = 0
    for answers in labels:
        text = "\n".join(f"@{name}[{value}]" for name, value in answers)
        assert all(official(answers, text)) and all(corrected(answers, text))
        for place, (name, value) in enumerate(answers):
            wrong = [*answers[:place], (name, f"{value}0x"), *answers[place + 1 :]]
            found = corrected(answers, "\n".join(f"@{one}[{other}]" for one, other in wrong))
            assert [number for number, right in enumerate(found) if not right] == [place]
            parts += 1
    assert (len(labels), parts) == (257, 461)
