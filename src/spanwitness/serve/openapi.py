"""The OpenAPI 3.1 document of the HTTP API, made from its operations and models."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from spanwitness.serve.api import OPERATIONS, ItemsQuery, Operation
from spanwitness.serve.api_models import ErrorOut

__all__ = ["openapi_document"]

_REF: Final = "#/components/schemas/{model}"
_ERRORS: Final = {
    "400": "The request cannot be done as it is.",
    "401": "It does not say who is asking.",
    "403": "This role may not do it, or the request came from another site.",
    "404": "There is no such item.",
    "409": "Somebody was faster; `current` is the item as it is now.",
    "413": "The body is too large.",
    "415": "The body is no application/json.",
    "422": "The body or the query is not valid.",
    "503": "The queue does not answer; come again after Retry-After.",
}


def openapi_document() -> dict[str, Any]:
    """Return the document."""
    taken = {each.takes for each in OPERATIONS if each.takes is not None}
    given = {each.gives for each in OPERATIONS if each.gives is not None} | {ErrorOut}
    wanted = [(model, "validation") for model in taken] + [
        (model, "serialization") for model in given
    ]
    wanted.sort(key=lambda pair: pair[0].__name__)
    _, schemas = models_json_schema(wanted, ref_template=_REF)  # type: ignore[arg-type]
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "spanwitness",
            "version": version("spanwitness"),
            "summary": "File findings and work on the review queue.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API token; none is needed in access mode local.",
                }
            },
        },
        "security": [{"token": []}, {}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.about,
        "description": f"Needs the role `{operation.role}`.",
        "responses": _responses(operation),
    }
    parameters: list[dict[str, Any]] = []
    if "{id}" in operation.path:
        parameters.append(
            {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
        )
    if operation.has_query:
        properties = ItemsQuery.model_json_schema()["properties"]
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in properties.items()
        ]
    if operation.method == "POST":
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "The same key and request again gives the same answer.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            }
        )
    if parameters:
        found["parameters"] = parameters
    if operation.takes is not None:
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _ref(operation.takes.__name__)}},
        }
    return found


def _responses(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if operation.gives is not None:
        found["200"] = {
            "description": "Done.",
            "content": {"application/json": {"schema": _ref(operation.gives.__name__)}},
        }
    if operation.gives is None or operation.may_be_empty:
        found["204"] = {"description": "Done; there is nothing to give."}
    for status, about in _ERRORS.items():
        found[status] = {
            "description": about,
            "content": {"application/json": {"schema": _ref(ErrorOut.__name__)}},
        }
    return found


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(model=name)}
