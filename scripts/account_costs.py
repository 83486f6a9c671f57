"""What the study really took: requests and money, attempts with the lost ones, measured times."""

from rubrics_gym.harness.outcomes import was_run
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.files import iter_json_lines, read_json, read_records
from rubrics_gym.records.trajectory import EndEvent, FinalEvent
from rubrics_gym.report.contamination import mark
from rubrics_gym.report.contrasts import Options
from rubrics_gym.report.evaluation_specs import REPLACED, TIME_CONTRASTS, TIMES
from rubrics_gym.report.ledger import attempt_rows, each_once, last_lines, request_rows, unit_cost_rows
from rubrics_gym.report.specs import ATTEMPTS, REQUESTS, UNIT_COSTS
from rubrics_gym.report.times import attempt_times, replaced_row, time_contrasts, time_rows
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import AccountCosts
from rubrics_gym.store.attempts import AttemptRow


def count_lines(path):
    """Records of a JSON-lines file."""
    return sum(1 for _ in iter_json_lines(path))


with job(snakemake, AccountCosts) as (settings, log):
    finals = dict(zip(snakemake.input.final_of, snakemake.input.finals, strict=True))
    ends, times = {}, []
    for path in snakemake.input.trajectories:
        events = read_trajectory(path)
        if path in finals:
            events.append(FinalEvent.model_validate(read_json(finals[path])))
        ends[events[0].unit] = next((event.reason for event in events if isinstance(event, EndEvent)), "")
        if was_run(events):  # a slot that was not run took no time: it has none, which is not 0
            times.append(attempt_times(events))
    lines = each_once(line for path in snakemake.input.requests for line in last_lines(path))
    attempts = [row for path in snakemake.input.attempts for row in read_records(path, AttemptRow)]
    sizes = dict(zip(settings.asked_for, map(count_lines, snakemake.input.rubrics), strict=True))
    libraries = {name: (sizes[name], units) for name, units in settings.asked_for.items()}
    confidence, of_study = settings.statistics.confidence, {"study": settings.study, "simulated": settings.simulated}
    requests = request_rows(lines, library_of=settings.library_of, libraries=libraries, **of_study)
    write_table(REQUESTS, requests, snakemake.output.requests)
    write_table(UNIT_COSTS, unit_cost_rows(lines, libraries, confidence=confidence, **of_study), snakemake.output.unit_costs)
    write_table(ATTEMPTS, attempt_rows(attempts, ends, **of_study), snakemake.output.attempts)
    measured = time_rows(times, confidence=confidence, ceiling=settings.ceiling, **of_study)
    write_table(TIMES, mark(measured, settings.contaminated), snakemake.output.times)
    options = Options(confidence=confidence, draws=settings.statistics.draws, seed=settings.seed)
    compared = time_contrasts(times, settings.pairs, split=settings.split, options=options, **of_study)
    write_table(TIME_CONTRASTS, mark(compared, settings.contaminated), snakemake.output.time_contrasts)
    spared = [replaced_row(read_records(path, ReplayedVerdict), confidence=confidence, **of_study) for path in snakemake.input.verdicts]
    write_table(REPLACED, mark(spared, settings.contaminated), snakemake.output.replaced)
    log.info("%d requests, %d attempts", len(lines), len(attempts))
