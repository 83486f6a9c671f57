"""What the study really took: requests and money, attempts with the lost ones, measured times."""

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.files import iter_json_lines, read_json, read_records
from rubrics_gym.records.trajectory import EndEvent, FinalEvent
from rubrics_gym.report.ledger import attempt_rows, each_once, last_lines, request_rows, unit_cost_rows
from rubrics_gym.report.specs import ATTEMPTS, REQUESTS, TIMES, UNIT_COSTS
from rubrics_gym.report.times import attempt_times, time_rows
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import AccountCosts
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
        times.append(attempt_times(events))
    lines = each_once(line for path in snakemake.input.requests for line in last_lines(path))
    attempts = [row for path in snakemake.input.attempts for row in read_records(path, AttemptRow)]
    sizes = dict(zip(settings.asked_for, map(count_lines, snakemake.input.rubrics), strict=True))
    libraries = {name: (sizes[name], units) for name, units in settings.asked_for.items()}
    of_study = settings.study, settings.simulated
    write_table(REQUESTS, request_rows(lines, *of_study, settings.library_of, libraries), snakemake.output.requests)
    write_table(UNIT_COSTS, unit_cost_rows(lines, libraries, *of_study, settings.statistics.confidence), snakemake.output.unit_costs)
    write_table(ATTEMPTS, attempt_rows(attempts, ends, settings.study, settings.simulated), snakemake.output.attempts)
    write_table(TIMES, time_rows(times, settings.study, settings.simulated, settings.statistics.confidence), snakemake.output.times)
    log.info("%d requests, %d attempts", len(lines), len(attempts))
