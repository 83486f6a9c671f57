#!/usr/bin/env bash
# Makes .venv with the locked packages and the sandbox's wheel folder. Does nothing when both are there already, so it works offline after the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
say() { printf '%s\n' "$*" >&2; }

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "set-up: $python is $("$python" --version 2>&1), but Python 3.11 or newer is needed. Install one and name it: make PYTHON=python3.12 dashboard"
    exit 1
fi

if ! command -v bwrap >/dev/null; then
    say "set-up: bubblewrap is missing. Install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)."
    say "        Meanwhile agents' commands do not run: the workflow refuses to start, and tests that need the sandbox are skipped. Without isolation"
    say "        (only for simulated models, at your own risk): snakemake results/dashboard.html --config 'sandbox={kind: unsafe}'"
fi

locks=(envs/requirements.txt envs/requirements-no-deps.txt envs/wheels.txt)
wanted=$({ "$python" --version; cat "${locks[@]}"; } | sha256sum | cut -d' ' -f1)
if [ "$(cat .venv/locked 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

free_mb=$(df -Pm . | awk 'NR==2 {print $4}')
if [ "$free_mb" -lt 5000 ]; then
    say "set-up: $free_mb MB are free here, but the environment and a run of the default study need 5,000 MB. Free some space, or clone the repository elsewhere."
    exit 1
fi

say "set-up: making .venv (about 3 GB, some minutes the first time)"
"$python" -m venv --clear .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off -r envs/requirements.txt
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r envs/requirements-no-deps.txt
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest .venv/wheels -r envs/wheels.txt
printf '%s\n' "$wanted" > .venv/locked
say "set-up: done"
