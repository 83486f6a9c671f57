# The checked study, the task lists that span the DAG, and the provenance parameters of rules.

import csv
import os
import re
import sys
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.jobs import Job
from snakemake.settings.types import ExecMode

sys.path.insert(0, str(Path(workflow.basedir) / "scripts"))

from rubrics_gym.interchange.sources import candidates
from rubrics_gym.models.keys import MissingKey, check_keys
from rubrics_gym.grading.attempts import grader_module
from rubrics_gym.harness.sandbox import SandboxRefused, check_isolation
from rubrics_gym.records.files import DamagedFile, write_text
from rubrics_gym.records.tasks import Role
from rubrics_gym.settings import code as code_settings
from rubrics_gym.settings.asking import asking_of, read_asking
from rubrics_gym.settings import loading, lock, slices, units
from rubrics_gym.settings.places import store_folder, use_store, wheel_folder
from rubrics_gym.settings.study import (
    Contrasted,
    Imported,
    Matched,
    Mined,
    Mode,
    ProviderName,
    Quota,
    RandomSample,
    Reproduction,
    Scrambled,
)
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.sealing import check_seal
from rubrics_gym.store.serving import has_work
from rubrics_gym.store.stops import StudyRecord, TermsLoosened
from rubrics_gym.studies import protocols
from rubrics_gym.studies.progress import Progress, progress, resumption_mark
from rubrics_gym.tasks import loaders
from rubrics_gym.tasks.catalog import CatalogError, benchmark_names, load_benchmark, task_fingerprint
from rubrics_gym.tasks.holdouts import NoTasks, list_tasks
from rubrics_gym.tasks.roles import RoleConflict, check_collected, check_evaluation, check_mined
from rubrics_gym.tasks.sources import SourceProblem, check_complete, receipt_of
from rubrics_gym.tasks.terms import TermsNotAccepted, check_accepted

CONFIG_SOURCE = " + ".join(str(path) for path in workflow.configfiles) or "the configuration"
RESULTS = workflow.pathvars.apply("<results>")


PLANNING = "RUBRICS_PLANNING" in os.environ  # `make plan` looks at a study whose sources may still have to be fetched; it runs nothing


def checked_study():
    """The study, or one paragraph that says what is wrong with the configuration."""
    try:
        return loading.load_study(config, CONFIG_SOURCE)
    except loading.ConfigurationError as error:
        raise WorkflowError(str(error)) from None


STUDY = checked_study()
ASKING = asking_of(STUDY)  # resource of all that ask a model: mode, servers, time limits, budget


def frozen_protocol():
    """Folder of the protocol that the configuration is, once nothing differs from what was frozen; None for an ordinary study.

    Its run has a store of its own: recorded attempts and responses are served from there, and nothing is mixed with this machine's.
    """
    if STUDY.protocol is None:
        return None
    folder = protocols.PROTOCOLS / STUDY.protocol.name
    try:
        protocols.check_lock(folder, STUDY, Path("."), STUDY.protocol.strict_code)
    except (protocols.ProtocolChanged, DamagedFile) as error:
        raise WorkflowError(str(error)) from None
    if STUDY.protocol.by is Reproduction.REEXECUTE and RESULTS == f"results/protocols/{STUDY.protocol.name}":
        raise WorkflowError(
            f"{CONFIG_SOURCE}: `protocol.by: reexecute` needs a results folder of its own: --config 'pathvars={{results: {RESULTS}_reexecuted}}'"
        )
    use_store(protocols.store_of(STUDY.protocol))
    return folder


PROTOCOL = frozen_protocol()

if Path(RESULTS).exists() and not Path(RESULTS).is_dir():
    raise WorkflowError(
        f"{RESULTS}: the results folder cannot be written, because a file of that name is in its place. Move the file away."
    )


def selected(selection, where):
    """Ids of the tasks that a selection takes: those of its role that pass the hold-out filter, in the order of the table."""
    try:
        benchmark = load_benchmark(selection.benchmark)
    except CatalogError:
        raise WorkflowError(
            f"{CONFIG_SOURCE}: `{where}.benchmark`: there is no benchmark `{selection.benchmark}` in resources/benchmarks/."
        ) from None
    try:
        return list_tasks(benchmark.name, selection.role, selection.limit, STUDY.holdouts, STUDY.evaluation.benchmark, selection.prepared)
    except CatalogError as error:
        raise WorkflowError(f"{CONFIG_SOURCE}: `{where}`: {error}") from None
    except NoTasks:
        raise WorkflowError(
            f"{CONFIG_SOURCE}: `{where}`: the benchmark `{selection.benchmark}` has no task in the role `{selection.role.value}` that the hold-out filter keeps and that can be run as it is."
        ) from None


def held_out_tasks():
    """Ids of the tasks of the evaluation's split."""
    evaluation = STUDY.evaluation
    try:
        splits = load_benchmark(evaluation.benchmark).splits
    except CatalogError:
        raise WorkflowError(
            f"{CONFIG_SOURCE}: `evaluation.benchmark`: there is no benchmark `{evaluation.benchmark}` in resources/benchmarks/."
        ) from None
    if not splits.get(evaluation.split):
        raise WorkflowError(
            f"{CONFIG_SOURCE}: `evaluation.split`: the benchmark `{evaluation.benchmark}` has no split `{evaluation.split}`; it has {', '.join(splits)}."
        )
    return list(splits[evaluation.split])


def held_out_names():
    """Ids of all held-out tasks of the evaluation's benchmark, in whatever split."""
    return [entry.id for entry in load_benchmark(STUDY.evaluation.benchmark).entries if entry.role is Role.HELD_OUT]


def refuse_unknown_competitions():
    """Competitions that the tables leave out must exist: a name that is none would leave out nothing."""
    known, evaluation = held_out_names(), STUDY.evaluation
    named = {"unreachable": evaluation.unreachable} | {f"subsets.{name}": tasks for name, tasks in evaluation.subsets.items()}
    for where, task in ((where, task) for where, tasks in named.items() for task in tasks if task not in known):
        raise WorkflowError(
            f"{CONFIG_SOURCE}: `evaluation.{where}` names `{task}`, which is no held-out task of {evaluation.benchmark}. "
            f"results/tables/pool.csv lists them."
        )


def refuse_held_out_collections():
    """No held-out task is collected."""
    try:
        for name, collection in STUDY.collected.items():
            check_collected(name, collection.tasks.role)
    except RoleConflict as error:
        raise WorkflowError(f"{CONFIG_SOURCE}: {error}") from None


refuse_held_out_collections()
HELD_OUT_TASKS = held_out_tasks()
refuse_unknown_competitions()
POOL_TASKS = {name: selected(collection.tasks, f"collections.{name}.tasks") for name, collection in STUDY.collected.items()}
EXECUTE_ARM = loading.execute_arm(STUDY)
JUDGES = slices.judges(STUDY)
LIBRARY_JUDGES = slices.library_judges(STUDY)
HELDOUT_MIX = loading.heldout_mix(STUDY)
SHADOWED = [arm for arm in STUDY.evaluation.arms if slices.takes_snapshots(STUDY, arm)]
SIMULATED_AGENT = STUDY.models.agent.provider is ProviderName.SIMULATED
READERS = bool(STUDY.models.second_classifier or STUDY.labelling.sheets)  # whether any two read the same failures


def refuse_wrong_roles():
    """Only tasks for training are mined, and no task is collected and evaluated, under any name."""
    mined = {name for library in STUDY.libraries for name in loading.collections_behind(STUDY, library)}
    collected = {name: (collection.tasks.benchmark, POOL_TASKS[name]) for name, collection in STUDY.collected.items()}
    try:
        for name in sorted(mined & collected.keys()):
            check_mined(name, STUDY.collected[name].tasks.role)
            check_accepted(load_benchmark(collected[name][0]), STUDY.accepted_terms, "mining")
        check_evaluation(STUDY.evaluation.benchmark, HELD_OUT_TASKS, collected)
    except (RoleConflict, TermsNotAccepted) as error:
        raise WorkflowError(f"{CONFIG_SOURCE}: {error}") from None


def refuse_missing_sources():
    """Tasks whose files are not there, or whose owner asks for something that was not accepted, are refused before anything starts."""
    if PLANNING:
        return
    used = [(f"collections.{name}.tasks", collection.tasks.benchmark, POOL_TASKS[name]) for name, collection in STUDY.collected.items()]
    for where, benchmark, tasks in [*used, ("evaluation", STUDY.evaluation.benchmark, HELD_OUT_TASKS)]:
        try:
            check_accepted(load_benchmark(benchmark), STUDY.accepted_terms)
            check_complete(load_benchmark(benchmark), tasks)
        except (SourceProblem, TermsNotAccepted, DamagedFile) as error:
            raise WorkflowError(f"{CONFIG_SOURCE}: `{where}`: {error}") from None


refuse_wrong_roles()
refuse_missing_sources()


def source_receipt(benchmark):
    """The receipt of the cached source that a task is made from; nothing for tables that ship inside packages."""
    source = load_benchmark(benchmark).source
    if PLANNING:
        return []
    return [str(receipt_of(benchmark))] if source.repository or source.client else []


def other_loaders(benchmark):
    """The loaders of all other benchmarks: an edit of one plans the tasks of no other."""
    return [f"{loaders.ROOM}.{name}" for name in benchmark_names() if name != benchmark]


def logs_of(collection):
    """The files that an imported collection looks at."""
    path = STUDY.imported[collection].path
    try:
        return [str(file) for file in candidates(Path(path))]
    except FileNotFoundError:
        raise WorkflowError(
            f"{CONFIG_SOURCE}: `collections.{collection}.import`: there is no file or folder {path}; give a path from the repository's top."
        ) from None


LOGS = {name: logs_of(name) for name in STUDY.imported}
IMPORTS = {f"{RESULTS}/rollouts/{name}/imported" for name in STUDY.imported}


def rollouts(collection):
    """Folders of all rollouts of a collection; the one folder that holds them all when it is imported."""
    if collection in STUDY.imported:
        return [f"{RESULTS}/rollouts/{collection}/imported"]
    chosen = STUDY.collections[collection]
    return [
        f"{RESULTS}/rollouts/{collection}/{chosen.tasks.benchmark}/{task}/{attempt}"
        for task in POOL_TASKS[collection]
        for attempt in range(chosen.attempts)
    ]


def episodes(arm):
    """Folders of all episodes of an arm on the current split."""
    evaluation = STUDY.evaluation
    return [
        f"{RESULTS}/episodes/{evaluation.split}/{arm}/{repeat}/{evaluation.benchmark}/{task}"
        for repeat in range(evaluation.repeats)
        for task in HELD_OUT_TASKS
    ]


def pilot_folders():
    """Folders of the pilot: the first attempt at the first task of every collection, and of every arm on the first competition. An arm that holds
    a library has none: its library is made from all rollouts."""
    arms = [arm for arm in STUDY.evaluation.arms if arm not in LIBRARY_JUDGES]
    return [rollouts(name)[0] for name in STUDY.collected] + [episodes(arm)[0] for arm in arms]


def unit_of_folder(folder):
    """The unit of paid work whose outputs lie in a folder: a split is a choice of tasks, so it is no part of the name."""
    stage, *rest = Path(folder).relative_to(RESULTS).parts
    return Path(stage, *(rest[1:] if stage == "episodes" else rest)).as_posix()


def attempts_of(collection):
    """Folders of the attempts that a collection of failures stands for; `heldout` is the evaluation's execute arm."""
    return episodes(EXECUTE_ARM) if collection == loading.HELDOUT else rollouts(collection)


def every_attempt():
    """Folders of every rollout and episode that the study makes."""
    return [folder for name in STUDY.collected for folder in rollouts(name)] + every_episode()


def every_page():
    """Folders of every attempt that has a page: rollouts, also imported ones, and episodes."""
    return [folder for name in STUDY.collections for folder in rollouts(name)] + every_episode()


def every_episode():
    """Folders of every episode of the evaluation."""
    return [folder for arm in STUDY.evaluation.arms for folder in episodes(arm)]


def files(name, folders):
    """One file of each of some folders; an imported collection is given as the folder that holds such files."""
    return [folder if folder in IMPORTS else f"{folder}/{name}" for folder in folders]


def plan_of(folder):
    """Where the simulated agent's plan for an attempt lies; only the truth table reads it."""
    return f"{folder.replace(RESULTS, f'{RESULTS}/simulated/plans', 1)}/plan.jsonl"


def failure_collections():
    """Collections whose failures some distribution or library needs."""
    return slices.failure_collections(STUDY)


def of_failures(name):
    """One file of every collection of failures."""
    return expand(f"<results>/failures/{{collection}}/{name}", collection=failure_collections())


def mined_from(collection):
    """Mined libraries whose rubrics cite steps of rollouts of a collection."""
    return [name for name, library in STUDY.libraries.items() if isinstance(library, Mined) and collection in library.collections]


def libraries_made_by(*recipes):
    """Wildcard pattern of the libraries that are made by some recipes."""
    return one_of(name for name, library in STUDY.libraries.items() if isinstance(library, recipes))


GATED = list(slices.gated(STUDY))
# libraries that a model was asked to write, in the order of the study
WRITTEN_LIBRARIES = [name for name, library in STUDY.libraries.items() if isinstance(library, (Mined, Quota, Contrasted))]


def one_of(names):
    """A pattern that matches exactly these names (and nothing, when there are none)."""
    return "|".join(re.escape(name) for name in sorted(names)) or "(?!)"


def sealed_collections():
    """Sealed collections; their rollouts must be there, because nothing makes them again."""
    sealed = [name for name, collection in STUDY.collected.items() if collection.sealed]
    for name in sealed:
        missing = [
            path
            for path in [f"{RESULTS}/rollouts/{name}/sealed.json", *files("trajectory.jsonl", rollouts(name))]
            if not Path(path).exists()
        ]
        if missing:
            raise WorkflowError(
                f"{CONFIG_SOURCE}: collection `{name}` is sealed, but {missing[0]} is missing ({len(missing)} files in all). "
                f"Set collections.{name}.sealed to false to take its rollouts from the store, then run `make seal COLLECTION={name}`."
            )
    return sealed


SEALED = sealed_collections()


wildcard_constraints:
    benchmark="[a-z0-9_]+",
    task="[A-Za-z0-9][A-Za-z0-9_.-]*",
    attempt=r"\d+",
    repeat=r"\d+",
    again=r"\d+",
    split=STUDY.evaluation.split,
    collection=one_of([*STUDY.collections, loading.HELDOUT]),
    library=one_of(STUDY.libraries),
    distribution=one_of(STUDY.distributions),
    arm=one_of(STUDY.arms),
    judge=one_of(JUDGES),


def settings(rule):
    """The `settings` parameter: canonical JSON of what a rule reads of the study."""
    return lambda wildcards: slices.settings_of(rule, STUDY, wildcards)


def code(rule, *roles, also=lambda wildcards: (), without=lambda wildcards: ()):
    """The `code` parameter: fingerprints of a rule's script, of all it reaches, of the simulated models of its roles, and of what it opens by name."""
    models = {role: getattr(STUDY.models, role) for role in roles}
    simulated = tuple(
        f"rubrics_gym.providers.simulated.{role.removeprefix('second_')}"
        for role, model in models.items()
        if model and model.provider is ProviderName.SIMULATED
    )
    return lambda wildcards: code_settings.code_of(rule, also=(*simulated, *also(wildcards)), without=tuple(without(wildcards)))


def grader(wildcards):
    """The module that grades a benchmark."""
    return (grader_module(wildcards.benchmark),)


def what_no_grader_runs(benchmark):
    """The sandbox, for benchmarks whose evaluation runs nothing of the agent's."""
    return () if benchmark in slices.RUN_PROGRAMS else ("rubrics_gym.harness.evaluation",)


def grading_tables(wildcards):
    """What a grader reads of this repository, beside the private bundle."""
    return {"thresholds": "resources/grading/mlebench_thresholds.csv"} if wildcards.benchmark == "mlebench" else {}


def grader_inputs(wildcards):
    """The tables of a grader, and the test that a grader of outside code passes before it grades; others are tested with this code."""
    if wildcards.benchmark != "mlebench":
        return {}
    return {"self_test": f"{RESULTS}/tasks/{wildcards.benchmark}/{wildcards.task}/self_test.json", **grading_tables(wildcards)}


def tasks_of_study():
    """(benchmark, task) of everything that the study collects or evaluates, in order and once."""
    collected = [(collection.tasks.benchmark, task) for name, collection in STUDY.collected.items() for task in POOL_TASKS[name]]
    return list(dict.fromkeys([*collected, *((STUDY.evaluation.benchmark, task) for task in HELD_OUT_TASKS)]))


def graded_attempts():
    """The grade of every attempt that the study makes; imported ones have none of ours."""
    return files("grade.json", every_attempt())


def episodes_of(arm, repeat):
    """Folders of the episodes of one arm and repeat on the current split."""
    return [folder for folder in episodes(arm) if f"/{arm}/{repeat}/" in folder]


# what an episode without a judge does not reach
JUDGE_ROOMS = ("rubrics_gym.judge", "rubrics_gym.libraries", "rubrics_gym.providers.simulated.judge")


def mined_files(library, name):
    """One file of every rollout that a library is written from."""
    return [path for collection in STUDY.libraries[library].collections for path in files(name, rollouts(collection))]


def failure_files(collections, name):
    """One file of the failures of some collections."""
    return [f"<results>/failures/{collection}/{name}" for collection in collections]


def target_of(library):
    """Settings of the distribution that a library is matched to."""
    return STUDY.distributions[STUDY.libraries[library].target]


def written_inputs(library):
    """What sorting a library into categories reads beside its rubrics: candidates and their rejections, and what a quota miner planned."""
    recipe = STUDY.libraries[library]
    names = ["merged.jsonl"] if isinstance(recipe, Imported) else ["merged.jsonl", "candidates.jsonl", "rejected.json"]
    if isinstance(recipe, Quota):
        names.append("quota.jsonl")
    found = {name.split(".")[0]: library_file(library, name) for name in names}
    if isinstance(recipe, Contrasted):
        found["merged"] = library_file(library, "accepted.jsonl")
    return found


def gated_behind(library):
    """What passed the gates of a library and of those that it is made from."""
    return [library_file(name, "rubrics.jsonl") for name in loading.behind(STUDY, library) if name in GATED]


def library_file(library, name):
    """A file of a library."""
    return f"<results>/libraries/{library}/{name}"


def library_of_judge(judge):
    """What a judge reads of its library: rubrics, their mix and embeddings, and the encoder. Nothing for the task criterion alone."""
    library = STUDY.arms[judge].judge.library if STUDY.arms[judge].judge else None
    if library is None:
        return {}
    return {
        "rubrics": library_file(library, "rubrics.jsonl"),
        "manifest": library_file(library, "manifest.json"),
        "embeddings": library_file(library, "embeddings.npy"),
        "index": library_file(library, "index.npy"),
        "index_names": library_file(library, "index.json"),
        "encoder": rules.export_encoder.output.model,
        "tokenizer": rules.export_encoder.output.tokenizer,
        "encoder_manifest": rules.export_encoder.output.manifest,
    }


def judge_inputs(judge):
    """Everything a judge reads that is not in the episode: its prompt, and its library."""
    return {"judge_prompt": "resources/prompts/judge.yaml", **library_of_judge(judge)} if STUDY.arms[judge].judge else {}


def verdicts_of(judge):
    """Where the verdicts of a judge lie."""
    return f"<results>/verdicts/{judge}/{JUDGES[judge].library or 'no_library'}/{STUDY.evaluation.split}.jsonl"


def shadowed_episodes():
    """Folders of the episodes whose judged commands are run afterwards."""
    return [folder for arm in SHADOWED for folder in episodes(arm)]


def shadows_of(folder):
    """Where the shadow runs of an episode lie."""
    return f"{folder.replace(f'{RESULTS}/episodes/', f'{RESULTS}/shadows/', 1)}.jsonl"


def repeated_finals():
    """Folders of the final runs that are made again."""
    return [
        f"{folder.replace(f'{RESULTS}/episodes/', f'{RESULTS}/repeated_finals/', 1)}/{again}"
        for folder in every_episode()
        for again in range(1, STUDY.evaluation.repeated_finals + 1)
    ]


def heldout_failures(name):
    """A file about the failures of the execute arm's episodes, where the study sorts them; nothing is sorted (and paid) for a table alone."""
    return files(name, [f"<results>/failures/{loading.HELDOUT}"]) if loading.HELDOUT in failure_collections() else []


def rubrics_of_judges():
    """The rubrics of every library that a judge holds, each once."""
    libraries = sorted({judge.library for judge in JUDGES.values() if judge.library})
    return [library_file(library, "rubrics.jsonl") for library in libraries]


def scientific_tables():
    """Tables that two runs with the same seed make equal, byte for byte."""
    tables = [*rules.build_tables.output, *rules.compare_mixes.output, *rules.measure_feedback.output]
    if READERS:
        tables += rules.compare_readers.output
    if EXECUTE_ARM:
        tables += rules.measure_judge.output
    if LIBRARY_JUDGES:
        tables += rules.audit_exposure.output
    if SIMULATED_AGENT:
        tables += rules.build_truth_table.output
    return tables


def truth_attempts():
    """Attempts whose failures are counted: all that a planted mistake can be compared with."""
    return [folder for name in failure_collections() if name not in STUDY.imported for folder in attempts_of(name)]


def truth_episodes():
    """Those of them that are episodes, whose result is that of their final run."""
    return attempts_of(loading.HELDOUT) if loading.HELDOUT in failure_collections() else []


def request_ledgers():
    """The ledger of every unit that asked a model."""
    ledgers = files("requests.jsonl", every_attempt())
    for collection in failure_collections():
        ledgers += files("categorize_requests.jsonl", [f"{RESULTS}/failures/{collection}"])
        if STUDY.models.second_classifier:
            ledgers += files("recategorize_requests.jsonl", [f"{RESULTS}/failures/{collection}"])
        ledgers += files("attribute_requests.jsonl", [f"{RESULTS}/failures/{collection}"])
    for name, library in STUDY.libraries.items():
        if isinstance(library, (Mined, Quota, Contrasted)):
            ledgers += files("mine_requests.jsonl", [f"{RESULTS}/libraries/{name}"])
        if isinstance(library, Contrasted):
            ledgers += files("review_requests.jsonl", [f"{RESULTS}/libraries/{name}"])
        if isinstance(library, (Mined, Quota, Contrasted, Imported)):
            ledgers += files("categorize_requests.jsonl", [f"{RESULTS}/libraries/{name}"])
    if EXECUTE_ARM:
        ledgers += [verdicts_of(judge).replace(".jsonl", "_requests.jsonl") for judge in JUDGES]
    return ledgers


def verification():
    """What a protocol's run ends with."""
    return rules.verify_protocol.output if PROTOCOL else []


def slots_by_group():
    """Every group of planned slots (rollouts/COLLECTION, episodes/ARM) with the folders of its slots."""
    groups = [(f"rollouts/{name}", rollouts(name)) for name in STUDY.collected]
    groups += [(f"episodes/{arm}", episodes(arm)) for arm in STUDY.evaluation.arms]
    return [(name, [Path(folder) for folder in folders]) for name, folders in groups]


def resumed(slot):
    """The input that plans a slot again after `make resume`: the mark of the resumption. Snakemake alone does not make a missing or closed record
    anew while what is made from it is there."""

    def mark(wildcards):
        path = resumption_mark(Path(RESULTS), slot.format(**wildcards))
        return {"resumed": str(path)} if path.exists() else {}

    return mark


def end_run():
    """Write down how far the study has come, and say it when the study stands still."""
    rows = progress(slots_by_group())
    lines = [",".join(Progress.model_fields), *(",".join(map(str, row.model_dump().values())) for row in rows)]
    write_text(Path(RESULTS, "progress.csv"), "\n".join(lines) + "\n")
    stop = study_record().standing
    if stop is not None:
        print(
            f"The study {STUDY.name} stands still since {stop.at}: {stop.why}. `make resume` lets it go on.",
            *(f"  {row}" for row in rows),
            sep="\n",
            file=sys.stderr,
        )


def say_reproduced():
    """Say whether a protocol was reproduced, where the run was asked for more than a part of it."""
    if PROTOCOL and any(job.rule.name == "verify_protocol" for job in workflow.dag.jobs):
        with open(f"{RESULTS}/tables/verification.csv", newline="", encoding="utf-8") as table:
            rows = list(csv.DictReader(table))
        differing = [row for row in rows if row["state"] in ("differs", "missing")]
        print(
            f"Protocol {PROTOCOL.name}: {len(rows) - len(differing)} of {len(rows)} artefacts as frozen.",
            *(f"  {row['artefact']}: {row['state']} {row['where']}" for row in differing),
            sep="\n",
            file=sys.stderr,
        )


def study_record():
    """The starts and stops of the study."""
    return StudyRecord(store_folder(), STUDY.name)


def roles_to_ask():
    """Roles that a planned job may have to ask: nothing of its work is stored yet. Nobody is asked in mode replay, or while the study stands still."""
    if read_asking(ASKING).requests.mode is Mode.REPLAY or study_record().standing:
        return []
    asked = [
        (role, unit)
        for job in workflow.dag.needrun_jobs()
        for role, of_role in units.units_of(job.rule.name, STUDY, job.wildcards).items()
        for unit in of_role
    ]
    return sorted({role for role, unit in asked if not has_work(store_folder(), unit)})


def refuse_without_pilot():
    """Where the study asks for a pilot, nothing beyond it starts while an attempt of it is still to be made."""
    if not STUDY.budget.pilot or read_asking(ASKING).requests.mode is Mode.REPLAY:
        return
    from rubrics_gym.studies.planning import PlannedJob, is_served

    pilot = {unit_of_folder(folder): folder for folder in pilot_folders()}
    needed = list(workflow.dag.needrun_jobs())
    made_now = {str(path) for job in needed for path in job.output}
    planned = {
        unit: PlannedJob(job.rule.name, dict(job.wildcards_dict), dict(job.input.items()), tuple(job.output))
        for job in needed
        if job.rule.name in units.KEYED_INPUTS
        for unit in units.units_of(job.rule.name, STUDY, job.wildcards)["agent"]
    }
    store = AttemptStore(store_folder(), STUDY.name, anew=STUDY.requests.mode is Mode.LIVE)
    missing = [
        unit
        for unit, folder in sorted(pilot.items())
        if not (is_served(STUDY, store, planned[unit], made_now) if unit in planned else Path(folder, "trajectory.jsonl").exists())
    ]
    if planned.keys() - pilot.keys() and missing:
        raise WorkflowError(
            f"{CONFIG_SOURCE}: budget.pilot asks for a pilot first, and {len(missing)} of its {len(pilot)} attempts are not in the store "
            f"(the first: {missing[0]}). Run `make pilot`, look at what it says the rest will cost, and start again."
        )


def plan_failed_jobs_again():
    """Snakemake (9.27) records a job that failed like one that finished: its new parameters and inputs count as done, and while older results of what it
    makes are there, the same command plans it no more. Here its record says that it failed, which no parameters are equal to."""
    persistence, end = workflow.persistence, Job.postprocess

    async def postprocess(job, *arguments, error=False, **options):
        await end(job, *arguments, error=error, **options)
        if error and workflow.exec_mode == ExecMode.DEFAULT:  # a process of its own for one job keeps no records
            persistence._clear_cache()
            for path in job.output:
                key = persistence._get_key(path)
                if (record := persistence._read_record(key)) is not None:
                    record.params = ["failed"]
                    persistence._write_record(key, record)
            persistence._clear_cache()

    Job.postprocess = postprocess


def start_run():
    """Take the results folder for this run, look at what must hold for it, and write down the configuration that it uses."""
    global RESULTS_LOCK
    try:
        RESULTS_LOCK = lock.hold(RESULTS)
        plan_failed_jobs_again()
        for name in SEALED:
            check_seal(Path(RESULTS, "rollouts", name))
        check_isolation(STUDY.sandbox.episode(), wheel_folder())
        if PROTOCOL and STUDY.protocol.by is Reproduction.RECOMPUTE:
            protocols.unpack_store(PROTOCOL, Path(store_folder()))
        refuse_without_pilot()
        check_keys(STUDY.models, STUDY.requests, roles_to_ask())
        if read_asking(ASKING).requests.mode is not Mode.REPLAY:
            study_record().start(STUDY.budget, {name: len(folders) for name, folders in slots_by_group()})
        write_text(Path(RESULTS, "run_config.yaml"), yaml.safe_dump(STUDY.model_dump(mode="json"), sort_keys=False))
    except (lock.FolderInUse, DamagedFile, SandboxRefused, MissingKey, TermsLoosened, protocols.ProtocolChanged, OSError) as error:
        raise WorkflowError(f"{RESULTS}: cannot start: {error}") from None
