# The two commands of the README are `make dashboard` and `make test`; both make the environment first.

.PHONY: dashboard test check evidence environment docs seal fresh accept thresholds

BIN := .venv/bin

dashboard: environment
	$(BIN)/snakemake results/dashboard.html
	@echo "Open results/dashboard.html"

test: environment
	$(BIN)/pytest -n auto --dist loadgroup

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

# Writes config/schema.json and config/README.md from the models of the configuration.
docs: environment
	PYTHONPATH=scripts $(BIN)/python -m rubrics_gym.settings.documentation

# Runs the reference solutions and writes the medal thresholds of the packaged competitions.
thresholds: environment
	PYTHONPATH=scripts $(BIN)/python -m rubrics_gym.grading.references

# A finished collection that nothing plans again: make seal COLLECTION=pool, then set sealed: true.
seal: environment
	PYTHONPATH=scripts $(BIN)/python scripts/seal_collection.py $(COLLECTION)

# Ask for paid work anew: make fresh UNIT=rollouts/pool/packaged/TASK/0
fresh: environment
	PYTHONPATH=scripts $(BIN)/python scripts/ask_anew.py $(UNIT)

# Accept existing outputs of a rule under new settings or code: make accept RULE=merge_library
accept: environment
	$(BIN)/snakemake --touch --until $(RULE)
