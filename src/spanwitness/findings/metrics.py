"""Judgements, model calls and tool executions as OpenTelemetry metrics with bounded label sets."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from spanwitness import guard
from spanwitness.semconv import gen_ai

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation

    from spanwitness.findings.judged import Judged
    from spanwitness.model import ChatCall, Run, ToolCall

SCOPE: Final = "spanwitness"
OTHER: Final = "other"
MAX_NAMES: Final = 64
"""Different values of one label; what comes after is `other`. Tool names may come from a model,
which can invent any number of them."""

_DURATIONS_S: Final = [0.01 * 2**n for n in range(14)]
_TOKENS: Final = [4**n for n in range(14)]


class Fold:
    """Keeps the first names and folds the rest into `other`. Thread-safe."""

    def __init__(self, max_names: int = MAX_NAMES) -> None:
        self._max = max_names
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, name: str) -> str:
        """Return the name, or `other`."""
        if name in self._seen:
            return name
        with self._lock:
            if len(self._seen) >= self._max or len(name) > 128:
                return OTHER
            self._seen.add(name)
        return name


class MetricsSink:
    """Counts runs, verdicts and findings, and measures model calls and tool executions.

    Args:
        provider: Makes the meter.
        lost: Returns the spans known to be lost so far, by reason.
    """

    def __init__(self, provider: MeterProvider, *, lost: Callable[[], Mapping[str, int]]) -> None:
        meter = provider.get_meter(SCOPE)
        self._lost = lost
        self._fold = {label: Fold() for label in ("tool", "model", "provider", "error", "rule")}
        self._runs = meter.create_counter(
            "spanwitness.runs", unit="{run}", description="Judged runs."
        )
        self._findings = meter.create_counter(
            "spanwitness.findings", unit="{finding}", description="Unexplained violations."
        )
        self._verdicts = meter.create_counter(
            "spanwitness.verdicts", unit="{verdict}", description="Verdicts of any kind."
        )
        meter.create_observable_counter(
            "spanwitness.spans.lost",
            callbacks=[self._observe_lost],
            unit="{span}",
            description="Spans known to be lost, by reason.",
        )
        meter.create_observable_counter(
            "spanwitness.internal_errors",
            callbacks=[_observe_faults],
            unit="{error}",
            description="Contained faults of spanwitness itself, by site.",
        )
        self._make_histograms(meter)

    def take(self, judged: Judged) -> None:
        """Count one judged run; a child run's calls are counted with its parent's."""
        for verdict in judged.findings:
            rule = self._fold["rule"](verdict.rule)
            labels = {"rule": rule, "fault": verdict.fault, "severity": verdict.severity}
            self._findings.add(1, labels)
        if judged.is_update:
            return
        run = judged.run
        self._runs.add(1, {"flagged": judged.is_flagged, "complete": run.is_complete})
        for verdict in judged.verdicts:
            if verdict.verdict != "not_applicable":
                rule = self._fold["rule"](verdict.rule)
                self._verdicts.add(1, {"rule": rule, "verdict": verdict.verdict})
        if run.parent_run_id is None:
            self._measure(run)

    def _make_histograms(self, meter: Meter) -> None:
        self._chat_s = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_DURATIONS_S,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._tool_s = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="Duration of tool executions.",
            explicit_bucket_boundaries_advisory=_DURATIONS_S,
        )

    def _measure(self, run: Run) -> None:
        for chat in run.chats:
            self._measure_chat(chat)
        for tool in run.tools:
            self._measure_tool(tool)

    def _measure_chat(self, chat: ChatCall) -> None:
        labels = {gen_ai.OPERATION_NAME: gen_ai.CHAT}
        provider = chat.provider or "unknown"
        labels[gen_ai.PROVIDER_NAME] = self._fold["provider"](provider)
        for name, model in (
            (gen_ai.REQUEST_MODEL, chat.request_model),
            (gen_ai.RESPONSE_MODEL, chat.response_model),
        ):
            if model is not None:
                labels[name] = self._fold["model"](model)
        for kind, n_tokens in (
            ("input", chat.usage.input_tokens),
            ("output", chat.usage.output_tokens),
        ):
            if n_tokens is not None:
                self._tokens.record(n_tokens, labels | {"gen_ai.token.type": kind})
        if chat.error_type is not None:
            labels[gen_ai.ERROR_TYPE] = self._fold["error"](chat.error_type)
        if chat.end_ns > chat.start_ns:
            self._chat_s.record((chat.end_ns - chat.start_ns) / 1e9, labels)

    def _measure_tool(self, tool: ToolCall) -> None:
        labels = {
            gen_ai.OPERATION_NAME: gen_ai.EXECUTE_TOOL,
            gen_ai.TOOL_NAME: self._fold["tool"](tool.name),
        }
        if tool.error_type is not None:
            labels[gen_ai.ERROR_TYPE] = self._fold["error"](tool.error_type)
        if tool.end_ns > tool.start_ns:
            self._tool_s.record((tool.end_ns - tool.start_ns) / 1e9, labels)

    def _observe_lost(self, options: CallbackOptions) -> Iterable[Observation]:  # noqa: ARG002
        from opentelemetry.metrics import Observation

        return [Observation(n, {"reason": reason}) for reason, n in self._lost().items()]


def _observe_faults(options: CallbackOptions) -> Iterable[Observation]:  # noqa: ARG001
    from opentelemetry.metrics import Observation

    return [Observation(n, {"site": site}) for site, n in guard.faults().items()]
