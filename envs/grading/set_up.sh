#!/usr/bin/env bash
# Makes .venv-grading, the environment in which outside evaluation programs run. Does nothing when it is there already.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-python3}
wanted=$({ "$python" --version; cat envs/grading/requirements.txt; } | sha256sum | cut -d' ' -f1)
if [ "$(cat .venv-grading/locked 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
printf '%s\n' "set-up: making .venv-grading (about 500 MB)" >&2
"$python" -m venv --clear .venv-grading
.venv-grading/bin/python -m pip install --quiet --disable-pip-version-check --progress-bar off -r envs/grading/requirements.txt
printf '%s\n' "$wanted" > .venv-grading/locked
