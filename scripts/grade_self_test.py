"""Test the grader of one competition with submissions whose worth is known, before it grades anything."""

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.mlebench import self_test
from rubrics_gym.records.files import write_json
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    test = self_test(PrivateBundle(snakemake.input.private))
    write_json(snakemake.output.self_test, test)
    log.info(
        "%s: reference answers %s (perfect: %s), sample %s, shuffled %s",
        test.competition,
        test.gold,
        test.perfect,
        test.sample,
        test.shuffled,
    )
    if test.order_matters:
        log.warning("%s: the official score changes with the order of the rows", test.competition)
