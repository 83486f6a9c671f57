"""Keys of live providers: looked for before the first job that may need one, named in errors, and never shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from rubrics_gym.settings.study import Endpoint, Models, ProviderName, Requests

VARIABLES: dict[ProviderName, str] = {  # simulated models need none
    ProviderName.ANTHROPIC: "ANTHROPIC_API_KEY",
    ProviderName.OPENAI: "OPENAI_API_KEY",
}


NO_KEY = "none"  # what a server that needs no key is sent: an SDK that is given nothing looks for a key by itself


class MissingKey(RuntimeError):
    """A live model is configured and its key is not in the environment."""


def variable_of(provider: ProviderName, endpoint: Endpoint | None) -> str | None:
    """The environment variable that holds the key; None when none is needed. A server of one's own is never sent the provider's key."""
    return VARIABLES.get(provider) if endpoint is None else endpoint.key


def check_keys(models: Models, requests: Requests, roles: Iterable[str], environment: Mapping[str, str] = os.environ) -> None:
    """MissingKey names those of some roles whose provider has no key in the environment."""
    missing: dict[str, list[str]] = {}
    for role in roles:
        if getattr(models, role) is None:  # a role that this study does not have
            continue
        variable = variable_of(getattr(models, role).provider, requests.endpoints.get(role))  # type: ignore[call-overload]
        if variable is not None and not environment.get(variable, "").strip():
            missing.setdefault(variable, []).append(role)
    if missing:
        needs = "; ".join(f"{variable} (models.{', models.'.join(roles)})" for variable, roles in missing.items())
        raise MissingKey(
            f"The study uses live models, and the environment lacks the key: {needs}. Export it, or set these models' provider to simulated."
        )


def key_of(provider: ProviderName, endpoint: Endpoint | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The key of a live provider, or of a server of one's own; None where none is needed. MissingKey when it is not set."""
    variable = variable_of(provider, endpoint)
    if variable is None:
        return None
    value = environment.get(variable, "").strip()
    if not value:
        raise MissingKey(f"The environment variable {variable} is not set; the provider {provider.value} needs it.")
    return value
