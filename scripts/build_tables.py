"""Tables of results per arm, contrasts and their other readings, failure mixes and libraries. The same records give the same bytes."""

from pathlib import Path

from rubrics_gym.libraries.verifying import Check
from rubrics_gym.records.contrasts import GateLine
from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.files import read_json, read_records
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.report import evaluation_specs as specs
from rubrics_gym.report.arms import arm_rates, ranking, results_per_arm
from rubrics_gym.report.contamination import mark
from rubrics_gym.report.contrasts import Options, analyses, contrasts
from rubrics_gym.report.designs import ladder, noise_rows, planner
from rubrics_gym.report.episodes import read_episode, read_repeated_final
from rubrics_gym.report.libraries import distance_rows, gate_rows, supply_rows
from rubrics_gym.report.mixes import failure_mix, library_rows
from rubrics_gym.report.published import published_rows, read_published
from rubrics_gym.report.specs import FAILURE_MIX, GATES, LIBRARIES, LIBRARY_DISTANCES, SUPPLY
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import BuildTables

with job(snakemake, BuildTables) as (settings, log):
    confidence = settings.statistics.confidence
    options = Options(
        seed=settings.seed, declared_order=settings.declared_order, **settings.statistics.model_dump(), **settings.inference.model_dump()
    )
    of_study = {"study": settings.study, "simulated": settings.simulated}
    episodes = [read_episode(path) for path in snakemake.input.grades]
    again = [read_repeated_final(path) for path in snakemake.input.again]
    distributions = {Path(path).stem: Distribution.model_validate(read_json(path)) for path in snakemake.input.distributions}
    libraries = {
        name: (LibraryManifest.model_validate(read_json(manifest)), read_records(rubrics, Rubric))
        for name, manifest, rubrics in zip(settings.libraries, snakemake.input.manifests, snakemake.input.rubrics, strict=True)
    }
    sizes = {name: len(rubrics) for name, (_, rubrics) in libraries.items()}
    arms = {name: settings.arms[name] for name in settings.order}
    judged = [name for name, arm in arms.items() if arm.judge is not None]
    verified = {Path(path).parent.name: sum(check.holds for check in read_records(path, Check)) for path in snakemake.input.checks}
    made = {
        "arms": (specs.ARMS, results_per_arm(episodes, confidence=confidence, unreachable=settings.unreachable, **of_study)),
        "arm_rates": (specs.ARM_RATES, arm_rates(episodes, confidence=confidence, subsets=settings.subsets, **of_study)),
        "contrasts": (specs.CONTRASTS, contrasts(episodes, settings.pairs, options=options, **of_study)),
        "contrast_analyses": (specs.CONTRAST_ANALYSES, analyses(episodes, settings.pairs, options=options, **of_study)),
        "ranking": (specs.RANKING, ranking(episodes, judged, confidence=confidence, seed=settings.seed, **of_study)),
        "ladder": (specs.LADDER, ladder(episodes, arms, sizes, confidence=confidence, **of_study)),
        "noise": (specs.NOISE, noise_rows(episodes, again, judged, confidence=confidence, **of_study)),
    }
    made = {name: (spec, mark(rows, settings.contaminated)) for name, (spec, rows) in made.items()}
    made |= {
        "planner": (specs.PLANNER, planner(episodes, confidence=confidence, **of_study)),
        "published_results": (
            specs.PUBLISHED_RESULTS,
            published_rows(read_published(snakemake.input.published), read_published(snakemake.input.published_runs)),
        ),
        "failure_mix": (FAILURE_MIX, failure_mix(distributions, libraries, confidence, options.draws, settings.seed)),
        "libraries": (LIBRARIES, library_rows(libraries, verified)),
        "supply": (SUPPLY, supply_rows(libraries, distributions.values())),
        "library_distances": (LIBRARY_DISTANCES, distance_rows(libraries, distributions)),
    }
    if settings.fewest:
        gates = {Path(path).parent.name: read_records(path, GateLine) for path in snakemake.input.gates}
        made["gates"] = (GATES, gate_rows(gates, settings.fewest, libraries, settings.study))
    for name, (spec, rows) in made.items():
        write_table(spec, rows, snakemake.output[name])
    log.info("%d episodes, %d libraries, %d distributions", len(episodes), len(libraries), len(distributions))
