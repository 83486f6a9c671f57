"""What would it cost? What would rerun now, what of it the store already holds, and what the rest will take, with a range. Sends and runs nothing.

Call: make plan [STUDY=config/studies/mine.yaml] [CONFIG='evaluation={split: all}']
"""

import contextlib
import io
import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import yaml
from snakemake.api import SnakemakeApi
from snakemake.exceptions import WorkflowError
from snakemake.settings.enums import RerunTrigger
from snakemake.settings.types import ConfigSettings, DAGSettings, ExecutionSettings, OutputSettings, ResourceSettings, WorkflowSettings

from rubrics_gym.models.prices import UnknownPrice, load_prices
from rubrics_gym.settings.loading import ConfigurationError, load_study
from rubrics_gym.settings.places import store_folder
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.studies.estimates import load_expectations
from rubrics_gym.studies.planning import PlannedJob, Plans, plan_text

PROFILE = Path("profiles/default/config.yaml")


def planned_jobs(configfile, overrides):
    """The jobs that Snakemake would run now, in the order of the rules, and its configuration: the same dry-run that `snakemake -n` makes."""
    profile = yaml.safe_load(PROFILE.read_text())
    triggers = RerunTrigger.parse_choices_set(profile["rerun-triggers"])
    with SnakemakeApi(OutputSettings(dryrun=True, enable_file_logging=False, log_level_override=logging.ERROR)) as api:
        workflow = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=(Path(configfile),), config=overrides),
            workflow_settings=WorkflowSettings(),
            snakefile=Path("Snakefile"),
        )
        dag = workflow.dag(DAGSettings(rerun_triggers=triggers, max_checksum_file_size=profile["max-checksum-file-size"]))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            dag.execute_workflow(executor="dryrun", execution_settings=ExecutionSettings(lock=False))
        inner = workflow._workflow  # the API itself gives no list of jobs
        order = {rule.name: number for number, rule in enumerate(inner.rules)}
        jobs = [
            PlannedJob(
                job.rule.name,
                dict(job.wildcards_dict),
                dict(job.input.items()),
                tuple(job.output),
                bool(job.resources.get("gpu")),
                len(job.input.get("trajectories", ())),
            )
            for job in inner.dag.needrun_jobs(exclude_finished=False)
            if job.rule.name != "all"
        ]
        return sorted(jobs, key=lambda job: order[job.rule]), dict(inner.config)


if __name__ == "__main__":
    os.environ["RUBRICS_PLANNING"] = "1"  # sources of benchmarks may still have to be fetched
    configfile = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] else "config/config.yaml"
    try:
        overrides = yaml.safe_load("{" + ", ".join(part.replace("=", ": ", 1) for part in sys.argv[2:] if part) + "}")
        jobs, config = planned_jobs(configfile, overrides)
        study = load_study(config, configfile)
        prices, expectations = load_prices("resources/prices.yaml"), load_expectations("resources/expectations.yaml")
        plans = Plans(study, store_folder(), prices, datetime.now(UTC).date(), expectations)
        measured = Path(study.pathvars.get("results", "results"), "benchmarks")
        print(plan_text(study.name, plans.lines(jobs, measured), StudyRecord(store_folder(), study.name).standing))
    except (ConfigurationError, UnknownPrice, WorkflowError, yaml.YAMLError) as error:
        sys.exit(f"plan: {error}")
