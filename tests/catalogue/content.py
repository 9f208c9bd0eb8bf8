"""Recipes that only the content of results and answers shows: values and quotations misplaced."""

from __future__ import annotations

from tests.catalogue.kit import Case, recipe, tool
from tests.catalogue.surfaces import ASYNC, CHAT, MESSAGES, RESPONSES, STREAMED, WHOLE, Ask

from spanwitness.testing import call, text

CITIES = {"Bern": "10C", "Oslo": "72F"}
WEATHER = tool("weather", lambda city: CITIES[city], takes=["city"])
BOTH = [call("weather", {"city": "Bern"}, id="c1"), call("weather", {"city": "Oslo"}, id="c2")]
A49 = Case(
    ask=Ask("How warm is it in Bern and in Oslo?"),
    tools=(WEATHER,),
    script=[BOTH, text("Bern: 72F, Oslo: 10C")],
).varied(pairs=lambda sent: sent[::-1])
A49_HEALTHY = A49.varied(script=[BOTH, text("Bern: 10C, Oslo: 72F")])
RECORDS = {
    "X7": {"pump": "X7", "flow": 120, "price": 340.5},
    "Y9": {"pump": "Y9", "flow": 95, "price": 410.25},
}
PUMP = tool("get_pump", lambda pump: RECORDS[pump], takes=["pump"])
PUMPS = [call("get_pump", {"pump": "X7"}, id="c1"), call("get_pump", {"pump": "Y9"}, id="c2")]
A49_RECORDS = Case(
    ask=Ask("What do the pumps cost?"),
    tools=(PUMP,),
    script=[PUMPS, text("The pump X7 costs 410.25, and the pump Y9 costs 340.5.")],
)
A49_RECORDS_HEALTHY = A49_RECORDS.varied(
    script=[PUMPS, text("The pump Y9 costs 410.25, and the pump X7 costs 340.5.")]
)


def under_each_others_ids(sent):
    (first, one), (second, other) = sent
    return [(first, other), (second, one)]


A49_SWAPPED = A49.varied(pairs=under_each_others_ids)

SENTENCE = "The sensor is limited to 85 degrees by its inner fuse"
PAGE = "Chapter 4. The housing is made of steel and holds the sensor."
GROUND = tool("ground", {"url": "https://example.com/a", "snippet": SENTENCE}, takes=["q"])
READ = tool("read_page", PAGE, takes=["page:integer"])
A55 = Case(
    ask=Ask("What limits the sensor?"),
    tools=(GROUND, READ),
    script=[
        [text(f"{SENTENCE}."), call("read_page", {"page": 4}, id="c1")],
        [text("I look for a source."), call("ground", {"q": "limit of the sensor"}, id="c2")],
        text(f'According to the datasheet: "{SENTENCE}" (https://example.com/a).'),
    ],
)
A55_HEALTHY = A55.varied(
    tools=(GROUND, tool("read_page", f"{PAGE} {SENTENCE}.", takes=["page:integer"])),
    script=[
        call("read_page", {"page": 4}, id="c1"),
        text(f'According to the datasheet: "{SENTENCE}".'),
    ],
)
A55_INVENTED = A55.varied(
    script=[
        call("read_page", {"page": 4}, id="c1"),
        text(f'Page 4 states: "{SENTENCE}".'),
    ]
)

WRONG_SOURCE = {"wrong_source": "reasoning"}
NO_SOURCE = {"quote_not_located": "reasoning"}
RECIPES = [
    recipe(
        "A49 paired by position", A49, finds=WRONG_SOURCE, healthy=A49_HEALTHY,
        on=[CHAT, RESPONSES, MESSAGES, *STREAMED[:1], *ASYNC[:1]], off="not_assessed",
    ),
    recipe(
        "A49 records and whole sentences", A49_RECORDS, finds=WRONG_SOURCE,
        healthy=A49_RECORDS_HEALTHY, on=[*WHOLE, *STREAMED], off="not_assessed",
    ),
    recipe(
        "A49 under each other's ids", A49_SWAPPED, finds={"result_altered": "harness"},
        healthy=A49_HEALTHY, on=[CHAT, MESSAGES, *STREAMED[:1]],
        off="not_assessed",
    ),
    recipe(
        "A55 its own sentence", A55, finds=NO_SOURCE, healthy=A55_HEALTHY,
        on=[*WHOLE, *STREAMED], off="not_assessed",
    ),
    recipe(
        "A55 a sentence that stands nowhere", A55_INVENTED, finds=NO_SOURCE, healthy=A55_HEALTHY,
        on=[*WHOLE, *ASYNC], off="not_assessed",
    ),
]  # fmt: skip
CONTROLS: list[tuple[str, Case, list[object]]] = [
    ("A49 only in another order", A49_HEALTHY, [CHAT, RESPONSES, MESSAGES]),
]
