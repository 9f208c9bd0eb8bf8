"""What may leave, and as which text."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import io
import json
import math
import threading
import time
import typing
import uuid

import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.capture.recording import watching

from spanwitness.capture import defaults, spans
from spanwitness.capture.content import (
    ContentPolicy,
    clean,
    content_key,
    digest_value,
    encode,
    encode_text,
    exception_text,
)
from spanwitness.capture.run import run
from spanwitness.capture.tool import tool
from spanwitness.errors import SettingsError
from spanwitness.model.digest import digest_text

ON = ContentPolicy()
OFF = ContentPolicy(mode="off")


def strictly(text):
    """Decode as a strict reader does: no bare NaN."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"bare {word}"))


class Bad:
    def __repr__(self):
        raise RuntimeError("repr")

    __str__ = __repr__

    def __len__(self):
        return -1  # noqa: PLE0303

    def __getattr__(self, name):
        return Bad()

    def __eq__(self, other):
        raise RuntimeError("eq")

    __hash__ = object.__hash__

    @property
    def explodes(self):
        raise RuntimeError("property")


class Sleepy:
    def __repr__(self):
        time.sleep(30)
        return "late"

    __str__ = __repr__


class Point(typing.NamedTuple):
    x: int
    y: int


class Colour(enum.Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    a: int
    secret: pydantic.SecretStr
    hidden: str = pydantic.Field(default="pw", repr=False)


@dataclasses.dataclass
class Data:
    a: int
    password: str = dataclasses.field(default="pw", repr=False)


@dataclasses.dataclass(slots=True)
class Slotted:
    a: int


class Packed(msgspec.Struct):
    a: int


def test_five_falsy_values_stay_apart():
    """A60."""
    assert [encode(v, ON).text for v in (None, {}, 0, [], "", False)] == [
        "null", "{}", "0", "[]", '""', "false",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"x": math.nan, "y": math.inf, "z": -math.inf},
         '{"x":{"$float":"NaN"},"y":{"$float":"Infinity"},"z":{"$float":"-Infinity"}}'),
        (np.float64("nan"), '{"$float":"NaN"}'),
        (np.arange(3), "[0,1,2]"),
        (np.array([[1.5, 2.5]]), "[[1.5,2.5]]"),
        (np.int64(3), "3"),
        (Model(a=1, secret=pydantic.SecretStr("hush")),
         '{"a":1,"secret":{"$type":"pydantic.types.SecretStr"},"hidden":"[hidden]"}'),
        (Data(1), '{"a":1,"password":"[hidden]"}'),
        (Slotted(1), '{"a":1}'),
        (Packed(1), '{"a":1}'),
        (Point(1, 2), '{"x":1,"y":2}'),
        (Colour.RED, '"red"'),
        ({Colour.RED: 1, 2: 3, None: 4}, '{"red":1,"2":3,"null":4}'),
        ({"b", "a"}, '["a","b"]'),
        (b"abc", '{"$bytes":3}'),
        (decimal.Decimal("1.10"), '"1.10"'),
        (datetime.date(2026, 1, 2), '"2026-01-02"'),
        (uuid.UUID(int=0), '"00000000-0000-0000-0000-000000000000"'),
        (2**70, str(2**70)),
        (10**5000, '{"$int_bits":16610}'),
        (Bad(), '{"$type":"tests.capture.test_content.Bad"}'),
        (Sleepy(), '{"$type":"tests.capture.test_content.Sleepy"}'),
        ([Sleepy()], '[{"$type":"tests.capture.test_content.Sleepy"}]'),
        (threading.Lock(), '{"$type":"_thread.lock"}'),
        (io.StringIO("x"), '{"$type":"_io.StringIO"}'),
        ((n for n in range(3)), '{"$type":"generator"}'),
        (len, '{"$type":"builtin_function_or_method"}'),
        (ValueError("no"), '{"$error":"ValueError","message":"no"}'),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_of_every_kind_become_valid_json(value, text):
    """B25, B26, B27."""
    encoded = encode(value, ON)
    assert encoded.text == text
    strictly(encoded.text)


def test_cycles_and_deep_nests_end():
    """B25."""
    cycle: dict[str, object] = {"a": 1}
    cycle["self"] = cycle
    assert encode(cycle, ON).text == '{"a":1,"self":{"$ref":"cycle"}}'
    nest: list[object] = []
    for _ in range(200):
        nest = [nest]
    encoded = encode(nest, ON)
    strictly(encoded.text)
    assert encoded.is_truncated


@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000_000,
        list(range(1_000_000)),
        {str(n): n for n in range(200_000)},
        ["text" * 20] * 1_000_000,
        np.zeros((2000, 2000)),
        [Data(n) for n in range(100_000)],
        b"x" * 100_000_000,
    ],
    ids=["text", "list", "dict", "texts", "numpy", "dataclasses", "bytes"],
)
def test_huge_values_are_cut_in_bounded_time(value):
    """B25."""
    before = time.thread_time()
    encoded = encode(value, ON)
    assert time.thread_time() - before < 0.25  # 0.05 meant; the machine may be busy
    assert len(encoded.text) <= ON.max_chars
    strictly(encoded.text)
    assert encoded.is_truncated or isinstance(value, bytes)


def test_a_cut_text_is_marked_with_length_and_digest():
    """B47."""
    value = "x" * 20_000
    with watching(policy=ON) as seen:
        tool(lambda text: text)(value)
    attributes = seen.spans[0].attributes
    assert attributes["spanwitness.truncated"] == (
        "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
    )  # fmt: skip
    assert attributes["spanwitness.truncated.chars"] == (20_011, 20_002)
    assert attributes["spanwitness.truncated.digests"][1] == digest_text(
        json.dumps(value), key=content_key()
    )
    assert len(attributes["gen_ai.tool.call.result"]) <= ON.max_chars
    strictly(attributes["gen_ai.tool.call.arguments"])


def test_small_fields_beside_a_huge_one_survive_the_cut():
    encoded = encode({"body": "x" * 50_000, "page": 7}, ON)
    assert strictly(encoded.text)["page"] == 7


def test_limit_of_the_sdk_is_kept_before_it_cuts_json():
    """B47: OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=20."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(span_limits=SpanLimits(max_span_attribute_length=20))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    spans.use_provider(provider)
    defaults.use()
    try:
        with run("limited"):
            tool(lambda text: text)("y" * 200)
    finally:
        spans.use_provider(None)
        defaults.use()
    attributes = next(s for s in memory.get_finished_spans() if "tool" in s.name).attributes
    assert len(attributes["gen_ai.tool.call.result"]) <= 20
    strictly(attributes["gen_ai.tool.call.result"])
    strictly(attributes["gen_ai.tool.call.arguments"])
    assert attributes["spanwitness.truncated.chars"] == (211, 202)


def test_lone_surrogates_are_replaced_and_marked():
    """B23."""

    @tool(name="t\ud83e")
    def odd(value):
        raise ValueError("bad \ud83e end")

    nested = {"\ud83e": ["ok \ud83e end"]}
    with watching() as seen, pytest.raises(ValueError, match="bad"):
        odd(nested)
    (span,) = seen.spans
    assert span.name == "execute_tool t\ufffd"
    assert span.attributes["gen_ai.tool.name"] == "t\ufffd"
    assert span.attributes["gen_ai.tool.call.arguments"] == (
        '{"value":{"\ufffd":["ok \ufffd end"]}}'
    )
    assert span.attributes["spanwitness.replaced"] == ("gen_ai.tool.call.arguments",)
    assert span.events[0].attributes["exception.message"] == "bad \ufffd end"
    span.to_json().encode()
    assert clean("\ud83d\ude00") == "\U0001f600"


SECRETS = [
    "sk-proj-abcdefghijklmnopqrstuvwx",
    "sk-ant-api03-abcdefghijklmnop_qrst",
    "Bearer abcDEF123456.tok",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "xoxb-1234567890-abcdefghij",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\nabc\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS, ids=[s[:8] for s in SECRETS])
@pytest.mark.parametrize(
    "shape",
    [
        lambda s: s,
        lambda s: {"deep": [{"key": f"line\n{s}"}]},
        lambda s: {s: 1},
        lambda s: "x" * 8180 + " " + s,
        lambda s: ["x" * 7000, "y" * 1100 + " " + s, s],
        lambda s: ValueError(f"denied: {s}"),
    ],
    ids=["text", "nested", "key", "across the cut", "in a cut list", "exception"],
)
def test_credentials_never_leave(secret, shape):
    """B41."""
    text = encode(shape(secret), ContentPolicy(max_chars=8192)).text
    strictly(text)
    telling = secret.removeprefix("-----BEGIN RSA PRIVATE KEY-----\n").removeprefix("Bearer ")
    assert json.dumps(telling[:8])[1:-1] not in text


def test_text_without_secrets_is_left_alone():
    text = "the risk-averse task-force met Bearer of news; see sk-1 and AKIA, ghost_town, xoxo"
    assert encode(text, ON).text == json.dumps(text)


def test_own_redaction_sees_texts_keys_numbers_and_exceptions():
    policy = ContentPolicy(redact=lambda text: text.replace("5551234", "#"))
    value = {"5551234": [5551234, "call 5551234", 1.5]}
    assert encode(value, policy).text == '{"#":["#","call #",1.5]}'
    with watching(policy=policy) as seen, pytest.raises(ValueError, match="5551234"):
        tool(_raise)("no 5551234")
    assert "5551234" not in seen.everything()


def _raise(message):
    raise ValueError(message)


def test_redaction_that_raises_lets_nothing_leave():
    policy = ContentPolicy(redact=lambda text: 1 // 0)
    assert encode({"a": "canary"}, policy).text == '{"[redaction failed]":"[redaction failed]"}'
    assert encode_text("canary", policy).text == "[redaction failed]"


@pytest.mark.parametrize("mode", ["off", "digests"])
def test_no_content_leaves_when_it_is_off(mode):
    """B43."""
    canary = "canary-7f3a"

    @tool
    def leaky(text, *, fail=False):
        if fail:
            raise ValueError(f"failed on {text}")
        return {"echo": text}

    with watching(with_run=False) as seen, run("r", content=mode, input=canary) as r:
        leaky(canary)
        with pytest.raises(ValueError, match=canary):
            leaky(canary, fail=True)
        with r.step("s") as step:
            step.output(canary)
        r.submit({"answer": canary})
        r.set(output=canary)
    assert canary not in seen.everything()
    attributes = seen.named("execute_tool")[0].attributes
    assert attributes["spanwitness.tool.result.chars"] == 22
    assert len(attributes["spanwitness.tool.result.digest"]) == 16
    assert len(attributes["spanwitness.tool.arguments.digest"]) == 16
    failed = seen.named("execute_tool")[1]
    assert len(failed.attributes["spanwitness.tool.error.digest"]) == 16
    assert failed.events[0].attributes == {"exception.type": "ValueError"}


def test_mode_can_differ_for_one_tool():
    policy = ContentPolicy(tools={"secretive": "off"})
    with watching(policy=policy) as seen:
        tool(name="secretive")(lambda text: text)("a")
        tool(name="open")(lambda text: text)("a")
        tool(name="closed", content="off")(lambda text: text)("a")
    recorded = ["gen_ai.tool.call.result" in span.attributes for span in seen.spans]
    assert recorded == [False, True, False]


def test_equal_values_have_equal_digests_and_the_key_stays():
    assert encode([1, "a"], OFF).digest == encode([1, "a"], OFF).digest
    assert encode([1, "a"], OFF).digest != encode([1, "b"], OFF).digest
    assert encode("yes", OFF).digest != digest_text('"yes"')
    shared = ContentPolicy(mode="digests", digest_key=b"k" * 32)
    assert encode("yes", shared).digest == digest_text('"yes"', key=b"k" * 32)


def test_digest_of_an_answer_sees_deep_changes():
    answer = {"rows": [{"v": Data(1)}]}
    before = digest_value(answer)
    answer["rows"][0]["v"].a = 2
    assert digest_value(answer) != before


def test_only_allowed_headers_are_picked():
    """B41."""
    headers = {
        "Authorization": "Bearer x", "x-api-key": "k", "X-Acme-Token": "t", "Cookie": "c",
        "Content-Type": "application/json", "X-Request-ID": "r1",
    }  # fmt: skip
    assert ON.pick_headers(headers) == {"x-request-id": "r1"}
    own = ContentPolicy(headers=frozenset({"X-Team"}))
    assert own.pick_headers({"x-team": "a", "content-type": "b"}) == {"x-team": "a"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "hidden"},
        {"mode": "ON"},
        {"max_chars": 3},
        {"redact": "no"},
        {"digest_key": b"k"},
        {"tools": {"t": "maybe"}},
    ],
    ids=str,
)
def test_a_policy_that_cannot_be_read_is_refused(arguments):
    with pytest.raises(SettingsError):
        ContentPolicy(**arguments)


def test_exception_messages_never_run_code_of_their_arguments():
    assert exception_text(ValueError(Sleepy())) == "tests.capture.test_content.Sleepy"
    assert exception_text(KeyError("k")) == "'k'"

    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    assert exception_text(Broken()).endswith("Broken>")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(
        alphabet=st.characters(exclude_categories=())
    ),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=30,
)  # fmt: skip


@given(json_values, st.integers(16, 200))
def test_any_value_becomes_valid_json_within_the_cap(value, cap):
    encoded = encode(value, ContentPolicy(max_chars=cap))
    strictly(encoded.text)
    encoded.text.encode()
    assert len(encoded.text) <= cap


@given(json_values)
def test_plain_values_are_kept_exactly(value):
    encoded = encode(value, ContentPolicy(redact_secrets=False))
    if encoded.is_truncated or encoded.is_repaired or "$" in encoded.text:
        return
    assert json.loads(encoded.text) == json.loads(json.dumps(value))
