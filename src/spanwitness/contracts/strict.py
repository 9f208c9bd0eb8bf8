"""What all parts of a contract share: strict models, names, and errors that name their key."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

__all__ = ["Name", "Names", "Strict", "fail", "one_or_many"]


def one_or_many(value: object) -> object:
    """Let one name stand for a list of one, and a list for a tuple."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Name: TypeAlias = Annotated[str, Field(min_length=1)]
Names: TypeAlias = Annotated[
    tuple[Name, ...],
    BeforeValidator(one_or_many, json_schema_input_type=Name | list[Name]),
    Field(min_length=1),
]
"""One name or several; globs allowed."""


def fail(text: str, *, key: str | None = None) -> PydanticCustomError:
    """Make a validation error that names the key below the validated object."""
    return PydanticCustomError("contract", "{text}", {"text": text, "key": key})


class Strict(BaseModel):
    """A model without coercion and without unknown keys."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )
