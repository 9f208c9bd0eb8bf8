"""The parts of SARIF 2.1.0 that we write, as a JSON Schema made from the specification.

Section numbers are those of the OASIS standard. Unknown properties are refused (3.1 of the
published schema does so too) except in property bags (3.8).
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string", "minLength": 1}
_BAG = {"type": "object"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": {**properties, "properties": _BAG},
        "additionalProperties": False,
    }


_MESSAGE = _object(["text"], text=_TEXT)  # 3.11
_MULTIFORMAT = _object(["text"], text=_TEXT)  # 3.12
_LEVEL = {"enum": ["none", "note", "warning", "error"]}  # 3.27.10
_KIND = {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]}  # 3.27.9
_REFERENCE = _object([], id=_TEXT, index={"type": "integer", "minimum": -1})  # 3.52
_LOCATION = _object(  # 3.28
    [],
    physicalLocation=_object(
        ["artifactLocation"],
        artifactLocation=_object([], uri={"type": "string", "format": "uri-reference"}),
    ),
    logicalLocations={
        "type": "array",
        "uniqueItems": True,
        "items": _object([], name=_TEXT, fullyQualifiedName=_TEXT, kind=_TEXT),  # 3.33
    },
)
_RULE = _object(  # 3.49
    ["id"],
    id=_TEXT,
    shortDescription=_MULTIFORMAT,
    fullDescription=_MULTIFORMAT,
    help=_MULTIFORMAT,
    defaultConfiguration=_object([], level=_LEVEL),  # 3.50
)
_SUPPRESSION = _object(  # 3.35
    ["kind"],
    kind={"enum": ["inSource", "external"]},
    status={"enum": ["accepted", "underReview", "rejected"]},
    justification=_TEXT,
)
_RESULT = _object(  # 3.27
    ["message"],
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    kind=_KIND,
    level=_LEVEL,
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION},
    relatedLocations={"type": "array", "uniqueItems": True, "items": _LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    suppressions={"type": "array", "uniqueItems": True, "items": _SUPPRESSION},
)
# 3.27.10: a result whose kind is not `fail` has level `none`.
_RESULT["if"] = {"properties": {"kind": {"not": {"const": "fail"}}}, "required": ["kind"]}
_RESULT["then"] = {"properties": {"level": {"const": "none"}}}
_INVOCATION = _object(  # 3.20
    ["executionSuccessful"],
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications={
        "type": "array",
        "items": _object(  # 3.58
            ["message"], message=_MESSAGE, level=_LEVEL, associatedRule=_REFERENCE
        ),
    },
)
_RUN = _object(  # 3.14
    ["tool"],
    tool=_object(  # 3.18
        ["driver"],
        driver=_object(  # 3.19
            ["name"],
            name=_TEXT,
            version=_TEXT,
            rules={"type": "array", "uniqueItems": True, "items": _RULE},
        ),
    ),
    results={"type": "array", "items": _RESULT},
    invocations={"type": "array", "items": _INVOCATION},
)
SCHEMA: dict[str, Any] = _object(  # 3.13
    ["version", "runs"],
    version={"const": "2.1.0"},
    runs={"type": "array", "items": _RUN},
)
SCHEMA["properties"]["$schema"] = {"type": "string", "format": "uri"}
