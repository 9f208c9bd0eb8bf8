"""An MCP session, watched: what its servers list is *configured*, what they run is *executed*.

In place on the instance, and over whatever carries the session (stdio, HTTP, memory): the two
methods are wrapped, not the wire. Results and errors pass as they are.
"""

# The objects here are of libraries that are never imported, reached where they keep their parts.
# ruff: noqa: ANN401, SLF001

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from spanwitness.capture import defaults, mcp_values, spans
from spanwitness.capture.content import digest_content, encode
from spanwitness.capture.context import (
    CallClaim,
    ambient_board,
    claim_anywhere,
    current_run,
)
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.phases import check_phase
from spanwitness.capture.plain import type_name
from spanwitness.capture.results import Outcome, hold
from spanwitness.capture.tool_call import explicit_call
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as sw

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spanwitness.capture.content import ContentPolicy, Encoded
    from spanwitness.capture.context import Board, RunState

    Method = Callable[..., Awaitable[Any]]

__all__ = ["is_mcp_client", "watch_mcp"]

_MAX_EFFECTS = 4096
_inside: ContextVar[object] = ContextVar("spanwitness_mcp_session", default=None)
"""The session that a client of ours is using right now: it is watched one level above."""


def is_mcp_client(client: object) -> bool:
    """Say whether an object lists and calls tools as the sessions and clients of MCP do."""
    return all(
        inspect.iscoroutinefunction(getattr(client, name, None))
        for name in ("list_tools", "call_tool")
    )


def watch_mcp(client: object) -> None:
    """Watch an MCP session or client, in place. Doing it twice changes nothing."""
    it: Any = client
    if getattr(it.call_tool, "_is_witnessed", False):
        return
    watched = _Watched(it)
    it.list_tools = _marked(_listing(watched, it.list_tools))
    it.call_tool = _marked(_calling(watched, it.call_tool))
    if inspect.iscoroutinefunction(getattr(it, "initialize", None)):
        it.initialize = _marked(_initializing(watched, it.initialize))


def _marked(method: Any) -> Any:
    method._is_witnessed = True
    return method


class _Watched:
    """What is known of one client: its server's name and what its tools do."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.effects: dict[str, Literal["read", "write"]] = {}
        self.told_server: str | None = None

    def server(self) -> str | None:
        """Return the server's name, as far as it has introduced itself."""
        with guard("capture.mcp.server"):
            # mcp 2 keeps it; before a handshake asking raises.
            info = None
            if getattr(self.client, "_session", self.client) is not None:
                info = getattr(self.client, "server_info", None)
            name = getattr(info, "name", None)
            if isinstance(name, str):
                self.told_server = name
        return self.told_server

    def session(self) -> object:
        """Return the session below a client (`mcp.Client`), or the session itself."""
        return getattr(self.client, "_session", None) or self.client

    def learn(self, tools: Sequence[Any]) -> None:
        """Remember what the annotations of listed tools say about their effect."""
        for tool in tools:
            effect = mcp_values.effect_of(tool)
            if effect is not None and len(self.effects) < _MAX_EFFECTS:
                self.effects[tool.name] = effect


def _is_nested(watched: _Watched) -> bool:
    return _inside.get() is watched.client


def _initializing(watched: _Watched, method: Method) -> Method:
    @wraps(method)
    async def initialize(*args: object, **kwargs: object) -> Any:
        result = await method(*args, **kwargs)
        with guard("capture.mcp.initialize"):
            info = getattr(result, "server_info", None) or getattr(result, "serverInfo", None)
            name = getattr(info, "name", None)
            watched.told_server = name if isinstance(name, str) else None
        return result

    return initialize


def _listing(watched: _Watched, method: Method) -> Method:
    @wraps(method)
    async def list_tools(*args: object, **kwargs: object) -> Any:
        if _is_nested(watched):
            return await method(*args, **kwargs)
        state = current_run()
        attributes: spans.Attributes = {gen_ai.MCP_METHOD_NAME: "tools/list"}
        server = watched.server()
        if server is not None:
            attributes[sw.TOOL_SERVER] = server
        handle = spans.start("tools/list", kind="client", attributes=attributes, state=state)
        found: spans.Attributes = {}
        token = _inside.set(watched.session())
        before = handle.enter()
        try:
            result = await method(*args, **kwargs)
            with guard("capture.mcp.listed"):
                watched.learn(result.tools)
                found |= _listed(result.tools, state, is_recording=handle.is_recording)
        except BaseException as error:
            handle.fail(error, _policy(state), is_error=isinstance(error, Exception))
            raise
        finally:
            handle.leave(before)
            _inside.reset(token)
            handle.end(found)
        return result

    return list_tools


def _policy(state: RunState | None) -> ContentPolicy:
    return defaults.policy() if state is None else state.policy


def _listed(
    tools: Sequence[Any], state: RunState | None, *, is_recording: bool
) -> spans.Attributes:
    found: spans.Attributes = {sw.TOOLS_CONFIGURED: [tool.name for tool in tools]}
    policy = _policy(state)
    if is_recording and policy.is_on:
        found |= mcp_values.recorded_definitions(tools, policy)
    return found


def _calling(watched: _Watched, method: Method) -> Method:
    @wraps(method)
    async def call_tool(*args: Any, **kwargs: Any) -> Any:
        if _is_nested(watched):
            return await method(*args, **kwargs)
        call = None
        with guard("capture.mcp.call"):
            name = args[0] if args else kwargs.get("name")
            arguments = args[1] if len(args) > 1 else kwargs.get("arguments")
            call = _ToolCall(watched, str(name), arguments)
        if call is None:
            return await method(*args, **kwargs)
        token = _inside.set(watched.session())
        before = call.handle.enter()
        try:
            call.keep_phase()
            result = await method(*args, **kwargs)
            with guard("capture.mcp.result"):
                call.returned(result)
        except BaseException as error:
            with guard("capture.mcp.failed"):
                call.failed(error)
            raise
        finally:
            call.handle.leave(before)
            _inside.reset(token)
            call.handle.end(call.found)
        return result

    return call_tool


def _claim(state: RunState | None, name: str, bound: Mapping[str, object]) -> CallClaim:
    explicit = explicit_call()
    if explicit is not None and not explicit.is_taken:
        explicit.is_taken = True
        if state is not None:
            return state.board.claim_id(explicit.call_id)
        return CallClaim(explicit.call_id, "explicit")
    return claim_anywhere(name, bound) if state is None else state.board.claim(name, bound)


class _ToolCall:
    """One `tools/call` and its span."""

    def __init__(self, watched: _Watched, name: str, arguments: object) -> None:
        state = current_run()
        self.name = name
        self.policy = _policy(state).for_tool(name)
        self.board: Board = ambient_board if state is None else state.board
        bound = arguments if isinstance(arguments, Mapping) else {}
        claim = _claim(state, name, bound)
        self.call_id = claim.call_id
        attributes: spans.Attributes = {
            gen_ai.OPERATION_NAME: gen_ai.EXECUTE_TOOL,
            gen_ai.TOOL_NAME: name,
            gen_ai.MCP_METHOD_NAME: "tools/call",
            sw.TOOL_SIDE: "mcp",
            sw.TOOL_LINK: claim.link,
        }
        optional = (
            (gen_ai.TOOL_CALL_ID, claim.call_id),
            (sw.TOOL_SERVER, watched.server()),
            (sw.TOOL_EFFECT, watched.effects.get(name)),
        )
        attributes.update((key, value) for key, value in optional if value is not None)
        self.phase = check_phase(state, name, None)
        if self.phase is not None:
            attributes |= self.phase.attributes
        self.found: spans.Attributes = {}
        self.handle = spans.start(
            f"execute_tool {name}", kind="client", attributes=attributes, state=state
        )
        self.marked: list[Mark] = []
        if self.handle.is_recording:
            with guard("capture.mcp.arguments"):
                self._put(gen_ai.TOOL_CALL_ARGUMENTS, sw.TOOL_ARGUMENTS_DIGEST, dict(bound))

    def _put(self, key: str, digest_key: str, value: object) -> Encoded:
        encoded = encode(value, self.policy)
        if encoded.text is not None:
            self.found[key] = encoded.text
        if encoded.digest:
            self.found[digest_key] = encoded.digest
        self.marked.append(Mark(key, encoded))
        self.found |= marks(self.marked)
        return encoded

    def keep_phase(self) -> None:
        """Refuse a call out of its phase, where the run refuses such calls.

        Raises:
            PhaseError: It does.
        """
        if self.phase is not None and self.phase.is_refused:
            raise self.phase.error

    def returned(self, result: object) -> None:
        """Take what the server sent back."""
        seen = mcp_values.read_result(result)
        if seen is None:
            return  # not a result yet: the server asks for more input
        outcome: Outcome = "error" if seen.is_error else "empty" if seen.is_empty else "value"
        self.found[sw.TOOL_OUTCOME] = outcome
        if seen.is_error:
            self.found[gen_ai.ERROR_TYPE] = "tool_error"
            if seen.text:
                self.found[sw.TOOL_ERROR_DIGEST] = digest_content(seen.text, self.policy)
            self.handle.mark("error", "tool_error")
        if not self.handle.is_recording:
            return
        encoded = self._put(gen_ai.TOOL_CALL_RESULT, sw.TOOL_RESULT_DIGEST, seen.value)
        self.found[sw.TOOL_RESULT_CHARS] = encoded.chars
        if self.call_id is not None:
            hold(self.board, self.call_id, self.name, seen.value, encoded, outcome)

    def failed(self, error: BaseException) -> None:
        """Take an exception: a protocol error, a lost connection, a cancellation."""
        is_error = isinstance(error, Exception)
        self.found[sw.TOOL_OUTCOME] = "error" if is_error else "cancelled"
        self.found[gen_ai.ERROR_TYPE] = type_name(error)
        self.handle.fail(error, self.policy, is_error=is_error)
