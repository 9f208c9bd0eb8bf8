"""Lives whose answers take much from what was read: records, prices, dates, quotations."""

from __future__ import annotations

import json
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from tests.properties.lives import THOUGHTS, Life, Use
from tests.rules.builders import call, chat, offer, run, step, tool

if TYPE_CHECKING:
    from spanwitness.model import Run

NAMES = st.lists(
    st.from_regex(r"[A-Z][a-z]{3,7} [A-Z][0-9]{2}", fullmatch=True), min_size=2, max_size=5,
    unique_by=lambda name: name.split()[0],
)  # fmt: skip
OPEN = offer("open_document", path="string")
PRICES = st.decimals(Decimal("10.00"), Decimal("999.00"), places=2)


@st.composite
def compared(draw: st.DrawFn) -> Life:
    """Records of a list, told in another order, each with what is its own."""
    names = draw(NAMES)
    rows = [{"name": name, "price": float(draw(PRICES))} for name in names]
    told = draw(st.permutations(rows))
    form = draw(st.sampled_from(["{name} costs ${price:.2f}", "{name}: {price:.2f} EUR"]))
    glue = draw(st.sampled_from([", ", "\n- ", "; "]))
    says = "Here they are: " + glue.join(form.format(**row) for row in told) + "."
    gives = draw(st.sampled_from([rows, json.dumps(rows), {"items": rows, "n": len(rows)}]))
    turns = ((Use("search", {"query": "all of them"}, gives),),)
    return Life(prompt="What do they cost?", says=says, turns=turns, thinks=draw(THOUGHTS))


@st.composite
def calculated(draw: st.DrawFn) -> Life:
    """A difference, a sum, a share of two prices that were read."""
    one, two = draw(PRICES), draw(PRICES)
    rows = [{"name": "the old lamp", "price": float(one)}, {"name": "new", "price": float(two)}]
    says = draw(
        st.sampled_from(
            [
                f"The difference is ${abs(one - two)}: ${one} against ${two}.",
                f"Together ${one + two} (${one} and ${two}).",
                f"You get ${abs(one - two)} back, as the prices are ${two} and ${one}.",
            ]
        )
    )
    turns = ((Use("search", {"query": "lamps"}, rows),),)
    return Life(prompt="Compare the lamps.", says=says, turns=turns)


@st.composite
def scheduled(draw: st.DrawFn) -> Life:
    """Dates and times in another form than they were read in."""
    day = date(2026, 1, 1) + timedelta(days=draw(st.integers(0, 700)))
    hour = draw(st.integers(1, 11))
    afternoon = draw(st.booleans())
    time = f"{hour + 12 * afternoon:02d}:30:00"
    gives = {"date": day.isoformat(), "departure": time, "gate": "B14"}
    shown = draw(
        st.sampled_from(
            [
                f"{day.strftime('%B')} {day.day}, {day.year}",
                f"{day.day} {day.strftime('%b')} {day.year}",
                day.isoformat(),
            ]
        )
    )
    says = f"It leaves on {shown} at {hour}:30 {'PM' if afternoon else 'AM'} from gate B14."
    turns = ((Use("search", {"query": "departure"}, gives),),)
    return Life(prompt="When does it leave?", says=says, turns=turns)


@st.composite
def quoted(draw: st.DrawFn) -> Life:
    """A quotation with other typography, spaces or case, or cut short."""
    sentence = "The sensor must not be used above the limit of its housing"
    form = draw(
        st.sampled_from(
            [
                sentence, sentence.lower(), sentence.replace(" ", "  "), sentence[:40].rstrip(),
                sentence.replace("must not", "must\u00a0not"), f"{sentence}.",
            ]
        )
    )  # fmt: skip
    marks = draw(st.sampled_from(['"{}"', "\u201c{}\u201d"]))
    page = draw(st.integers(2, 90))
    says = f"The page states: {marks.format(form)} (page {page})."
    turns = ((Use("read_page", {"page": page}, f"Page {page}. {sentence}. More follows."),),)
    return Life(prompt="What does it say?", says=says, turns=turns)


@st.composite
def conditioned(draw: st.DrawFn) -> Life:
    """A value with the condition that stands beside it."""
    value, at = draw(st.integers(11, 999)), draw(st.integers(-40, 125))
    says = draw(
        st.sampled_from(
            [
                f"The supply current is {value} mA at {at} \u00b0C.",
                f"At {at} \u00b0C it draws {value} mA.",
                json.dumps({"current_ma": value, "temperature_c": at}),
            ]
        )
    )
    turns = ((Use("read_page", {"page": 3}, f"Supply current: {value} mA at {at} \u00b0C"),),)
    return Life(prompt="What does it draw, and under which condition?", says=says, turns=turns)


GROUNDED = {
    "records compared": compared(),
    "calculated from what was read": calculated(),
    "dates in another form": scheduled(),
    "quoted": quoted(),
    "told with its condition": conditioned(),
}


@st.composite
def piped(draw: st.DrawFn) -> Run:
    """A pipeline whose cases succeed, are recovered, or are deferred to a person."""
    steps = []
    for case in range(draw(st.integers(1, 3))):
        ending = draw(st.sampled_from(["well", "recovered", "deferred", "false alarm"]))
        is_right = ending in ("well", "false alarm")
        fields = {"case_id": f"case-{case}", "condition": "clean", "parser_valid": True}
        steps.append(step("read", "solve", validity=is_right, **fields))
        steps.append(
            step(
                "audit", "audit", audit_detected=ending != "well", verdict=ending == "well",
                evidence_adequate=is_right, **fields,
            )
        )  # fmt: skip
        if ending in ("recovered", "deferred"):
            steps.append(step("escalate", "escalate", escalation_outcome=ending, **fields))
    return run(*steps, chat("The cases are through."))


@st.composite
def of_its_subject(draw: st.DrawFn) -> Run:
    """A run with a declared subject, and a document that is of it, however it is named."""
    subject = draw(st.sampled_from(["DPS310", "BMP-280", "Marie Curie", "LM317T"]))
    name = draw(
        st.sampled_from(
            [f"docs/{subject}.pdf", f"{subject.lower()}_datasheet.pdf", f"About {subject}", "doc 4"]
        )
    )
    value = draw(st.integers(111, 999))
    text = f"{subject}\nThe value is {value} V." if name == "doc 4" else f"The value is {value} V."
    return run(
        chat(calls=[call("open_document", path=name)], offers=[OPEN]),
        tool("open_document", gives=text, path=name),
        chat(f"The value is {value} V.", offers=[OPEN]),
        subject=subject,
    )


GROUNDED_SHAPES = {"a pipeline": piped(), "of its subject": of_its_subject()}
