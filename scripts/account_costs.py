"""What the study really took: requests and money, attempts with the lost ones, measured times."""

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.files import read_json, read_records
from rubrics_gym.records.trajectory import EndEvent, FinalEvent
from rubrics_gym.report.ledger import attempt_rows, each_once, last_lines, request_rows
from rubrics_gym.report.specs import ATTEMPTS, REQUESTS, TIMES
from rubrics_gym.report.times import attempt_times, time_rows
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import AccountCosts
from rubrics_gym.store.attempts import AttemptRow

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
    write_table(REQUESTS, request_rows(lines, settings.study, settings.simulated), snakemake.output.requests)
    write_table(ATTEMPTS, attempt_rows(attempts, ends, settings.study, settings.simulated), snakemake.output.attempts)
    write_table(TIMES, time_rows(times, settings.study, settings.simulated, settings.statistics.confidence), snakemake.output.times)
    log.info("%d requests, %d attempts", len(lines), len(attempts))
