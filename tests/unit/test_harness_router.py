"""The command router: what runs code, what does not, and what hangs together."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.harness.router import CODE_RUN, EDIT, INSPECT, INSTALL, OTHER, SUBMIT, classify, kind_of
from rubrics_gym.harness.shell import take_heredocs

CASES = Path(os.environ.get("RUBRICS_CASES", Path(__file__).parents[3] / "shared" / "cases")) / "command_cases.jsonl"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("python train.py", CODE_RUN),
        ("timeout -k 5 600 nice -n 5 python3 -u train.py", CODE_RUN),
        ("nohup env A=1 python x.py > log 2>&1 &", CODE_RUN),
        ("sudo -u me time -o t python x.py", CODE_RUN),
        ("bash -c 'ls; python x.py'", CODE_RUN),
        ("bash -lc 'cat x'", INSPECT),
        ("bash <<EOF\npython x.py\nEOF", CODE_RUN),
        ("bash <<EOF\npip install x\nEOF", INSTALL),
        ("python - <<'EOF'\nprint(1)\nEOF", CODE_RUN),
        ("cat x.py | python", CODE_RUN),
        ("cat x.sh | sh", CODE_RUN),
        ("find . -name '*.py' -exec python {} \\;", CODE_RUN),
        ("find . -name '*.py' -exec grep x {} +", INSPECT),
        ("find . -name '*.tmp' -delete", OTHER),
        ("ls *.py | xargs -n 1 -P 2 python", CODE_RUN),
        ("ls | xargs -I{} sh -c 'python {}'", CODE_RUN),
        ("echo $(python x.py)", CODE_RUN),
        ("cat <<EOF\n$(python x.py)\nEOF", CODE_RUN),
        ("cat <<'EOF'\n$(python x.py)\nEOF", INSPECT),
        ("diff <(python a.py) b", CODE_RUN),
        ("X=$(python a.py)", CODE_RUN),
        ("eval 'python x.py'", CODE_RUN),
        ("trap 'python x.py' EXIT", CODE_RUN),
        ("run() { python x.py; }; run", CODE_RUN),
        ("if [ -f x.py ]; then python x.py; fi", CODE_RUN),
        ("while read f; do head $f; done < list", INSPECT),
        ("$PYTHON x.py", CODE_RUN),
        ("./run.sh", CODE_RUN),
        (". ./job.sh", CODE_RUN),
        ("unheard-of-program data.csv", CODE_RUN),
        ("LD_PRELOAD=./x.so cat a", CODE_RUN),
        ("git -c alias.x='!python x.py' x", CODE_RUN),
        ("tar -xf a.tar --to-command='python x.py'", CODE_RUN),
        ("awk 'BEGIN{system(\"python x.py\")}'", CODE_RUN),
        ("sed '1e python x.py' f", CODE_RUN),
        ("vim -c '!python x.py' f", CODE_RUN),
        ("print('not (shell", CODE_RUN),
        ("python --version", INSPECT),
        ("awk -F, '{print $2}' a.csv | sort | uniq -c", INSPECT),
        ("cat a.csv 2>/dev/null | head", INSPECT),
        ("env", INSPECT),
        ("pip list | grep -i pandas", INSPECT),
        ("sed -n 1,20p train.py", INSPECT),
        ("git log --oneline", INSPECT),
        ("cd x && pip install y 2>&1 | tail -1", INSTALL),
        ("env/bin/python -m pip install x", INSTALL),
        ("python3 -m venv .venv && . .venv/bin/activate && pip install -r r.txt", INSTALL),
        ("conda run -n a python x.py", CODE_RUN),
        ("conda install -y x", INSTALL),
        ("uv run x.py", CODE_RUN),
        ("cat > final.py <<'EOF'\npython x.py\nEOF", EDIT),
        ("echo hi | tee a.txt", EDIT),
        ("echo hi >> a.txt", EDIT),
        ("sed -i.bak s/a/b/ f", EDIT),
        ("sort -o a.csv b.csv", EDIT),
        ("cp a b", OTHER),
        ("cd sub", OTHER),
        ("git clone https://example.org/x", OTHER),
        ("submit", SUBMIT),
        ("# only a comment", OTHER),
        ("%%writefile a.py\nimport os", EDIT),
        ("%%bash\npip install x", INSTALL),
        ("!ls data\n%cd sub", INSPECT),
        ("!ls\nprint(1)", CODE_RUN),
    ],
)
def test_kinds(line: str, kind: str) -> None:
    assert kind_of(line) is kind


@pytest.mark.parametrize("line", ["edit 1:2\npython x.py", "run.sh\n<<<BEFORE_EDIT>>>\n", "!ls", "%%writefile a\npython x.py"])
def test_forms_of_other_systems_are_shell_in_the_sandbox(line: str) -> None:
    assert CODE_RUN in [part.kind for part in classify(line)]


def test_published_cases() -> None:
    """Recall of code at least 0.95: code that passes as an inspection would really run."""
    if not CASES.exists():
        pytest.skip(f"{CASES} is not on this machine")
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    total, right = (
        Counter(case["kind"] for case in cases),
        Counter(case["kind"] for case in cases if kind_of(case["command"]) == case["kind"]),
    )
    assert right["code_run"] / total["code_run"] >= 0.95
    assert right.total() / total.total() >= 0.95


def test_statements_are_parts_and_chains_are_pieces() -> None:
    parts = classify("cd a && pip install x | tail -1 && python t.py | tee log && ls; cat b\nwc c")
    assert [part.kind for part in parts] == [CODE_RUN, INSPECT, INSPECT]
    assert [(piece.operator, piece.text, piece.kind) for piece in parts[0].pieces] == [
        ("", "cd a", OTHER),
        ("&&", "pip install x | tail -1", INSTALL),
        ("&&", "python t.py | tee log", CODE_RUN),
        ("&&", "ls", INSPECT),
    ]
    assert parts[0].pieces[0].state == "cd a"
    assert parts[0].pieces[2].scripts == ("t.py",)


def test_a_heredoc_goes_with_its_piece() -> None:
    (part, after) = classify("cat > f.py <<'EOF' && python f.py\nprint('; ls && x')\nEOF\nls")
    assert [piece.text for piece in part.pieces] == ["cat > f.py <<'EOF'\nprint('; ls && x')\nEOF", "python f.py"]
    assert [piece.kind for piece in part.pieces] == [EDIT, CODE_RUN]
    assert after.text == "ls"


def test_programs_inside_the_command_are_found() -> None:
    assert classify("python - <<'EOF' | tail\nprint(1)\nEOF")[0].pieces[0].programs == ("print(1)\n",)
    assert classify("python -c 'print(2)'")[0].pieces[0].programs == ("print(2)",)


def test_a_background_job_holds_the_rest_of_the_line() -> None:
    (part,) = classify("python server.py & sleep 1; curl localhost")
    assert part.kind is CODE_RUN
    assert part.hides_failure


@pytest.mark.parametrize(
    ("line", "hidden"), [("python a.py || true", True), ("python a.py | tail", False), ("for i in 1 2; do python $i; done", True)]
)
def test_hidden_failures(line: str, hidden: bool) -> None:
    assert classify(line)[0].hides_failure is hidden


@pytest.mark.parametrize(
    "line",
    [
        "cat <<A > x; cat <<-'B'\na\nA\n\tb\n\tB\nls",
        "echo '<<no' \"<<no\" $((1<<2)) <<< word # <<no",
        "cat <<EOF\nnever ended",
        "cat << \\EOF\nx\nEOF",
    ],
)
def test_taking_heredocs_out_loses_nothing(line: str) -> None:
    taken = take_heredocs(line)
    assert taken.restore(taken.compact).rstrip("\n").replace("\n\n", "\n") == line.rstrip("\n")


_words = st.sampled_from(
    [
        "python x.py",
        "ls",
        "cat <<EOF",
        "EOF",
        "pip install x",
        "&&",
        "||",
        "|",
        ";",
        "\n",
        "&",
        "(",
        ")",
        "{",
        "}",
        "'",
        '"',
        "$(",
        "`",
        ">f",
        "if",
        "then",
        "fi",
        "\\",
        "#",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(_words, max_size=12).map(" ".join), st.text(max_size=40)))
def test_no_input_breaks_the_router(line: str) -> None:
    for part in classify(line):
        assert part.pieces
        assert part.reason


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["ls", "cd a", "true", "echo x", "cat f | head", "[ -f a ]"]), min_size=1, max_size=5),
    st.sampled_from(["; ", " && ", " || ", "\n", " | "]),
)
def test_code_is_found_wherever_it_stands(others: list[str], joint: str) -> None:
    for place in range(len(others) + 1):
        assert kind_of(joint.join([*others[:place], "python x.py", *others[place:]])) is CODE_RUN
