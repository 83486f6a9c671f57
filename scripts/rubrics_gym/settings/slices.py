"""What each rule reads of the configuration, cut from the study by a pure function per rule.

The canonical JSON of a slice is the rule's `settings` parameter, so a rule is planned again when, and only when, a value that it reads has changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rubrics_gym.settings.comparisons import default_pairs, describe, questions
from rubrics_gym.settings.loading import behind, contaminated, execute_arm
from rubrics_gym.settings.rules import (
    AcceptLessons,
    AccountCosts,
    AuditExposure,
    BuildDashboard,
    BuildPages,
    BuildTables,
    BuildTruthTable,
    CollectRollout,
    CompareMixes,
    CompareReaders,
    DeriveLibrary,
    DescribeLibrary,
    DrawLabelSheet,
    EmbedLibrary,
    ExportEncoder,
    FailureDistribution,
    FeedbackArm,
    FillQuota,
    GradeAcceptance,
    GradeAttempt,
    ImportCollection,
    ImportLibrary,
    JudgeFacts,
    ListPool,
    MeasureFeedback,
    MeasureJudge,
    MergeLibrary,
    MineCandidates,
    MineLessons,
    Nothing,
    Reader,
    ReplayJudge,
    ReviewLessons,
    RunEpisode,
    RunFinal,
    RunShadows,
    VerifyProtocol,
)
from rubrics_gym.settings.study import (
    CodeRuns,
    Contrasted,
    Imported,
    JudgeSettings,
    Mined,
    ModelSettings,
    ProviderName,
    Quota,
    Settings,
    Study,
)
from rubrics_gym.settings.units import units_of

Wildcards = Mapping[str, str]


def is_simulated(study: Study) -> bool:
    """Whether any role is answered by a simulated model; then every figure carries the label."""
    return any(model.provider is ProviderName.SIMULATED for model in models_of(study).values())


def models_of(study: Study) -> dict[str, ModelSettings]:
    """Role -> model, of the roles that the study has."""
    return {role: model for role in type(study.models).model_fields if (model := getattr(study.models, role)) is not None}


def _simulation(study: Study, role: str) -> Any:
    model: ModelSettings = getattr(study.models, role)
    return getattr(study.simulation, role) if model.provider is ProviderName.SIMULATED else None


def _export_encoder(study: Study, w: Wildcards) -> ExportEncoder:
    return ExportEncoder(source=study.encoder.source)


def _list_pool(study: Study, w: Wildcards) -> ListPool:
    return ListPool(holdouts=study.holdouts)


def _collect_rollout(study: Study, w: Wildcards) -> CollectRollout:
    collection = study.collected[w["collection"]]
    return CollectRollout(
        seed=study.seed,
        agent=study.models.agent,
        simulation=_simulation(study, "agent"),
        limits=collection.limits,
        sandbox=study.sandbox.episode(),
    )


def _import_collection(study: Study, w: Wildcards) -> ImportCollection:
    imported = study.imported[w["collection"]]
    return ImportCollection(path=imported.path, format=imported.format)


def _run_episode(study: Study, w: Wildcards) -> RunEpisode:
    arm = study.arms[w["arm"]]
    return RunEpisode(
        seed=study.seed,
        arm_name=w["arm"],
        arm=arm,
        agent=study.models.agent,
        simulation=_simulation(study, "agent"),
        judge=study.models.judge if arm.judge else None,
        judge_simulation=_simulation(study, "judge") if arm.judge else None,
        encoder=study.encoder.source if arm.judge and arm.judge.library else None,
        limits=study.evaluation.limits.scaled(arm.limits_factor),
        sandbox=study.sandbox.episode(),
        snapshots=takes_snapshots(study, w["arm"]),
    )


def takes_snapshots(study: Study, arm: str) -> bool:
    """Whether an arm's episodes keep what shadow runs need: where they are wanted, and predictions stand in for runs."""
    return study.evaluation.shadows is not None and study.arms[arm].code_runs is CodeRuns.JUDGE


def _run_shadows(study: Study, w: Wildcards) -> RunShadows:
    assert study.evaluation.shadows is not None
    return RunShadows(seed=study.seed, shadows=study.evaluation.shadows, limits=study.evaluation.limits, sandbox=study.sandbox.episode())


def _run_final(study: Study, w: Wildcards) -> RunFinal:
    return RunFinal(limits=study.evaluation.limits, sandbox=study.sandbox.final(), start=study.evaluation.final_start)


# benchmarks with tasks whose evaluation runs what the agent wrote
RUN_PROGRAMS = frozenset({"mlgym", "mlagentbench", "rebench", "paperbench"})


def _grade_rollout(study: Study, w: Wildcards) -> GradeAttempt:
    if w["benchmark"] not in RUN_PROGRAMS:
        return GradeAttempt()
    return GradeAttempt(sandbox=study.sandbox.final(), limits=study.collected[w["collection"]].limits)


def _grade_episode(study: Study, w: Wildcards) -> GradeAttempt:
    if w["benchmark"] not in RUN_PROGRAMS:
        return GradeAttempt()
    return GradeAttempt(sandbox=study.sandbox.final(), limits=study.evaluation.limits)


def _grade_acceptance(study: Study, w: Wildcards) -> GradeAcceptance:
    return GradeAcceptance(sandbox=study.sandbox.final(), limits=study.evaluation.limits)


def _reader(role: str) -> Callable[[Study, Wildcards], Reader]:
    def cut(study: Study, w: Wildcards) -> Reader:
        return Reader(seed=study.seed, model=getattr(study.models, role), simulation=_simulation(study, role))

    return cut


def _failure_distribution(study: Study, w: Wildcards) -> FailureDistribution:
    return FailureDistribution(
        distribution=study.distributions[w["distribution"]], classifier=study.models.classifier.model, simulated=is_simulated(study)
    )


def failure_collections(study: Study) -> list[str]:
    """Collections whose failures some distribution or library needs."""
    counted = {name for distribution in study.distributions.values() for name in distribution.collections}
    mined = {name for library in study.libraries.values() if isinstance(library, Mined | Quota) for name in library.collections}
    return sorted(counted | mined)


def _compare_mixes(study: Study, w: Wildcards) -> CompareMixes:
    return CompareMixes(
        study=study.name,
        seed=study.seed,
        statistics=study.statistics,
        collections=tuple(failure_collections(study)),
        distributions=tuple(study.distributions),
        simulated=is_simulated(study),
    )


def _compare_readers(study: Study, w: Wildcards) -> CompareReaders:
    second = study.models.second_classifier
    return CompareReaders(
        study=study.name,
        seed=study.seed,
        statistics=study.statistics,
        classifier=study.models.classifier.model,
        second=second.model if second else None,
        reviewer=study.models.reviewer.model,
        miner=study.models.miner.model,
        collections=tuple(failure_collections(study)),
        sheets=study.labelling.sheets,
        simulated=is_simulated(study),
    )


def _draw_label_sheet(study: Study, w: Wildcards) -> DrawLabelSheet:
    return DrawLabelSheet(seed=study.seed, per_question=study.labelling.per_question)


def _mined(study: Study, w: Wildcards) -> Mined:
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Mined)
    return recipe


def _contrasted(study: Study, w: Wildcards) -> Contrasted:
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Contrasted)
    return recipe


def _written(study: Study, w: Wildcards) -> Mined | Quota | Contrasted | Imported:
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Mined | Quota | Contrasted | Imported)
    return recipe


def _as_written(recipe: Mined | Quota | Contrasted | Imported) -> Mined | Quota | Contrasted | Imported:
    """A recipe without what decides who may use the library: that changes nothing in it, and no episode is another one for it."""
    return recipe.model_copy(update={"fewest": None}) if isinstance(recipe, Contrasted) else recipe


def _mine_candidates(study: Study, w: Wildcards) -> MineCandidates:
    recipe = _mined(study, w)
    return MineCandidates(
        seed=study.seed,
        model=study.models.miner,
        simulation=_simulation(study, "miner"),
        miner=recipe.miner,
        collections=recipe.collections,
        per_request=recipe.per_request,
        trace_chars=recipe.trace_chars,
        weights=recipe.weights,
    )


def _fill_quota(study: Study, w: Wildcards) -> FillQuota:
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Quota)
    return FillQuota(seed=study.seed, model=study.models.miner, simulation=_simulation(study, "miner"), recipe=recipe)


def _import_library(study: Study, w: Wildcards) -> ImportLibrary:
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Imported)
    return ImportLibrary(path=recipe.path)


def _mine_lessons(study: Study, w: Wildcards) -> MineLessons:
    recipe = _contrasted(study, w)
    (unit,) = units_of("mine_lessons", study, w)["miner"]
    return MineLessons(
        seed=study.seed,
        model=study.models.miner,
        simulation=_simulation(study, "miner"),
        unit=unit,
        per_task=recipe.per_task,
        per_contrast=recipe.per_contrast,
        development=recipe.development,
        citing=recipe.citing,
        near_misses=recipe.near_misses,
        program_chars=recipe.program_chars,
    )


def _review_lessons(study: Study, w: Wildcards) -> ReviewLessons:
    (unit,) = units_of("review_lessons", study, w)["reviewer"]
    return ReviewLessons(seed=study.seed, model=study.models.reviewer, simulation=_simulation(study, "reviewer"), unit=unit)


def _accept_lessons(study: Study, w: Wildcards) -> AcceptLessons:
    return AcceptLessons(gate=_contrasted(study, w).gate)


def _merge_library(study: Study, w: Wildcards) -> MergeLibrary:
    recipe = study.libraries[w["library"]]
    assert isinstance(recipe, Mined | Contrasted)
    return MergeLibrary(merge=recipe.merge)


def _embed_library(study: Study, w: Wildcards) -> EmbedLibrary:
    return EmbedLibrary(fewest={name: gated(study)[name].fewest or 0 for name in behind(study, w["library"]) if name in gated(study)})


def gated(study: Study) -> dict[str, Contrasted]:
    """The libraries with a gate."""
    return {name: recipe for name, recipe in study.libraries.items() if isinstance(recipe, Contrasted)}


def _categorize_rubrics(study: Study, w: Wildcards) -> DescribeLibrary:
    return DescribeLibrary(
        library=w["library"],
        recipe=_as_written(_written(study, w)),
        seed=study.seed,
        model=study.models.classifier,
        simulation=_simulation(study, "classifier"),
        simulated=is_simulated(study),
        contaminated=contaminated(study, w["library"]),
    )


def _derive_library(study: Study, w: Wildcards) -> DeriveLibrary:
    return DeriveLibrary(
        library=w["library"],
        recipe=study.libraries[w["library"]],
        seed=study.seed,
        contaminated=contaminated(study, w["library"]),
        simulated=is_simulated(study),
    )


def judges(study: Study) -> dict[str, JudgeSettings]:
    """Judge name -> settings, for every arm of the evaluation that has a judge. A judge is named after its arm."""
    return {arm: judge for arm in study.evaluation.arms if (judge := study.arms[arm].judge) is not None}


def library_judges(study: Study) -> dict[str, JudgeSettings]:
    """The judges that hold a library."""
    return {name: judge for name, judge in judges(study).items() if judge.library is not None}


def contaminated_arms(study: Study) -> tuple[str, ...]:
    """The arms whose judge holds a library that was fitted to held-out failures."""
    return tuple(name for name, judge in judges(study).items() if judge.library is not None and contaminated(study, judge.library))


def _audit_exposure(study: Study, w: Wildcards) -> AuditExposure:
    return AuditExposure(judges=tuple(library_judges(study)), replayed=execute_arm(study) is not None)


def _replay_judge(study: Study, w: Wildcards) -> ReplayJudge:
    return ReplayJudge(
        seed=study.seed,
        rejudged=study.evaluation.rejudged,
        judge_name=w["judge"],
        judge=judges(study)[w["judge"]],
        model=study.models.judge,
        simulation=_simulation(study, "judge"),
    )


def _measure_judge(study: Study, w: Wildcards) -> MeasureJudge:
    of = judges(study)
    libraries = {judge.library for judge in of.values() if judge.library is not None}
    return MeasureJudge(
        statistics=study.statistics,
        suppress_below=study.evaluation.suppress_below,
        seed=study.seed,
        order=tuple(of),
        judges={name: JudgeFacts(library=judge.library, k=judge.k) for name, judge in of.items()},
        pairs=tuple((first, second) for first, second in default_pairs(study) if first in of and second in of),
        contaminated=tuple(sorted(library for library in libraries if contaminated(study, library))),
        simulated=is_simulated(study),
        study=study.name,
    )


def _measure_feedback(study: Study, w: Wildcards) -> MeasureFeedback:
    return MeasureFeedback(
        confidence=study.statistics.confidence,
        contaminated=contaminated_arms(study),
        arms={name: FeedbackArm(library=judge.library, escalate=study.arms[name].escalate) for name, judge in judges(study).items()},
        simulated=is_simulated(study),
        study=study.name,
    )


def _build_tables(study: Study, w: Wildcards) -> BuildTables:
    evaluation = study.evaluation
    return BuildTables(
        study=study.name,
        seed=study.seed,
        pairs=tuple(default_pairs(study)),
        declared_order=evaluation.contrasts is not None,
        order=evaluation.arms,
        arms={name: study.arms[name] for name in evaluation.arms},
        contaminated=contaminated_arms(study),
        unreachable=evaluation.unreachable,
        subsets=dict(sorted(evaluation.subsets.items())),
        libraries=tuple(study.libraries),
        fewest={name: recipe.fewest for name, recipe in gated(study).items()},
        distributions=tuple(study.distributions),
        statistics=study.statistics,
        inference=evaluation.inference,
        simulated=is_simulated(study),
    )


def _build_truth_table(study: Study, w: Wildcards) -> BuildTruthTable:
    return BuildTruthTable(study=study.name, seed=study.seed, statistics=study.statistics, simulated=is_simulated(study))


def _account_costs(study: Study, w: Wildcards) -> AccountCosts:
    writers = {Mined: "mine_candidates", Quota: "fill_quota", Contrasted: "mine_lessons"}
    asked_for = {}
    for name, recipe in study.libraries.items():
        if type(recipe) in writers:
            of_library = {"library": name}
            miner = units_of(writers[type(recipe)], study, of_library)["miner"]
            reviewer = units_of("review_lessons", study, of_library)["reviewer"] if isinstance(recipe, Contrasted) else ()
            asked_for[name] = miner + reviewer + units_of("categorize_rubrics", study, of_library)["classifier"]
    return AccountCosts(
        contaminated=contaminated_arms(study),
        study=study.name,
        simulated=is_simulated(study),
        seed=study.seed,
        split=study.evaluation.split,
        statistics=study.statistics,
        pairs=tuple(default_pairs(study)),
        ceiling=execute_arm(study),
        library_of={arm: judge.library for arm, judge in judges(study).items() if judge.library is not None},
        asked_for=asked_for,
    )


def _build_pages(study: Study, w: Wildcards) -> BuildPages:
    return BuildPages(simulated=is_simulated(study))


def _build_dashboard(study: Study, w: Wildcards) -> BuildDashboard:
    return BuildDashboard(
        study=study.name,
        title=study.report.title,
        simulated=is_simulated(study),
        split=study.evaluation.split,
        seed=study.seed,
        models={role: model.model for role, model in models_of(study).items()},
        arms={name: describe(study.arms[name]) for name in study.evaluation.arms},
        questions=tuple(questions(study)),
        libraries=tuple(study.libraries),
        benchmarks=tuple(sorted({collection.tasks.benchmark for collection in study.collected.values()} | {study.evaluation.benchmark})),
    )


def _verify_protocol(study: Study, w: Wildcards) -> VerifyProtocol:
    assert study.protocol is not None
    return VerifyProtocol(protocol=study.protocol)


def _nothing(study: Study, w: Wildcards) -> Nothing:
    return Nothing()


# rule -> how its slice is cut
SLICES: dict[str, Callable[[Study, Wildcards], Settings]] = {
    "export_encoder": _export_encoder,
    "fetch_source": _nothing,
    "prepare_task": _nothing,
    "list_pool": _list_pool,
    "collect_rollout": _collect_rollout,
    "grade_rollout": _grade_rollout,
    "import_collection": _import_collection,
    "detect_failures": _nothing,
    "categorize_failures": _reader("classifier"),
    "recategorize_failures": _reader("second_classifier"),
    "attribute_causes": _reader("reviewer"),
    "compare_mixes": _compare_mixes,
    "compare_readers": _compare_readers,
    "draw_label_sheet": _draw_label_sheet,
    "draft_taxonomy": _reader("classifier"),
    "failure_distribution": _failure_distribution,
    "mine_candidates": _mine_candidates,
    "fill_quota": _fill_quota,
    "mine_lessons": _mine_lessons,
    "review_lessons": _review_lessons,
    "accept_lessons": _accept_lessons,
    "import_library": _import_library,
    "merge_library": _merge_library,
    "categorize_rubrics": _categorize_rubrics,
    "match_library": _derive_library,
    "verify_match": _nothing,
    "scramble_library": _derive_library,
    "sample_library": _derive_library,
    "embed_library": _embed_library,
    "export_library": _nothing,
    "recompute_libraries": _nothing,
    "run_episode": _run_episode,
    "run_final": _run_final,
    "grade_episode": _grade_episode,
    "repeat_final": _run_final,
    "grade_repeated_final": _grade_episode,
    "grade_self_test": _nothing,
    "grade_acceptance": _grade_acceptance,
    "list_acceptance": _nothing,
    "count_disagreements": _nothing,
    "report_mlebench": _nothing,
    "run_shadows": _run_shadows,
    "replay_judge": _replay_judge,
    "measure_judge": _measure_judge,
    "audit_exposure": _audit_exposure,
    "measure_feedback": _measure_feedback,
    "account_costs": _account_costs,
    "build_truth_table": _build_truth_table,
    "build_tables": _build_tables,
    "draw_figures": _nothing,
    "build_pages": _build_pages,
    "export_trajectories": _nothing,
    "build_dashboard": _build_dashboard,
    "verify_protocol": _verify_protocol,
}


def settings_of(rule: str, study: Study, wildcards: Wildcards) -> str:
    """The `settings` parameter of one job: canonical JSON of the slice that its rule reads."""
    return json.dumps(SLICES[rule](study, wildcards).model_dump(mode="json"), sort_keys=True)
