"""An application that already traces: attach the detector to its TracerProvider, change no more."""

import openai
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, text

TOOLS = [
    {"type": "function", "function": {"name": "read_page", "parameters": {"type": "object"}}},
]
SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "string"}, "page": {"type": "integer"}},
}


def main() -> None:
    exporter = InMemorySpanExporter()  # stands for whatever the application exports to
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)

    provider.add_span_processor(sw.Detector())  # the one new line

    with ScriptedProvider([text('{"value": "5.5 V", "page": 2}')]) as server:
        client = sw.wrap_client(openai.OpenAI(base_url=server.openai_url, api_key="scripted"))
        with trace.get_tracer("application").start_as_current_span(
            "invoke_agent extractor"
        ) as span:
            span.set_attribute("gen_ai.operation.name", "invoke_agent")
            client.chat.completions.create(
                model="scripted",
                messages=[{"role": "user", "content": "What is the maximum supply voltage?"}],
                tools=TOOLS,
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "extraction", "schema": SCHEMA},
                },
            )
    provider.force_flush()
    for span in exporter.get_finished_spans():
        rule = (span.attributes or {}).get("spanwitness.rule.id", "")
        print(f"{span.name:40} {rule}")


if __name__ == "__main__":
    main()
