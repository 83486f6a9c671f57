"""Try out one task with two agents that need no model: the reference answer must score in full, nothing must score as missing."""

import tempfile
from pathlib import Path

from rubrics_gym.grading.acceptance import Acceptance, oracle_verdict, reference_answer
from rubrics_gym.grading.attempts import grade
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.harness.acceptance import NOP, ORACLE, ScriptedAgent, lay_out
from rubrics_gym.harness.attempts import WorkPlace, record_attempt
from rubrics_gym.harness.episode import Attempt
from rubrics_gym.harness.evaluation import run_in_sandbox
from rubrics_gym.harness.outcomes import attempt_outcome
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.records.archives import unpack_archive
from rubrics_gym.records.files import write_json
from rubrics_gym.settings.code import digest
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import GradeAcceptance
from rubrics_gym.settings.study import Arm, CodeRuns, ModelSettings

with job(snakemake, GradeAcceptance) as (settings, log):
    w = snakemake.wildcards
    prompts = load_prompt(snakemake.input.prompt), load_prompt(snakemake.input.feedback)

    def tried(name, lines, reference):
        """The grade of an attempt by one agent."""
        with WorkPlace(snakemake.input.public) as place, tempfile.TemporaryDirectory() as name_of_folder:
            lay_out(reference, place.work)
            what = Attempt(
                unit=f"acceptance/{w.benchmark}/{w.task}/{name}",
                number=1,
                task=place.task,
                arm_name="execute",
                arm=Arm(code_runs=CodeRuns.EXECUTE),
                limits=settings.limits,
                model=ModelSettings(model=name),
                seed=0,
                code=digest(snakemake.params.code),
            )
            folder = Path(name_of_folder)
            record_attempt(what, ScriptedAgent(lines), None, settings.sandbox, place, folder, *prompts)
            unpack_archive(folder / "artifacts.tar.gz", folder / "left")
            outcome = attempt_outcome(read_trajectory(folder / "trajectory.jsonl"))
            sandbox = run_in_sandbox(settings.sandbox, settings.limits)
            return grade(snakemake.input.private, folder / "left" / place.task.deliverable, outcome, sandbox)

    reference = reference_answer(PrivateBundle(snakemake.input.private))
    acceptance = Acceptance(
        benchmark=w.benchmark,
        task=w.task,
        oracle=tried("oracle", ORACLE, reference) if reference else None,
        nop=tried("nop", NOP, {}),
    )
    write_json(snakemake.output.acceptance, acceptance)
    log.info("%s %s: oracle %s, nop %s", w.benchmark, w.task, oracle_verdict(acceptance), acceptance.nop.outcome)
