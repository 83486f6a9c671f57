"""From the merged configuration to a checked Study. Every mistake is one paragraph that names the key and what to write instead."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from rubrics_gym.settings.study import (
    CodeRuns,
    Collection,
    Contrasted,
    ImportedCollection,
    Matched,
    Mined,
    ProviderName,
    Quota,
    RandomSample,
    Scrambled,
    Study,
)

HELDOUT = "heldout"  # the collection that stands for the execute episodes of the evaluation


class ConfigurationError(ValueError):
    """The configuration cannot be used; the message is one paragraph for people."""


def read_file(path: str | Path) -> dict[str, Any]:
    """Read one configuration file and what it extends, nearest last. Mappings are merged, everything else replaced; a block set to null is left out."""
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"{path}: there is no such configuration file.") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path}: expected keys and values at the top level; config/README.md lists the keys.")
    return resolve_extends(content)


def resolve_extends(config: Mapping[str, Any]) -> dict[str, Any]:
    """Put a configuration on top of the files that its `extends` names (paths from the repository's top), the nearest last."""
    named = config.get("extends") or ()
    merged: dict[str, Any] = {}
    for path in [named] if isinstance(named, str) else named:
        merged = _merge(merged, read_file(path))
    return _merge(merged, {**config, "extends": None}) if named else dict(config)


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        if (
            isinstance(value, Mapping)
            and isinstance(merged.get(key), Mapping)
            and value.get("recipe", merged[key].get("recipe")) == merged[key].get("recipe")
        ):
            merged[key] = _merge(merged[key], value)
        elif value is None and isinstance(merged.get(key), Mapping):
            del merged[key]  # a collection, library or arm of the other file that this study does without
        else:
            merged[key] = value
    return merged


def _known_keys(path: tuple[Any, ...]) -> list[str]:
    """The keys that the models know at a place of the configuration."""
    from typing import get_args

    annotation: Any = Study
    for part in path:
        fields = getattr(annotation, "model_fields", None)
        if fields is not None and part in fields:
            annotation = fields[part].annotation
        else:  # a name in a mapping, or the tag of a recipe
            models = [one for one in _models_in(annotation) if part == _tag_of(one)]
            arguments = get_args(annotation)
            annotation = models[0] if models else arguments[-1] if arguments else annotation
    return sorted({field.alias or key for model in _models_in(annotation) for key, field in model.model_fields.items()})


def _tag_of(model: type[BaseModel]) -> str | None:
    """What pydantic puts into an error's place for one of several forms of a block."""
    forms: dict[type[BaseModel], str] = {Collection: "collected", ImportedCollection: "imported"}
    return forms.get(model, getattr(model.model_fields.get("recipe"), "default", None))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    from typing import get_args

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


# what pydantic puts after the name of a block that has several forms
_TAGS = {"libraries": ("mine", "quota", "contrast", "import", "match", "scramble", "sample"), "collections": ("collected", "imported")}


def _explain(error: ValidationError, source: str) -> str:
    first = error.errors()[0]
    path = tuple(first["loc"])
    shown = ".".join(str(part) for place, part in enumerate(path) if not (place == 2 and part in _TAGS.get(str(path[0]), ())))
    if first["type"] == "extra_forbidden":
        known = _known_keys(path[:-1])
        near = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
        advice = f"Did you mean `{near[0]}`?" if near else f"Known keys there: {', '.join(known)}."
        return f"{source}: unknown key `{shown}`. {advice} config/README.md explains every key."
    if first["type"] == "missing":
        return f"{source}: the key `{shown}` is missing. config/README.md explains what it holds."
    more = f" ({len(error.errors()) - 1} more problems after this one.)" if len(error.errors()) > 1 else ""
    return f"{source}: `{shown}`: {first['msg']}; found {first['input']!r:.80}.{more}"


def load_study(config: Mapping[str, Any], source: str) -> Study:
    """Validate a merged configuration. `source` names the file(s) for the messages. Raises ConfigurationError."""
    try:
        study = Study.model_validate(resolve_extends(config))
    except ValidationError as error:
        raise ConfigurationError(_explain(error, source)) from None
    check_study(study, source)
    return study


def _need(name: str, known: Mapping[str, Any] | list[str] | tuple[str, ...], where: str, what: str, source: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
        advice = f"Did you mean `{near[0]}`?" if near else f"There is: {', '.join(known) or 'none'}."
        raise ConfigurationError(f"{source}: `{where}` names the {what} `{name}`, which the configuration does not define. {advice}")


def check_study(study: Study, source: str) -> None:
    """Rules that span keys. Raises ConfigurationError for the first one that is broken."""
    _check_libraries(study, source)
    _check_arms(study, source)
    _check_evaluation(study, source)
    _check_distributions(study, source)
    _check_batches(study, source)


def _check_libraries(study: Study, source: str) -> None:
    for name in study.libraries:
        if name in study.collections or name == HELDOUT:  # both are units of the classifier's, `classify/NAME`
            raise ConfigurationError(
                f"{source}: `libraries.{name}` has the name of a collection of failures; give the library another name."
            )
    for name, library in study.libraries.items():
        where = f"libraries.{name}"
        match library:
            case Mined():
                for collection in library.collections:
                    _need(collection, study.collections, f"{where}.collections", "collection", source)
            case Quota():
                for collection in library.collections:
                    _need(collection, study.collections, f"{where}.collections", "collection", source)
                _need(library.target, study.distributions, f"{where}.target", "distribution", source)
            case Contrasted():
                for collection in library.collections:
                    _need(collection, study.collections, f"{where}.collections", "collection", source)
                if library.gate.development_tasks and not library.development:
                    raise ConfigurationError(
                        f"{source}: `{where}.gate.development_tasks` is {library.gate.development_tasks}, and no task is for development. "
                        f"Set `{where}.development` to the share of tasks that only review lessons, or the gate's number to 0."
                    )
            case Matched():
                _need(library.source, study.libraries, f"{where}.source", "library", source)
                _need(library.target, study.distributions, f"{where}.target", "distribution", source)
            case Scrambled():
                _need(library.source, study.libraries, f"{where}.source", "library", source)
            case RandomSample():
                _need(library.source, study.libraries, f"{where}.source", "library", source)
                _need(library.size_of, study.libraries, f"{where}.size_of", "library", source)
    for name in study.libraries:
        _refuse_cycle(study, name, source)


def _check_arms(study: Study, source: str) -> None:
    for name, arm in study.arms.items():
        if arm.code_runs is CodeRuns.JUDGE and arm.judge is None:
            raise ConfigurationError(
                f"{source}: `arms.{name}`: code_runs is judge, but there is no `judge:` block (use `judge: {{library: null}}` for the task criterion alone)."
            )
        if arm.judge is not None and arm.judge.library is not None:
            _need(arm.judge.library, study.libraries, f"arms.{name}.judge.library", "library", source)
        if arm.code_runs is CodeRuns.CHECKS and arm.checks is None:
            raise ConfigurationError(f"{source}: `arms.{name}`: code_runs is checks, but there is no `checks:` block that says when.")
        if "flag" in arm.submit.hold_on and arm.judge is None:
            raise ConfigurationError(
                f"{source}: `arms.{name}.submit.hold_on` holds a submission on a flagged verdict, but the arm has no `judge:` block to give one."
            )


def _check_evaluation(study: Study, source: str) -> None:
    if not study.evaluation.arms:
        raise ConfigurationError(f"{source}: `evaluation.arms` is empty; name at least one of: {', '.join(study.arms)}.")
    for evaluated in study.evaluation.arms:
        _need(evaluated, study.arms, "evaluation.arms", "arm", source)
    for compared in itertools.chain.from_iterable(study.evaluation.contrasts or ()):
        _need(compared, study.evaluation.arms, "evaluation.contrasts", "arm", source)
    looks = study.evaluation.inference.looks
    if any(later <= earlier for earlier, later in itertools.pairwise(looks)):
        raise ConfigurationError(f"{source}: `evaluation.inference.looks` must increase, at most to 1; it is {list(looks)}.")


def _check_distributions(study: Study, source: str) -> None:
    for name, distribution in study.distributions.items():
        for collection in distribution.collections:
            _need(collection, [*study.collections, HELDOUT], f"distributions.{name}.collections", "collection", source)
        if HELDOUT in distribution.collections and execute_arm(study) is None:
            raise ConfigurationError(
                f"{source}: `distributions.{name}` counts the failures of `{HELDOUT}`, but no arm of `evaluation.arms` has code_runs: execute."
            )


def _check_batches(study: Study, source: str) -> None:
    for role in study.requests.batch:
        model = getattr(study.models, role)
        if model is not None and model.provider is ProviderName.OPENAI:
            raise ConfigurationError(
                f"{source}: `requests.batch` names the role `{role}`, whose provider is openai; only anthropic takes batches. Take it out of the list."
            )


def execute_arm(study: Study) -> str | None:
    """The first arm of the evaluation in which every command runs; its episodes are the collection `heldout`."""
    return next((arm for arm in study.evaluation.arms if study.arms[arm].code_runs is CodeRuns.EXECUTE), None)


def heldout_mix(study: Study) -> str | None:
    """The distribution of all held-out failures and nothing else, with their causes where there is one; None where there is none."""
    own = [name for name, mix in study.distributions.items() if set(mix.collections) == {HELDOUT}]
    return min(own, key=lambda name: (study.distributions[name].target != "complete", name), default=None)


def parents(study: Study, library: str) -> list[str]:
    """Libraries that a library is made from."""
    recipe = study.libraries[library]
    match recipe:
        case Matched() | Scrambled():
            return [recipe.source]
        case RandomSample():
            return [recipe.source, recipe.size_of]
    return []


def collections_behind(study: Study, library: str) -> list[str]:
    """Collections that a library was written from, by itself or through the libraries that it is made from; none for an imported one."""
    recipe = study.libraries[library]
    own = set(recipe.collections) if isinstance(recipe, Mined | Quota | Contrasted) else set()
    return sorted(own.union(*(collections_behind(study, parent) for parent in parents(study, library))))


def behind(study: Study, library: str) -> list[str]:
    """A library and all that it is made from, by itself or through others."""
    return sorted({library}.union(*(behind(study, parent) for parent in parents(study, library))))


def _refuse_cycle(study: Study, library: str, source: str) -> None:
    seen, waiting = set(), parents(study, library)
    while waiting:
        name = waiting.pop()
        if name == library:
            raise ConfigurationError(f"{source}: the library `{library}` is made from itself; change `libraries.{library}.source`.")
        if name not in seen:
            seen.add(name)
            waiting.extend(parents(study, name))


def contaminated(study: Study, library: str) -> bool:
    """Whether a library was fitted to held-out failures: by its own target, or by that of a library it is made from."""
    recipe = study.libraries[library]
    own = isinstance(recipe, Matched | Quota) and HELDOUT in study.distributions[recipe.target].collections
    return own or any(contaminated(study, parent) for parent in parents(study, library))
