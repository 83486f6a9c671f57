"""One rollout of the agent on a pool task: served from the store when it was made before, else made there and copied here."""

from rubrics_gym.harness.attempts import FILES, WorkPlace, agent_seed, complete_plan, open_plan, record_attempt, record_closed
from rubrics_gym.harness.episode import PROTOCOL, Attempt
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_client, require_key
from rubrics_gym.settings.code import digest
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import CollectRollout
from rubrics_gym.settings.study import Arm, CodeRuns
from rubrics_gym.settings.units import KEYED_INPUTS
from rubrics_gym.store.serving import hand_over, open_attempts, settle_requests, slot, work_key

with job(snakemake, CollectRollout) as (settings, log):
    w = snakemake.wildcards
    unit = f"rollouts/{w.collection}/{w.benchmark}/{w.task}/{w.attempt}"
    asked = {name: snakemake.input[name] for name in KEYED_INPUTS["collect_rollout"]}
    code = digest(snakemake.params.code)
    store = open_attempts(snakemake.resources.asking)

    def describe(task, number):
        return Attempt(
            unit=unit,
            number=number,
            task=task,
            arm_name="execute",
            arm=Arm(code_runs=CodeRuns.EXECUTE),
            limits=settings.limits,
            model=settings.agent,
            seed=agent_seed(settings.seed, w.collection, w.task, w.attempt),
            code=code,
            lost_attempts=tuple(lost.name for lost in store.lost(unit, key)),
        )

    def make(attempt):
        plan = open_plan(attempt.folder)
        given = {"plan": plan} if settings.simulation else {}
        with (
            WorkPlace(snakemake.input.public) as place,
            open_client(
                settings.agent,
                "agent",
                settings.simulation,
                unit,
                f"{key}/{attempt.number}",
                snakemake.input.prices,
                snakemake.resources.asking,
                settings.limits.cost_usd,
                in_attempt=True,
                **given,
            ) as client,
        ):
            prompts = load_prompt(snakemake.input.prompt), load_prompt(snakemake.input.feedback)
            end = record_attempt(describe(place.task, attempt.number), client, None, settings.sandbox, place, attempt.folder, *prompts)
            log.info("ended: %s after %d steps", end.reason, end.steps)
        complete_plan(attempt.folder, [other.folder for other in store.of_unit(unit) if other.name != attempt.name])

    def close(closed, folder):
        settle_requests(snakemake.resources.asking, [unit])
        with WorkPlace(snakemake.input.public) as place:
            end = record_closed(describe(place.task, 0), closed, folder, [other.folder for other in store.of_unit(unit)])
        log.warning("%s", end.reason)

    key = work_key(settings, asked, PROTOCOL)

    def check():
        require_key(settings.agent, "agent", snakemake.resources.asking)

    with slot(store, unit, key, code, snakemake.resources.asking, check, make, close) as folder:
        log.info("taken from %s", folder)
        hand_over(store, unit, folder, FILES, [unit], snakemake.output)
