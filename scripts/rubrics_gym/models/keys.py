"""Keys of live providers: looked for before the first job of a study, named in errors, and never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rubrics_gym.settings.study import Models, ProviderName

VARIABLES: dict[ProviderName, str] = {ProviderName.ANTHROPIC: "ANTHROPIC_API_KEY"}  # simulated models need none


class MissingKey(RuntimeError):
    """A live model is configured and its key is not in the environment."""


def check_keys(models: Models, environment: Mapping[str, str] = os.environ) -> None:
    """MissingKey names every role whose provider has no key in the environment."""
    missing: dict[str, list[str]] = {}
    for role in Models.model_fields:
        variable = VARIABLES.get(getattr(models, role).provider)
        if variable is not None and not environment.get(variable, "").strip():
            missing.setdefault(variable, []).append(role)
    if missing:
        needs = "; ".join(f"{variable} (models.{', models.'.join(roles)})" for variable, roles in missing.items())
        raise MissingKey(
            f"The study uses live models, and the environment lacks the key: {needs}. Export it, or set these models' provider to simulated."
        )


def key_of(provider: ProviderName, environment: Mapping[str, str] = os.environ) -> str:
    """The key of a live provider."""
    variable = VARIABLES[provider]
    value = environment.get(variable, "").strip()
    if not value:
        raise MissingKey(f"The environment variable {variable} is not set; the provider {provider.value} needs it.")
    return value
