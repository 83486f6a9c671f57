# The two commands of the README are `make dashboard` and `make test`; both make the environment first.

.PHONY: dashboard test check evidence environment grading docs seal fresh stop resume retry accept thresholds freeze plan pilot compare design source task_table api_changes

BIN := .venv/bin
ATTACKS := tests/unit/test_harness_sandbox_attacks.py

dashboard: environment
	$(BIN)/snakemake results/dashboard.html
	@echo "Open results/dashboard.html"

# Groups of tests do nothing with pytest 9.2 and pytest-xdist 3.8, which sets a name that pytest no longer reads; so no test may need one.
# The attacks on the sandbox run alone: an ordinary user's sandboxes without namespaces cannot tell their segments below /dev/shm apart.
test: environment
	$(BIN)/pytest -n auto --dist worksteal --ignore $(ATTACKS)
	$(BIN)/pytest $(ATTACKS)

# Style, types, rooms, drift of the generated documentation.
check: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/mypy
	cd scripts && ../$(BIN)/lint-imports --config ../pyproject.toml
	$(BIN)/snakemake --lint

# Measures afresh what a milestone must show: make evidence NAME=end_to_end (as a module: evidence about requests must not hide the package requests)
evidence: environment
	$(BIN)/python -m tests.evidence.$(NAME)

environment:
	@bash envs/set_up.sh

# Makes .venv-grading, where the evaluation programs of outside benchmarks run.
grading: environment
	@bash envs/grading/set_up.sh

# Writes config/schema.json and config/README.md from the models of the configuration.
docs: environment
	PYTHONPATH=scripts $(BIN)/python -m rubrics_gym.settings.documentation

# Compares the releases that resources/api_releases.txt lists (fetched from the package index: some gigabytes) and writes resources/api_changes.tsv.
api_changes: environment
	PYTHONPATH=scripts $(BIN)/python -m rubrics_gym.failures.api_history

# Runs the reference solutions and writes the medal thresholds of the packaged competitions.
thresholds: environment
	PYTHONPATH=scripts $(BIN)/python -m rubrics_gym.grading.references

# Fetch the source of a benchmark into sources/ (or look through the one that is there): make source NAME=dabench
# With TASKS, its owner's client prepares these: make source NAME=mlebench TASKS="spaceship-titanic"
source: environment
	RUBRICS_PREPARE="$(TASKS)" $(BIN)/snakemake results/sources/$(NAME).json --force

# Rewrite the task table of a benchmark from a clone of its repository: make task_table NAME=dabench CHECKOUT=FOLDER
task_table: environment
	PYTHONPATH=scripts $(BIN)/python -m rubrics_gym.tasks.tabulation $(NAME) $(CHECKOUT)

# A finished collection that nothing plans again: make seal COLLECTION=pool, then set sealed: true.
seal: environment
	PYTHONPATH=scripts $(BIN)/python scripts/seal_collection.py $(COLLECTION)

# Ask for paid work anew: make fresh UNIT=rollouts/pool/packaged/TASK/0 [RESULTS=results/other]; the run after it asks, and costs money
fresh: environment
	PYTHONPATH=scripts $(BIN)/python scripts/ask_anew.py $(UNIT) $(RESULTS)

# Stop a study: what has begun goes on to its end, nothing else begins: make stop [STUDY=config/studies/mine.yaml, or a results folder]
stop: environment
	@PYTHONPATH=scripts $(BIN)/python scripts/stop_study.py $(or $(STUDY),config/config.yaml)

# Let a stopped study go on, as a continuation, under the budget that it says now: make resume [STUDY=config/studies/mine.yaml, or a results folder]
resume: environment
	@PYTHONPATH=scripts $(BIN)/python scripts/resume_study.py $(or $(STUDY),config/config.yaml)

# Attempt again what was lost to the infrastructure, from the answers that it had: make retry [STUDY=config/studies/mine.yaml, or a results folder]
retry: environment
	@PYTHONPATH=scripts $(BIN)/python scripts/retry_lost.py $(or $(STUDY),config/config.yaml)

# Accept existing outputs of a rule under new settings or code: make accept RULE=merge_library [STUDY=config/studies/mine.yaml]
accept: environment
	$(BIN)/snakemake --touch --until $(RULE) --configfile $(or $(STUDY),config/config.yaml)

# Freeze a study so that others can recompute it: make freeze NAME=small STUDY=config/studies/small.yaml
freeze: environment
	PATH=$(CURDIR)/$(BIN):$$PATH PYTHONPATH=scripts $(BIN)/python scripts/freeze_protocol.py $(NAME) $(or $(STUDY),config/config.yaml)

# What would rerun now and what it would cost: make plan [STUDY=config/studies/mine.yaml] [CONFIG='evaluation={split: all}']
plan: environment
	@PYTHONPATH=scripts $(BIN)/python scripts/plan_costs.py "$(STUDY)" "$(CONFIG)"

# In what two finished studies differ, as a page: make compare FIRST=results SECOND=results/other
compare: environment
	@PYTHONPATH=scripts $(BIN)/python scripts/compare_studies.py $(FIRST) $(SECOND) $(or $(PAGE),comparison.html)

# What a comparison of two arms could show, before it is paid for: make design TASKS=22 RUN_SD=1.35
design: environment
	@PYTHONPATH=scripts $(BIN)/python scripts/plan_design.py $(TASKS) $(RUN_SD) $(REPEATS)

# One task per collection and per arm without a library, then what the rest would cost, from what the pilot took: make pilot [STUDY=config/studies/mine.yaml]
pilot: environment
	$(BIN)/snakemake pilot --configfile $(or $(STUDY),config/config.yaml)
	@PYTHONPATH=scripts $(BIN)/python scripts/plan_costs.py "$(STUDY)" "$(CONFIG)"
