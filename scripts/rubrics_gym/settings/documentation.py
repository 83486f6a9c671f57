"""config/schema.json and config/README.md, generated from the models. A test fails when they drift."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from rubrics_gym.settings.study import Study

TOP = Path(__file__).resolve().parents[3]

_HEAD = """# Configuration

Generated from the models in `scripts/rubrics_gym/settings/` by `make docs`; edit those.

- `config/config.yaml` is the default study. A file given with `--configfile` replaces it; it inherits only what its own `extends:` names.
- Single values: `snakemake results/dashboard.html --config 'evaluation={split: all}'`.
- An unknown key is an error that names the key and the nearest known one. The merged configuration of a run is written to `results/run_config.yaml`.
- `config/schema.json` is the same as a JSON schema, for editors.

| key | type | default | meaning |
|---|---|---|---|
"""


def schema() -> str:
    """The JSON schema of a configuration file."""
    return json.dumps(Study.model_json_schema(), indent=1, sort_keys=True) + "\n"


def _type_name(annotation: Any) -> str:
    arguments = [one for one in get_args(annotation) if one is not type(None)]
    optional = type(None) in get_args(annotation)
    origin = get_origin(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        name = " \\| ".join(str(member.value) for member in annotation)
    elif origin is dict:
        name = f"name → {_type_name(arguments[1])}"
    elif origin is tuple:
        name = f"list of {_type_name(arguments[0])}"
    elif origin is not None and str(origin).endswith("Literal"):
        name = " \\| ".join(str(one) for one in arguments)
    elif hasattr(annotation, "__metadata__"):
        name = _type_name(annotation.__origin__)
    elif arguments:
        name = " or ".join(_type_name(one) for one in arguments)
    else:
        name = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "AwareDatetime": "time with zone"}.get(
            annotation.__name__, annotation.__name__.lower()
        )
    return f"{name}, or null" if optional else name


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]


def _rows(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        nested = _models(field.annotation)
        named = get_origin(field.annotation) is dict
        if nested:
            yield f"| **`{key}`** | {'one entry per name' if named else 'block'} | | {field.description or ''} |"
            for one in nested:
                recipe = one.model_fields.get("recipe")
                inner = f"{key}.NAME." if named else f"{key}."
                if recipe is not None:
                    yield f"| `{inner}recipe: {recipe.default}` | | | {(one.__doc__ or '').splitlines()[0]} |"
                yield from (row for row in _rows(one, inner) if not (recipe is not None and f"`{inner}recipe`" in row))
        else:
            default = field.get_default(call_default_factory=True)
            shown = "required" if default is PydanticUndefined else f"`{json.dumps(_plain(default), ensure_ascii=False)}`"
            yield f"| `{key}` | {_type_name(field.annotation)} | {shown} | {field.description or ''} |"


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def readme() -> str:
    """The table of every key, as Markdown."""
    return _HEAD + "\n".join(_rows(Study, "")) + "\n"


def generated() -> dict[Path, str]:
    """Path -> text of every generated file."""
    return {TOP / "config" / "schema.json": schema(), TOP / "config" / "README.md": readme()}


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(TOP)}")
