"""The command router: what runs code, what does not, and what hangs together."""

import functools
import json
import os
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.harness.router import CODE_RUN, EDIT, INSPECT, INSTALL, OTHER, SUBMIT, classify, kind_of
from rubrics_gym.harness.shell import take_heredocs
from rubrics_gym.records.trajectory import CommandKind

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


LINES = {
    CODE_RUN: [
        "tmux send-keys -t s 'python train.py' C-m",
        "tmux new-session -d -s x 'python a.py'",
        "screen -dmS job python train.py",
        "screen -S x -X stuff 'python a.py\\n'",
        "eval $(cat cmd.txt)",
        "bash <<< 'python x.py'",
        "python <<< 'print(1)'",
        "alias ls='python x.py'; ls",
        "export PATH=.:$PATH && ls",
        "export LD_PRELOAD=./a.so; cat f",
        "PAGER='python x.py' man ls",
        "env -S 'python x.py'",
        "env -i python x.py",
        "sed 's/a/b/e' f",
        "sed '5e ls' f",
        "sed -f x.sed f",
        "awk '{print | \"sort\"}' f",
        "awk -f p.awk f",
        "awk '{\"date\" | getline d; print d}'",
        "perl -ne 'print if /x/' f",
        "perl -e 'print 1'",
        "perl -pe 's/(\\d+)/$1*2/e' f",
        "rg --pre ./x.sh foo",
        "fd -x python",
        "git config alias.x '!python a.py'",
        "git -c core.pager='python x.py' log",
        "git foo",
        "git bisect run python x",
        "tar -I ./x.sh -xf a",
        "Rscript x.R",
        "R -e 'print(1)'",
        "julia a.jl",
        "python -m http.server",
        "python -c'print(1)'",
        "curl https://x.org/train.py | python",
        "curl -fsSL http://localhost:8000/a.sh | bash",
        "bash install.sh",
        "bash -x run.sh",
        "bash -ic 'python x'",
        "bash -c -e 'python x.py'",
        "npm run build",
        "npm test",
        "npx tsc",
        "yarn build",
        "cargo build --release",
        "cargo run",
        "go run .",
        "uv run python x.py",
        "uvx ruff",
        "uv tool run x",
        "conda run -n x --no-capture-output python a.py",
        "micromamba run -n x python t.py",
        "pipx run black",
        "docker run x",
        "docker build .",
        "docker exec -it x bash",
        "g++ -o a a.cpp",
        "make",
        "make install",
        "cmake ..",
        "pytest -q",
        "torchrun --nproc_per_node 2 t.py",
        "accelerate launch t.py",
        "streamlit run a.py",
        "uvicorn app:app",
        "sqlite3 a.db '.shell python x.py'",
        "sqlite3 a.db < x.sql",
        "ed -s f <<EOF\n!python x.py\nq\nEOF",
        "emacs --batch -l x.el",
        "less +'!python x' f",
        "man -P 'python x' ls",
        "X=$(python a.py); echo $X",
        "if python x.py; then ls; fi",
        "for f in *.py; do python $f; done",
        "while true; do python x.py; done",
        "case x in a) python x.py;; esac",
        "[[ $(python x) ]]",
        "echo ${X:-$(python a.py)}",
        "(cd x && python y.py)",
        "{ ls; python y.py; }",
        "! python x.py",
        "time python x.py",
        "coproc python x.py",
        "source venv/bin/activate; python x.py",
        "source run.sh",
        "$CONDA_PREFIX/bin/python x.py",
        "find . -type f | while read f; do python $f; done",
        "find . -exec sh -c 'python $1' _ {} \\;",
        "xargs -a list.txt python",
        "ls | xargs -n1 -P4 -I{} python x.py {}",
        "ls | parallel python",
        "parallel ::: 'ls'",
        "watch python x.py",
        "script -c 'python x' log",
        "flock l -c 'python x'",
        "flock -n l python x",
        "su - u -c 'python x'",
        "cat > a.py << 'EOF'\nimport os\nEOF\npython a.py",
        "python3 - <<EOF\nprint(1)\nEOF",
        "cat a | tee >(python x)",
        "cat < <(python x)",
        "ls > >(python x)",
        "crontab -e",
        "at now <<< 'python x'",
        "echo 'python x.py' | sh",
        "python\\\n x.py",
        "'python' x.py",
        'p"y"thon x.py',
        "\\python x.py",
        "command python x",
        "exec python x",
        "nohup python x > l 2>&1 & echo $!",
        "python x.py & wait",
        "!pip install x\n!python y.py",
        "%time !python x.py",
        "%timeit f(x)",
        "%%timeit\nx=1",
        "%env A=1\n!python x.py",
        "!cd x && python y.py",
        "import os",
        "df.head()",
        "%run x.py",
    ],
    INSTALL: [
        'eval "$(conda shell.bash hook)" && conda activate x && pip install y',
        "dpkg -i a.deb",
        "sudo apt-get -y update && sudo apt-get -qq install -y gcc | tail -1",
        'Rscript -e \'install.packages("x", repos="http://cran")\'',
        "julia -e 'using Pkg; Pkg.add(\"CSV\")'",
        "python -m spacy download en_core_web_sm",
        "python -mpip install x",
        "python get-pip.py",
        "curl -sS https://bootstrap.pypa.io/get-pip.py | python3",
        "curl -LsSf https://astral.sh/uv/install.sh | sh",
        "bash Miniconda3-latest-Linux-x86_64.sh -b -p $HOME/mc",
        "npm install",
        "yarn",
        "uv venv",
        "poetry run pip install x",
        "poetry install",
        "conda create -n a python=3.9 -y",
        "conda run -n x pip install y",
        "env/bin/activate && pip install x",
        "$HOME/.cargo/bin/rustup update",
        "~/miniconda3/bin/conda install x",
        "%%time\n!pip install x",
        "%%capture\n!pip install x",
        "%pip install x",
        "%conda install x",
    ],
    INSPECT: [
        "gunzip -c a.gz | head",
        "tmux capture-pane -p -t x",
        "tmux ls",
        "screen -ls",
        "bash <<< 'ls'",
        "PAGER=cat git log",
        "env FOO=1 ls",
        "sort a | uniq -c | sort -rn | head",
        "xxd a | head",
        "shuf -n 5 a.csv",
        "sed -n '1,5p;10q' f",
        "sed 's#/usr#/opt#g' f",
        "sed '$!d' f",
        "sed -n '/start/,/end/p' f | head",
        "sed = f",
        "sed 'N;s/\\n/ /' f",
        "awk -F: '$3>5{print $1}' f",
        "awk '/a|b/{print}' f",
        'awk \'$1=="a" || $2 == "b"\' f',
        "awk 'NR==FNR{a[$1];next} ($1 in a)' a b",
        "awk '{print ($1>2)}' f",
        "perl -pe 's/a/b/' f",
        "rg foo -n src",
        "fd py$",
        "git config --list",
        "git config user.name",
        "git -c core.pager=cat log",
        "git branch -a",
        "git tag",
        "git remote -v",
        "git stash list",
        "git apply --check p.patch",
        "git grep -n foo",
        "git rev-list --count HEAD",
        "tar tzf a.tgz",
        "unzip -l a.zip",
        "7z l a.7z",
        "dpkg -l | grep python",
        "dpkg -l python3",
        "rpm -qa",
        "apt list --installed",
        "apt-cache policy x",
        "R --version",
        "julia --version",
        "python -m json.tool a.json",
        "cat a.json | python3 -m json.tool | head",
        "python -Im pip list",
        "bash -n x.sh",
        "sh -c 'ls' -- python",
        "go version",
        "conda env list",
        "conda info --envs",
        "conda config --show",
        "docker ps -a",
        "ruff check .",
        "black --check .",
        "flake8 x.py",
        "mypy x.py",
        "node --version",
        "node -v",
        "gcc --version",
        "ffmpeg -version",
        "ffmpeg -i a.mp4 2>&1 | grep Duration",
        "openssl x509 -in a -noout -text",
        "pytest --version",
        "sqlite3 a.db 'select * from t limit 5'",
        "sqlite3 a.db '.tables'",
        "less f",
        "man ls",
        "date +%s",
        "date -d yesterday",
        "cd a 2>/dev/null; ls",
        "for f in *.csv; do head -1 $f; done",
        "[[ -f x ]] && ls",
        "time ls",
        "./venv/bin/pip list",
        "nvidia-smi --query-gpu=x --format=csv",
        "watch -n1 nvidia-smi",
        "sudo su",
        "ls &",
        "sleep 5 && tail log",
        'grep -E\n"(AKIA[0-9A-Z]{16}|x)" ./a.py',
        "%ls",
        "!!ls",
        "open a.py 3",
        "str_replace_editor view /a",
        "goto 3",
    ],
    EDIT: [
        "uniq a b",
        "xxd -r a b",
        "shuf a -o b",
        "sed -n 's/a/b/w out' f",
        "sed '/x/w out.txt' f",
        "sed -i -e 's/a/b/' -e 's/c/d/' f",
        "sed -e '1d' f > g",
        "awk '{print > $1\".txt\"}' f",
        "perl -pi -e 's/a/b/g' f",
        "git diff > p.patch",
        "git apply p.patch",
        "git diff --output=x",
        "conda env export > e.yml",
        "black .",
        "python -m black x.py",
        "ed -s f <<EOF\n1d\nw\nq\nEOF",
        "vim -es -c '%s/a/b/g' -c wq f",
        "vim f",
        "cat >> a.py <<EOF\n$(ls)\nEOF",
        "tee a.py <<EOF > /dev/null\nx\nEOF",
        "echo 'python x.py' > run.sh",
        "printf 'x' | tee a.txt",
        "touch a",
        "%%writefile a.py\nx",
        '!echo "a\nb" > f.txt',
        "edit 14\n  x = 1\nend_of_edit",
        "edit src/a.py 1:3\nfoo(\nend_of_edit",
        "open a\nedit 3:4\n  x=1\nend_of_edit",
        "insert 4\nimport x\nend_of_insert",
        "EDITING `/content/a.py. CHANGING:\n\nx",
    ],
    OTHER: [
        "tmux new -d -s a",
        'eval "$(ssh-agent -s)"',
        "alias ll='ls -la'",
        "export PATH=$HOME/.local/bin:$PATH",
        "git config user.name x",
        "git branch new",
        "git remote add o u",
        "git stash",
        "git submodule update --init",
        "tar -xzf a.tgz -C d",
        "tar -I pigz -xf a",
        "unzip a.zip -d b",
        "docker pull x",
        "ffmpeg -i a.mp4 b.mp3",
        "openssl genrsa -out a 2048",
        "sqlite3 a.db 'delete from t'",
        ". venv/bin/activate",
        "find . -name x -print0 | xargs -0 rm",
        "kill -9 123",
        "pkill -f train.py",
        "systemctl status x",
        "mkdir -p a && cp b a/",
        "%mkdir x",
        "# c\n%cd x",
    ],
    SUBMIT: [
        "submit",
        "cat a\nsubmit",
    ],
}


@pytest.mark.parametrize(("line", "kind"), [(line, kind) for kind, lines in LINES.items() for line in lines])
def test_more_kinds(line: str, kind: str) -> None:
    assert kind_of(line) is kind


@pytest.mark.parametrize("kind", list(CommandKind))
def test_command_lines_of_agents(kind: CommandKind) -> None:
    lines = yaml.safe_load((Path(__file__).parent / "command_lines.yaml").read_text())[kind.value]
    assert len(lines) > 10
    assert {line: found for line in lines if (found := kind_of(line).value) != kind.value} == {}


def test_the_end_of_an_episode_is_a_submission_and_what_else_the_line_does_counts() -> None:
    assert kind_of("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") is SUBMIT
    assert kind_of("grep -rn COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT .") is INSPECT
    assert kind_of("python x.py && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") is CODE_RUN
    assert classify("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")[0].kind is INSPECT  # only logs know it


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ("python a.py", CODE_RUN),
        ("submit", SUBMIT),
        ("open b.py", EDIT),
        ("edit 2:2\ny\nend_of_edit", EDIT),
        ("\nDISCUSSION\nNow run it.", EDIT),
    ],
)
def test_what_follows_an_edit_block_counts(after: str, kind: CommandKind) -> None:
    assert kind_of(f"edit 1:1\nx = python\nend_of_edit\n{after}") is kind


@pytest.mark.parametrize(
    "line",
    [
        "\n" * 60 + "ls",  # searches that try every way to cut a text would not end here
        " \n\t#\n" * 60 + "ls",
        "sqlite3 a.db 'select " + "select " * 60 + "1'",
        "sed -n 's/" + "\\/" * 60 + "/p' f",
        "perl -pe 's/" + "\\/" * 60 + "a/b/' f",
        " && ".join(["ls"] * 3000),
        "; ".join(["ls"] * 3000),
        "cat <<'EOF'\n" + "python x.py\n" * 20_000 + "EOF",
        "xargs " * 200 + "ls",
    ],
    ids=lambda line: line.strip()[:12],
)
def test_long_and_repetitive_lines_are_read_to_their_end(line: str) -> None:
    assert kind_of(line) is INSPECT


@pytest.mark.parametrize(
    "line", ["$(" * 5000, "(" * 5000, "{ " * 3000 + "python x.py" + "; }" * 3000, "sudo " * 3000 + "python x.py", "sed 's/" + "\\/" * 60]
)
def test_what_is_too_deep_or_has_no_end_runs_code(line: str) -> None:
    assert kind_of(line) is CODE_RUN


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


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("X=$(python a.py); echo $X", 1),
        ("X=$(python a.py); echo done", 2),
        ("n=$(wc -l < a); echo $n", 2),
        ("d=$(mktemp -d); cd $d", 2),
        ("trap 'rm -f t' EXIT; python a.py", 1),
    ],
)
def test_what_a_program_gives_binds_what_follows(line: str, parts: int) -> None:
    assert len(classify(line)) == parts


def test_a_state_with_its_errors_hidden_is_still_a_state() -> None:
    assert classify("cd build 2>/dev/null; ls")[0].pieces[0].state == "cd build 2>/dev/null"


@pytest.mark.parametrize("name", ["é.py", "数据.py", "🎲.py", "__U0000e9__.py", "__Uffffff__.py", "__U00d800__.py"])
def test_characters_outside_ascii_come_back(name: str) -> None:
    (part,) = classify(f"cat > {name} <<'É' && python {name}\nprint('ü')\nÉ")
    assert part.pieces[0].text == f"cat > {name} <<'É'\nprint('ü')\nÉ"
    assert part.pieces[1].scripts == (name,)
    assert classify(f"python -c 'print(\"{name}\")'")[0].pieces[0].programs == (f'print("{name}")',)


def test_an_input_that_crashes_the_grammar_does_not_reach_it() -> None:
    """Found by the fuzz test: a segmentation fault, which no `except` catches."""
    assert kind_of("t\u1744\U0005c4d9\U00038d74{\U00085996\U000f7f36") is CODE_RUN


_words = st.sampled_from(
    [
        "python x.py",
        "ls",
        "cat <<EOF",
        "EOF",
        "pip install x",
        *["&&", "||", "|", ";", "&", "(", ")", "{", "}", "'", '"', "$(", "`", ">f", "if", "then", "fi", "\\", "#"],
        "\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(_words, max_size=12).map(" ".join), st.text(max_size=40)))
def test_no_input_breaks_the_router(line: str) -> None:
    for part in classify(line):
        assert part.pieces
        assert part.reason
    assert kind_of(line) in set(CommandKind)


_CODE = st.sampled_from(
    ["python x.py", "./run.sh", "torchrun t.py", "pytest -q", "python -c 'print(1)'", "python - <<'EOF'\nprint(1)\nEOF"]
)
_AROUND: list[Callable[[str], str]] = [
    lambda line: f"( {line}\n)",
    lambda line: "{ " + line + "\n}",
    lambda line: f"if {line}\nthen ls; fi",
    lambda line: f"if ls; then\n{line}\nfi",
    lambda line: f"for i in 1 2; do\n{line}\ndone",
    lambda line: f"case a in a)\n{line}\n;; esac",
    lambda line: f"f() {{\n{line}\n}}\nf",
    lambda line: f"echo $(\n{line}\n)",
    lambda line: f'echo "$(\n{line}\n)" > f',
    lambda line: f"cat <(\n{line}\n)",
    lambda line: f"X=$(\n{line}\n)",
    lambda line: f"ls\n{line}\ncat f",
    lambda line: f"bash <<'OUTER'\n{line}\nOUTER",
    lambda line: f"cd a && bash -c {shlex.quote(line)} || true",
    lambda line: f"timeout 5 sh -c {shlex.quote(line)}",
    lambda line: f"sudo -u me env A=1 bash -lc {shlex.quote(line)}",
    lambda line: f"nohup bash -c {shlex.quote(line)} > log 2>&1 &",
    lambda line: f"ls | xargs -I{{}} sh -c {shlex.quote(line)}",
    lambda line: f"find . -exec sh -c {shlex.quote(line)} \\;",
    lambda line: f"eval {shlex.quote(line)}",
    lambda line: f"trap {shlex.quote(line)} EXIT",
    lambda line: f"watch -n 1 {shlex.quote(line)}",
    lambda line: f"tmux new -d {shlex.quote(line)}",
    lambda line: f"alias x={shlex.quote(line)}",
]


@settings(max_examples=250, deadline=None)
@given(_CODE, st.lists(st.sampled_from(_AROUND), max_size=4))
def test_code_is_found_however_deep_it_is_wrapped(line: str, around: list[Callable[[str], str]]) -> None:
    wrapped = functools.reduce(lambda text, wrap: wrap(text), around, line)
    assert CODE_RUN in [part.kind for part in classify(wrapped)]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["ls", "cd a", "true", "echo x", "cat f | head", "[ -f a ]"]), min_size=1, max_size=5),
    st.sampled_from(["; ", " && ", " || ", "\n", " | "]),
)
def test_code_is_found_wherever_it_stands(others: list[str], joint: str) -> None:
    for place in range(len(others) + 1):
        assert kind_of(joint.join([*others[:place], "python x.py", *others[place:]])) is CODE_RUN
