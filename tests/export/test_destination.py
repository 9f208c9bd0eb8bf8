from __future__ import annotations

from pathlib import Path

import pytest

from spanwitness.errors import SettingsError
from spanwitness.export.destination import ExportSettings, read_otlp_variables


@pytest.mark.parametrize(
    ("variables", "endpoint", "protocol"),
    [
        ({}, None, "http/protobuf"),
        ({"ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces", "http/protobuf"),
        ({"ENDPOINT": "http://c:4318/base/"}, "http://c:4318/base/v1/traces", "http/protobuf"),
        ({"TRACES_ENDPOINT": "http://c/exact"}, "http://c/exact", "http/protobuf"),
        ({"ENDPOINT": "http://c", "TRACES_ENDPOINT": "http://d/t"}, "http://d/t", "http/protobuf"),
        ({"ENDPOINT": "http://c:4317"}, "http://c:4317", "grpc"),
        ({"ENDPOINT": "c:4317"}, "c:4317", "grpc"),
        (
            {"ENDPOINT": "http://c:4317", "PROTOCOL": "http/protobuf"},
            "http://c:4317/v1/traces",
            "http/protobuf",
        ),
        (
            {"ENDPOINT": "http://c", "TRACES_PROTOCOL": "http/json"},
            "http://c/v1/traces",
            "http/json",
        ),
        ({"ENDPOINT": "http://c:9", "PROTOCOL": "grpc"}, "http://c:9", "grpc"),
    ],
)
def test_standard_variables_name_endpoint_and_protocol(variables, endpoint, protocol):
    settings = read_otlp_variables({f"OTEL_EXPORTER_OTLP_{k}": v for k, v in variables.items()})
    assert settings.endpoint == endpoint
    assert settings.protocol == protocol


def test_remaining_variables_are_read():
    settings = read_otlp_variables(
        {
            "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20YWJj, x-team = a=b ,",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "3",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            "OTEL_EXPORTER_OTLP_CERTIFICATE": "/ca.pem",
            "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/key.pem",
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "/cert.pem",
            "OTEL_EXPORTER_OTLP_INSECURE": "true",
            "OTEL_BSP_SCHEDULE_DELAY": "250",
            "OTEL_BSP_MAX_QUEUE_SIZE": "100",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10",
        }
    )
    assert settings.headers == {"authorization": "Basic YWJj", "x-team": "a=b"}
    assert settings.timeout_s == 3
    assert settings.compression == "gzip"
    assert settings.certificate == Path("/ca.pem")
    assert settings.client_key == Path("/key.pem")
    assert settings.client_certificate == Path("/cert.pem")
    assert settings.is_insecure is True
    assert settings.schedule_delay_s == 0.25
    assert settings.max_queue_spans == 100
    assert settings.max_batch_spans == 10


@pytest.mark.parametrize(
    ("text", "timeout_s"), [("10", 10), ("10000", 10), ("0.5", 0.5), ("999", 999)]
)
def test_timeout_is_read_in_seconds_and_from_1000_in_milliseconds(text, timeout_s):
    assert read_otlp_variables({"OTEL_EXPORTER_OTLP_TIMEOUT": text}).timeout_s == timeout_s


def test_the_form_for_traces_goes_before_the_general_one():
    settings = read_otlp_variables(
        {
            "OTEL_EXPORTER_OTLP_TIMEOUT": "3",
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "4",
            "OTEL_EXPORTER_OTLP_HEADERS": "a=1",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2",
        }
    )
    assert settings.timeout_s == 4
    assert settings.headers == {"b": "2"}


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "thrift"},
        {"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"},
        {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"},
        {"OTEL_EXPORTER_OTLP_TIMEOUT": "-1"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:port"},
        {"OTEL_EXPORTER_OTLP_INSECURE": "yes"},
        {"OTEL_BSP_MAX_QUEUE_SIZE": "0"},
    ],
)
def test_a_variable_that_cannot_be_used_is_an_error(variables):
    with pytest.raises(SettingsError, match=r"give|number"):
        read_otlp_variables(variables)


def test_an_unreadable_header_is_an_error_that_does_not_quote_it():
    with pytest.raises(SettingsError) as caught:
        read_otlp_variables({"OTEL_EXPORTER_OTLP_HEADERS": "a=1,s3cr3t-token"})
    assert "s3cr3t" not in str(caught.value)


def test_headers_and_credentials_stay_out_of_the_representation_and_of_errors():
    assert "s3cr3t" not in repr(ExportSettings(headers={"authorization": "s3cr3t"}))
    with pytest.raises(SettingsError) as caught:
        ExportSettings(endpoint="ftp://user:s3cr3t@host/x?token=s3cr3t")
    assert "s3cr3t" not in str(caught.value)


def test_an_endpoint_without_a_scheme_is_quoted_as_it_was_given():
    with pytest.raises(SettingsError, match="endpoint='localhost:4318': give a full http"):
        ExportSettings(endpoint="localhost:4318")
    with pytest.raises(SettingsError) as caught:
        ExportSettings(endpoint="user:s3cr3t@host:4318?token=s3cr3t#s3cr3t")
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("values", [{"timeout_s": 0}, {"max_batch_spans": 0}, {"protocol": "x"}])
def test_values_out_of_range_are_an_error(values):
    with pytest.raises(SettingsError, match=next(iter(values))):
        ExportSettings(**values)
