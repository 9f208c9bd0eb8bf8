"""Findings that are not to count: each by its fingerprint, with a reason and a last day."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BeforeValidator, Field, ValidationError

from spanwitness.contracts.strict import Name, Strict, fail, one_or_many
from spanwitness.errors import RuleError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Suppression", "Suppressions", "load_suppressions"]


def _as_date(value: object) -> object:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise fail(f"{value!r} is no day; write it as 2027-01-31") from None
    return value


class Suppression(Strict):
    """One finding that is not to count."""

    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{12,64}$")]
    """The finding's fingerprint, or at least its first 12 digits."""
    rule: Name
    """Its rule; another rule's finding is never suppressed."""
    reason: Name
    """Why it is not to count."""
    expires: Annotated[date, BeforeValidator(_as_date)]
    """The last day on which it does not count."""

    def covers(self, *, fingerprint: str, rule: str) -> bool:
        """Say whether it is about this finding."""
        return rule == self.rule and fingerprint.startswith(self.fingerprint)

    def is_expired(self, today: date) -> bool:
        """Say whether its last day is over."""
        return today > self.expires


class Suppressions(Strict):
    """The content of a file of suppressions."""

    suppressions: Annotated[tuple[Suppression, ...], BeforeValidator(one_or_many)] = ()
    """The findings that are not to count."""


def load_suppressions(path: Path, /) -> Suppressions:
    """Read a file of suppressions.

    Raises:
        RuleError: It cannot be read, or an entry is malformed; file, entry and key are named.
    """
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RuleError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f":{place.line + 1}" if place is not None else ""
        raise RuleError(f"{path}{line}: not YAML; check quotes, colons and indentation") from None
    try:
        return Suppressions.model_validate({} if value is None else value)
    except ValidationError as error:
        raise RuleError("\n".join(_messages(error, path))) from None


def _messages(error: ValidationError, path: Path) -> list[str]:
    found = []
    for detail in error.errors(include_url=False):
        match detail["loc"]:
            case ("suppressions", int(place), *rest):
                where = f"entry {place + 1}" + "".join(f": {key}" for key in rest)
            case loc:
                where = ".".join(map(str, loc)) or "the file"
        text = _FORMS.get(detail["type"], detail["msg"])
        found.append(f"{path}: {where}: {text}")
    return found


_FORMS = {
    "missing": "is missing; every suppression has fingerprint, rule, reason and expires",
    "extra_forbidden": "unknown key; an entry has fingerprint, rule, reason and expires",
    "string_pattern_mismatch": "is no fingerprint: 64 hex digits, or at least the first 12",
    "string_too_short": "must not be empty",
    "date_type": "is no day; write it as 2027-01-31",
    "model_type": "must be a mapping with the key 'suppressions'",
    "tuple_type": "must be a list",
}
