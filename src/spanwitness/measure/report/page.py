"""The page: one self-contained HTML file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from spanwitness.errors import MissingExtraError, SettingsError
from spanwitness.measure.report.audits import audits_sections
from spanwitness.measure.report.kinds import KINDS, sections_of, subject_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["render"]

_AUDITS: Final = "spanwitness.audits/1"
_ID: Final = re.compile(r'(\bid="|href="#|url\(#)')
_SETTINGS: Final = ("level", "n_resamples", "seed")


def render(document: Mapping[str, Any], *, source: str = "") -> str:
    """Return the page of a result.

    Args:
        document: The result in its fixed JSON form (`to_dict()`, or `--format json`).
        source: Where the numbers come from, such as the name of the table.

    Raises:
        SettingsError: The document is no result of a measure.
        MissingExtraError: The extra `measure` is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", extra="measure") from None
    schema = document.get("schema")
    if schema != _AUDITS and schema not in KINDS:
        raise SettingsError(f"schema {schema!r} is none of {', '.join([*KINDS, _AUDITS])}")
    if schema == _AUDITS:
        title, found = "Audits side by side", audits_sections(document)
    else:
        title, found = KINDS[schema].title, sections_of(document)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("spanwitness.measure.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["printable"] = _printable
    return environment.get_template("report.html.j2").render(
        title=title,
        source=source,
        subject=subject_of(document),
        schema=schema,
        settings={key: document[key] for key in _SETTINGS if key in document},
        sections=[
            replace(section, svg=_with_own_ids(section.svg, f"f{place}-"))
            for place, section in enumerate(found, start=1)
        ],
    )


def _with_own_ids(svg: str | None, prefix: str) -> str | None:
    """Keep the names inside one picture apart from those of the others."""
    if svg is None:
        return None
    return _ID.sub(lambda found: f"{found[1]}{prefix}", svg)


def _printable(text: str) -> str:
    """Mark what is not printable: it would move or hide text."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
