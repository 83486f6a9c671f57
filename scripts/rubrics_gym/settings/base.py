"""What every block of the configuration has in common: frozen, closed, and the types of its values."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Probability = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


class Settings(BaseModel):
    """Base of every block: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
