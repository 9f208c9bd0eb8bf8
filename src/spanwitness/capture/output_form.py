"""The form that a step's result must have, and whether a result has it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec

from spanwitness.capture.plain import Plainer
from spanwitness.errors import SettingsError
from spanwitness.normalize.json_schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

_MAX_CHARS = 1_000_000


class OutputForm(Protocol):
    """Says whether a result has the form."""

    def accepts(self, value: object) -> bool | None:
        """Return whether it parses; `None` = cannot be told.

        The caller's model may raise anything here.
        """


def output_form(output: object) -> OutputForm:
    """Make a form of a pydantic model or a JSON Schema.

    Raises:
        SettingsError: It is neither, or the schema is malformed.
    """
    if isinstance(output, dict):
        return _Schema(output)
    if isinstance(output, type) and hasattr(output, "model_validate"):
        return _Model(output)
    raise SettingsError(
        f"output must be a pydantic model or a JSON Schema (a dict), not {output!r}"
    )


class _Model:
    """A pydantic model: instances, JSON text and mappings may satisfy it."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def accepts(self, value: object) -> bool | None:
        from pydantic import ValidationError

        if isinstance(value, self._model):
            return True
        try:
            if isinstance(value, str | bytes):
                self._model.model_validate_json(value)
            else:
                self._model.model_validate(value)
        except ValidationError:
            return False
        return True


class _Schema:
    """A JSON Schema, for JSON text and for values that can be written as JSON."""

    def __init__(self, schema: dict[str, object]) -> None:
        from jsonschema import SchemaError, validators

        try:
            validators.validator_for(schema).check_schema(schema)
        except SchemaError as error:
            raise SettingsError(f"output is no valid JSON Schema: {error.message}") from None
        self._schema = schema

    @cached_property
    def _holds(self) -> Callable[[object], bool | None]:
        return compile_schema(self._schema)

    def accepts(self, value: object) -> bool | None:
        if isinstance(value, str | bytes):
            try:
                decoded = msgspec.json.decode(value)
            except RecursionError:
                return None
            except (msgspec.DecodeError, UnicodeEncodeError):
                return False
        else:
            plain = Plainer(_MAX_CHARS)
            decoded = plain.convert(value)
            if plain.is_cut:
                return None
        return self._holds(decoded)
