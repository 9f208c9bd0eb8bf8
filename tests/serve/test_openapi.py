"""The OpenAPI document: valid, whole, and what the server really says."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from spanwitness.serve.api import OPERATIONS
from spanwitness.serve.openapi import openapi_document


@pytest.fixture(scope="module")
def document():
    return openapi_document()


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_the_document_is_valid_openapi(document):
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document)


def test_every_reference_leads_somewhere(document):
    schemas = document["components"]["schemas"]
    found = set(references(document))
    assert len(found) > 10
    assert {each.removeprefix("#/components/schemas/") for each in found} == set(schemas)


def test_every_schema_is_valid_json_schema(document):
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_operation_stands_in_the_document_with_its_role(document):
    found = {
        (path, method): told
        for path, methods in document["paths"].items()
        for method, told in methods.items()
    }
    assert set(found) == {(each.path, each.method.lower()) for each in OPERATIONS}
    for each in OPERATIONS:
        told = found[each.path, each.method.lower()]
        assert each.role in told["description"]
        assert {"401", "403", "422"} <= set(told["responses"])
        assert ("requestBody" in told) == (each.takes is not None)


def test_operation_ids_are_unique():
    names = [each.name for each in OPERATIONS]
    assert len(set(names)) == len(names)


def test_all_texts_of_the_models_stand_in_the_document(document):
    described = [s for s in document["components"]["schemas"].values() if "description" in s]
    assert len(described) == len(document["components"]["schemas"])
