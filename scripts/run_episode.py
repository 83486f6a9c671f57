"""One episode on a held-out task under one arm: served from the store when it was made before, else made there and copied here."""

from contextlib import ExitStack

from rubrics_gym.harness.attempts import FILES, SNAPSHOTS, WorkPlace, agent_seed, complete_plan, open_plan, record_attempt, record_closed
from rubrics_gym.harness.episode import PROTOCOL, Attempt
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_client, require_key
from rubrics_gym.records.archives import write_archive
from rubrics_gym.settings.code import digest
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import RunEpisode
from rubrics_gym.settings.units import KEYED_INPUTS
from rubrics_gym.store.serving import hand_over, open_attempts, settle_requests, slot, work_key


def open_judge(stack, settings, unit, account, inputs, asking):
    """The judge of the arm, asking on behalf of the episode; None for an arm without one."""
    if settings.arm.judge is None:
        return None
    from rubrics_gym.judge.judging import Judge
    from rubrics_gym.judge.opening import open_lookup

    lookup = open_lookup(settings.arm.judge, inputs)
    given = {"encode": lookup.encoder.encode if lookup else None} if settings.judge_simulation else {}
    client = stack.enter_context(
        open_client(settings.judge, "judge", settings.judge_simulation, unit, account, inputs.prices, asking, in_attempt=True, **given)
    )
    return Judge(settings.arm_name, client, settings.judge, load_prompt(inputs.judge_prompt), settings.seed, lookup)


with job(snakemake, RunEpisode) as (settings, log):
    w = snakemake.wildcards
    unit = f"episodes/{w.arm}/{w.repeat}/{w.benchmark}/{w.task}"
    judge_unit = f"judge/{unit}"
    asked = {name: snakemake.input[name] for name in KEYED_INPUTS["run_episode"] if snakemake.input.get(name)}
    code = digest(snakemake.params.code)
    store = open_attempts(snakemake.resources.asking)

    def describe(task, number):
        return Attempt(
            unit=unit,
            number=number,
            task=task,
            arm_name=settings.arm_name,
            arm=settings.arm,
            limits=settings.limits,
            model=settings.agent,
            seed=agent_seed(settings.seed, w.benchmark, w.task, w.repeat),  # the same under every arm
            code=code,
            lost_attempts=tuple(lost.name for lost in store.lost(unit, key)),
        )

    def make(attempt):
        plan = open_plan(attempt.folder)
        given = {"plan": plan} if settings.simulation else {}
        with ExitStack() as stack:
            place = stack.enter_context(WorkPlace(snakemake.input.public))
            client = stack.enter_context(
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
                )
            )
            judge = open_judge(stack, settings, judge_unit, f"{key}/{attempt.number}", snakemake.input, snakemake.resources.asking)
            prompts = load_prompt(snakemake.input.prompt), load_prompt(snakemake.input.feedback)
            what = describe(place.task, attempt.number)
            end = record_attempt(what, client, judge, settings.sandbox, place, attempt.folder, *prompts, snapshots=settings.snapshots)
            log.info("ended: %s after %d steps", end.reason, end.steps)
        complete_plan(attempt.folder, [other.folder for other in store.of_unit(unit) if other.name != attempt.name])

    def close(closed, folder):
        settle_requests(snakemake.resources.asking, [unit, judge_unit])
        with WorkPlace(snakemake.input.public) as place:
            end = record_closed(describe(place.task, 0), closed, folder, [other.folder for other in store.of_unit(unit)])
        log.warning("%s", end.reason)

    key = work_key(settings, asked, PROTOCOL)
    files = {**FILES, SNAPSHOTS: "snapshots"} if settings.snapshots else FILES
    if snakemake.output.get("snapshots") and not settings.snapshots:  # an arm in which no prediction stands in for a run
        write_archive(snakemake.output.snapshots, {})

    def check():
        require_key(settings.agent, "agent", snakemake.resources.asking)
        if settings.judge is not None and settings.arm.judge is not None:
            require_key(settings.judge, "judge", snakemake.resources.asking)

    with slot(store, unit, key, code, snakemake.resources.asking, check, make, close) as folder:
        log.info("taken from %s", folder)
        hand_over(store, unit, folder, files, [unit, judge_unit], snakemake.output)
