"""The page: one self-contained HTML file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from spanwitness.errors import MissingExtraError, SettingsError
from spanwitness.measure.report.evidence import evidence_sections
from spanwitness.measure.report.paired import paired_sections
from spanwitness.measure.report.stability import provenance_sections, stability_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanwitness.measure.report.section import Section

__all__ = ["render"]

_KINDS: Final[dict[str, tuple[str, Callable[[Mapping[str, Any]], list[Section]]]]] = {
    "spanwitness.paired/1": ("Paired audit of a step", paired_sections),
    "spanwitness.evidence/1": ("Evidence state of a pipeline", evidence_sections),
    "spanwitness.stability/1": ("Stability of repeated runs", stability_sections),
    "spanwitness.provenance/1": ("Provenance of a benchmark", provenance_sections),
}
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
    if schema not in _KINDS:
        raise SettingsError(f"schema {schema!r} is none of {', '.join(_KINDS)}")
    title, sections_of = _KINDS[schema]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("spanwitness.measure.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        title=title,
        source=source,
        schema=schema,
        settings={key: document[key] for key in _SETTINGS if key in document},
        sections=[
            replace(section, svg=_with_own_ids(section.svg, f"f{place}-"))
            for place, section in enumerate(sections_of(document), start=1)
        ],
    )


def _with_own_ids(svg: str | None, prefix: str) -> str | None:
    """Keep the names inside one picture apart from those of the others."""
    if svg is None:
        return None
    return _ID.sub(lambda found: f"{found[1]}{prefix}", svg)
