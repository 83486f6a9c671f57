"""Tables of results per arm, contrasts, failure mixes and libraries. The same records give the same bytes."""

from pathlib import Path

from rubrics_gym.libraries.verifying import Check
from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.files import read_json, read_records
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.report.arms import contrasts, read_episode, results_per_arm
from rubrics_gym.report.libraries import distance_rows, supply_rows
from rubrics_gym.report.mixes import failure_mix, library_rows
from rubrics_gym.report.specs import ARMS, CONTRASTS, FAILURE_MIX, LIBRARIES, LIBRARY_DISTANCES, SUPPLY
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import BuildTables

with job(snakemake, BuildTables) as (settings, log):
    confidence, draws = settings.statistics.confidence, settings.statistics.draws
    episodes = [read_episode(path) for path in snakemake.input.grades]
    distributions = {Path(path).stem: Distribution.model_validate(read_json(path)) for path in snakemake.input.distributions}
    libraries = {
        name: (LibraryManifest.model_validate(read_json(manifest)), read_records(rubrics, Rubric))
        for name, manifest, rubrics in zip(settings.libraries, snakemake.input.manifests, snakemake.input.rubrics, strict=True)
    }
    arms = results_per_arm(episodes, settings.study, settings.simulated, confidence)
    differences = contrasts(episodes, settings.pairs, settings.study, settings.simulated, confidence, draws, settings.seed)
    write_table(ARMS, arms, snakemake.output.arms)
    write_table(CONTRASTS, differences, snakemake.output.contrasts)
    write_table(FAILURE_MIX, failure_mix(distributions, libraries, confidence, draws, settings.seed), snakemake.output.failure_mix)
    verified = {Path(path).parent.name: sum(check.holds for check in read_records(path, Check)) for path in snakemake.input.checks}
    write_table(LIBRARIES, library_rows(libraries, verified), snakemake.output.libraries)
    write_table(SUPPLY, supply_rows(libraries, distributions.values()), snakemake.output.supply)
    write_table(LIBRARY_DISTANCES, distance_rows(libraries, distributions), snakemake.output.library_distances)
    log.info("%d episodes, %d libraries, %d distributions", len(episodes), len(libraries), len(distributions))
