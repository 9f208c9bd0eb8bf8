"""Server-sent events, however they are written and split."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwitness.wire.sse import ByteBuffer, read_events, read_items

DECODER = msgspec.json.Decoder(list[dict[str, object]])


def lenient(payload, event):
    return payload if isinstance(payload, dict) else None


def items(body):
    return read_items(body, DECODER, lenient)


BODIES = {
    "plain": (b'data: {"a":1}\n\ndata: {"a":2}\n\n', 2),
    "no space": (b'data:{"a":1}\n\ndata:{"a":2}\n\n', 2),
    "carriage returns": (b'data: {"a":1}\r\n\r\ndata: {"a":2}\r\n\r\n', 2),
    "lone carriage returns": (b'data: {"a":1}\r\rdata: {"a":2}\r\r', 2),
    "byte order mark": (b'\xef\xbb\xbfdata: {"a":1}\n\ndata: {"a":2}\n\n', 2),
    "comments": (b': hi\n\ndata: {"a":1}\n\n: ping\n\ndata: {"a":2}\n\n', 2),
    "comment inside": (b'data: {"a":1}\n: ping\n\ndata: {"a":2}\n\n', 2),
    "names": (b'event: x\ndata: {"a":1}\n\nevent: y\ndata: {"a":2}\n\n', 2),
    "mixed": (b'data: {"a":1}\n\nevent: y\ndata: {"a":2}\n\n', 2),
    "ids": (b'id: 1\ndata: {"a":1}\nretry: 3\n\ndata: {"a":2}\n\n', 2),
    "two lines of data": (b'data: {"a":\ndata: 1}\n\ndata: {"a":2}\n\n', 2),
    "more blank lines": (b'\n\ndata: {"a":1}\n\n\n\ndata: {"a":2}\n\n\n', 2),
    "no blank line at the end": (b'data: {"a":1}\n\ndata: {"a":2}', 2),
    "done": (b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n', 2),
    "unfinished": (b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: {"a":3', 2),
    "rubbish between": (b'data: {"a":1}\n\ndata: rubbish\n\ndata: {"a":2}\n\n', 2),
    "empty events": (b'data: {"a":1}\n\nevent: ping\n\ndata: {"a":2}\n\n', 2),
}


@pytest.mark.parametrize(("body", "n_items"), BODIES.values(), ids=BODIES)
def test_every_way_of_writing_events_is_read(body, n_items):
    assert items(body).items == [{"a": n + 1} for n in range(n_items)]


def test_two_lines_that_only_together_are_json_are_one_event():
    # Joined by a comma, as the fast reader joins events, they would be another valid object.
    body = b'data: {"a":1\ndata: "b":2}\n\n'

    assert items(body).items == []
    assert [event.data for event in read_events(body)] == [b'{"a":1\n"b":2}']


def test_the_name_of_an_event_is_read():
    events = read_events(b"event: error\ndata: x\n\n")

    assert [(event.event, event.data) for event in events] == [("error", b"x")]


def test_only_a_stream_that_says_so_is_done():
    assert items(BODIES["done"][0]).is_done is True
    assert items(BODIES["plain"][0]).is_done is False
    assert items(b"data: [DONE]\n\n").is_done is True
    assert items(b"").items == []


payloads = st.lists(
    st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=3), max_size=6
)


@given(payloads, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_what_was_written_is_read_again(payloads, ending, is_named):
    lines = []
    for payload in payloads:
        lines += ["event: x"] if is_named else []
        lines += [f"data: {json.dumps(payload)}", ""]
    body = "".join(line + ending for line in lines).encode()

    assert items(body).items == payloads


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(body):
    items(b"data: " + body)
    read_events(body)


def test_the_buffer_keeps_the_head_up_to_its_cap_and_a_tail():
    buffer = ByteBuffer(max_bytes=10)
    for _ in range(100_000):
        buffer.feed(b"abcdef")

    assert buffer.head() == b"abcdefabcd"
    assert buffer.is_cut is True
    assert buffer.n_bytes == 600_000
    assert 65_536 <= len(buffer.tail()) < 65_536 + 6
    assert buffer.tail().endswith(b"abcdef")


def test_the_buffer_holds_one_huge_chunk_within_its_bounds():
    buffer = ByteBuffer(max_bytes=10)
    buffer.feed(b"a" * 1_000_000)

    assert buffer.head() == b"a" * 10
    assert len(buffer.tail()) == 65_536
    assert buffer.n_bytes == 1_000_000


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_a_body_within_the_cap_is_kept_whole(chunks):
    buffer = ByteBuffer(max_bytes=1000)
    for chunk in chunks:
        buffer.feed(chunk)

    assert buffer.head() == b"".join(chunks)
    assert buffer.is_cut is False
    assert buffer.tail() == b""
