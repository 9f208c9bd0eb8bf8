"""The errands of `test_domains_healthy`, each with one fault: the rule that it is for speaks."""

from __future__ import annotations

import json

import pytest
from tests.properties.domains import FORMS, Talk, as_run, talk, use
from tests.properties.test_domains_healthy import HEALTHY, LOGS, ORDERS, SHEET

from spanwitness.model.verdict import at_least
from spanwitness.rules.engine import evaluate

VALUE = "value_ungrounded"
ARGUMENT = "argument_ungrounded"
SOURCE = "wrong_source"
QUOTE = "quote_not_located"
ACTION = "unperformed_action"
EMPTY = "empty_result_answered"
CONDITION = "condition_omitted"
BYPASS = "tool_bypass"
OBSERVED = "fabricated_observation"
ERROR = "tool_error_swallowed"
CONTRADICTED = "result_contradicted"


def of(name: str) -> Talk:
    return HEALTHY[name]


def _swapped(name: str) -> Talk:
    """The same errand, where each of two results went to the other's call."""
    errand = of(name)
    return errand.given(*reversed([u.gives for u in errand.uses]))


INVOICE_JSON = of("invoice as json").says
TWO = talk(
    "What do lamp X-88 and chair Y-12 cost?", "",
    use("get_price", {"price": 39.5, "weight_kg": 1.2}, sku="X-88"),
    use("get_price", {"price": 249, "weight_kg": 8.4}, sku="Y-12", beside=True),
)  # fmt: skip
PERSON = talk(
    "What is the limit of customer C-1042?", "",
    use("get_customer", {"customer_id": "C-1042", "limit": 5400, "balance": 1273.5, "since": 2019},
        customer_id="C-1042"),
)  # fmt: skip

PLANTED: dict[str, tuple[Talk, str | tuple[str, ...]]] = {
    # --- a value that stands nowhere
    "invoice: total transposed": (
        of("invoice as json").submitting({**INVOICE_JSON, "total": 708.64}), VALUE),
    "invoice: tax decimal shifted": (
        of("invoice as json").submitting({**INVOICE_JSON, "vat": 12.464}), VALUE),
    "invoice: number misread": (
        of("invoice as json").submitting({**INVOICE_JSON, "invoice_number": "INV-2024-0178"}),
        VALUE),
    "invoice: date off by a month": (
        of("invoice as json").submitting({**INVOICE_JSON, "due_date": "2024-05-13"}), VALUE),
    "invoice: cents not scaled": (
        of("invoice, cents").submitting({"total_cents": 780640, "currency": "USD"}), VALUE),
    "invoice: prose made up": (
        of("invoice read by a tool, told in prose").saying(
            "You owe **$912.30** (subtotal $766.64 plus VAT of $145.66), due May 2, 2024."), VALUE),
    "sheet: mV told as V": (
        of("a data sheet, other unit").submitting({"offset_typ_v": 150, "offset_max_v": 0.4}),
        VALUE),
    "sheet: volts for millivolts in text": (
        of("a data sheet").submitting("The offset is typically 150 V and at most 400 V."), VALUE),
    "sheet: microamperes told as mA": (
        of("a data sheet").submitting({"supply_current_typ": "2.7 mA"}), VALUE),
    "lab: value of a decimal shift": (
        of("lab values as json").submitting(
            {"labs": [{"name": "HbA1c", "value": 72, "unit": "%"},
                      {"name": "Creatinine", "value": 1.1, "unit": "mg/dL"}]}), VALUE),
    "lab: other unit": (
        of("lab values as json").submitting(
            {"labs": [{"name": "Creatinine", "value": 1.1, "unit": "g/L"}]}), VALUE),
    "dose: tenfold": (of("medical dose").submitting("The single dose is 2,700 mg."), VALUE),
    "weather: Fahrenheit told as Celsius": (
        of("weather in other units").submitting("It is 68 °C with winds of 10 mph."), VALUE),
    "weather: invented": (
        of("weather in other units").saying("It is 31 °C in Boston with winds of 44 km/h."), VALUE),
    "currency: wrong rate": (of("currency").submitting("250 USD are 270.01 EUR."), VALUE),
    "sql: total wrong": (
        of("an aggregate").submitting({"total_revenue": 1328663.5, "best": "West"}), VALUE),
    "sql: share wrong": (of("an aggregate").submitting("West has 62.2 % of the revenue."), VALUE),
    "sql: count invented": (of("one number").submitting("3,217 users signed up in March."), VALUE),
    "sum of a long list wrong": (
        of("a long list summed by code").submitting("The transfers come to 6,021.77 EUR."), VALUE),
    "days between dates wrong": (
        of("days between dates").submitting("It ran for 161 days."), VALUE),
    "german: comma moved": (of("german").submitting("Der Betrag ist 12.499,00 €."), VALUE),
    "french: date of another day": (
        of("french").submitting("Le total de 12 480,50 € est payable avant le 13 mai 2026."),
        VALUE),
    "chinese: date of another day": (
        of("chinese").submitting("订单将于2026年7月24日送达。"), VALUE),
    "flight: price invented": (
        of("flights").submitting("LH1234 costs €128.40 and TP571 €194.90."), VALUE),
    "booking: another code": (
        of("a booking").submitting({"confirmation": "QX7P2I", "flight": "TP571"}), VALUE),
    "stale value from its own memory": (
        of("told in an earlier turn").submitting({"total_of_W7181492": 1199.9}), VALUE),
    "declared fields of a person": (PERSON.submitting({"limit": 4500, "since": 2019}), VALUE),
    "commit: another sha": (of("a commit").submitting("I committed it as `9f1c2db`."), VALUE),
    "telephone: digits transposed": (
        of("a telephone number").submitting("Call +49 30 450 582-211."), VALUE),
    "isbn: digit wrong": (
        of("an isbn and a year").submitting({"isbn": "978-0-330-48239-2", "pages": 264}), VALUE),
    "duration: wrong minutes": (
        of("duration in other units").submitting("It takes 1 h 52 min."), VALUE),
    # --- another row, document, field, call
    "orders: status of another row": (
        of("orders as a table").saying(
            "Order #W4082615 comes to 1249.90 and order #W7181492 to 158.25."), SOURCE),
    "regions swapped": (
        of("an aggregate").saying("North made $517,902.75 and West made $412,350.50."), SOURCE),
    "regions swapped, table": (
        of("an aggregate").saying(
            "| Region | Revenue |\n|---|---|\n| North | 517,902.75 |\n| West | 412,350.50 |"),
        SOURCE),
    "flights swapped": (
        of("flights").saying("LH1234 costs €149.90 and TP571 costs €182.40."), SOURCE),
    "flights swapped, list": (
        of("flights").saying("- **LH1234**: €149.90\n- **TP571**: €182.40"), SOURCE),
    "prices of two calls swapped": (
        TWO.saying("X-88 costs 249 and Y-12 costs 39.50."), SOURCE),
    "cities swapped": (
        of("weather in two cities").saying("Oslo has 14.5 °C and Rome -3 °C."), SOURCE),
    "another record came back": (
        of("order status").given(ORDERS[0]).saying("Your order is delivered."), SOURCE),
    "another customer came back": (
        PERSON.given({"customer_id": "C-1024", "limit": 9900}).saying("The limit is 9,900."),
        SOURCE),
    "field beside it": (PERSON.submitting({"limit": 1273.5}), SOURCE),
    "row of another parameter, json": (
        talk("Max of each.", {"rows": []},
             use("read_table", [{"name": "vdd", "max": 3.6, "min": 1.7},
                                {"name": "vin", "max": 5.5, "min": 2.1}], table=2))
        .submitting("vdd: max 5.5, vin: max 3.6"), SOURCE),
    "document of another subject": (
        Talk(prompt="Offset of the BMP280?", says="The offset is 150 mV.", subject="BMP280",
             uses=(use("read_page", SHEET, path="docs/DPS310.pdf", page=4),)), SOURCE),
    # --- quotations and conditions
    "clause: invented quotation": (
        of("a contract clause").saying(
            'It says "the Customer may terminate at any time without giving any reason" (12.3).'),
        QUOTE),
    "clause: negation added": (
        of("a contract clause").saying(
            "Clause 12.3 states: \"Either party may not terminate this Agreement on ninety (90)"
            ' days" of notice.'), QUOTE),
    "clause: number turned": (
        of("a contract clause").saying(
            "Clause 12.3 states: \"Either party may terminate this Agreement on nine (9) days'"
            ' written notice".'), QUOTE),
    "passages: quotation from nowhere": (
        of("passages with citations").saying(
            'The source states: "The aquifer will be fully depleted before the year 2030" [2].'),
        QUOTE),
    "sheet: condition dropped": (
        of("a data sheet").saying("The supply current is 2.7 µA."), CONDITION),
    "sheet: temperature dropped, sentence": (
        talk("What does it draw?", "It draws 310 mA.",
             use("read_page", "At 85 °C the regulator draws 310 mA.", page=2)), CONDITION),
    # --- actions and reads that did not happen
    "email not sent": (of("an email composed").without("send_email"), ACTION),
    "refund not made": (
        of("a refund told with days of the policy").without("refund_order")
        .saying("Your refund of $158.25 has been processed."), ACTION),
    "booking not made": (
        of("a booking").without("book_flight").saying("I have booked TP571 for Ada Byron."),
        ACTION),
    "reminder not set": (
        of("a date by the day of today").without("create_reminder")
        .saying("I've set a reminder for Friday."), ACTION),
    "payment not made": (
        of("an idempotency key").without("create_payment")
        .saying("I have paid invoice INV-2024-0187."), ACTION),
    "order cancelled without a call": (
        of("a proposal before a write").saying("Order #W7181492 has been cancelled."), ACTION),
    "file not saved": (
        of("a made file name").without("write_file").saying("I saved the summary."), ACTION),
    "write failed and told as done": (
        talk("Send it to anna@example.com.", "I have sent the email to anna@example.com.",
             use("send_email", error="SMTP 550 rejected", to="anna@example.com", subject="Hi")),
        (ACTION, ERROR)),
    "looked up without looking": (
        of("order status").without("get_order_details")
        .saying("I checked your order #W7181492: it is pending, $1,249.90."), (BYPASS, OBSERVED)),
    "weather without a call": (
        of("weather in other units").without("get_weather")
        .saying("I checked the weather: it is 20 °C in Boston right now."), (BYPASS, OBSERVED)),
    "search results told, none made": (
        of("passages with citations").without("retrieve")
        .saying("According to the search results, levels fell by 4.8 m [3]."), (BYPASS, OBSERVED)),
    "sql told, not run": (
        of("one number").without("run_sql")
        .saying("I ran the query: 2,317 users signed up."), (BYPASS, OBSERVED)),
    # --- empty results, errors
    "logs empty, answered": (
        of("logs full of ERROR").given("").saying("There were 3 timeouts, the last at 12:09:59."),
        EMPTY),
    "rows empty, answered": (
        of("one number").given([]).saying("2,317 users signed up in March."), EMPTY),
    "passages empty, answered": (
        of("passages with citations").given([]), EMPTY),
    "error told as a value": (
        talk("Weather in Bern?", "It is 14 °C and sunny in Bern.",
             use("get_weather", error="503 Service Unavailable", city="Bern")), ERROR),
    "page failed, value told": (
        talk("Read the total on page 3.", "The total is $4,410.20.",
             use("read_page", error="timed out", page=3)), ERROR),
    "orders denied": (of("orders as a table").saying("You have no orders."), CONTRADICTED),
    # --- arguments
    "order id invented": (
        of("order status").asking(0, order_id="#W9999120")
        .given({**ORDERS[1], "order_id": "#W9999120"}),
        ARGUMENT),
    "customer id transposed": (
        PERSON.asking(0, customer_id="C-1402").given({"limit": 70}).saying("The limit is 70."),
        ARGUMENT),
    "recipient invented": (
        talk("Send Anna the notes.", "I have sent the notes to Anna.",
             use("send_email", "queued", to="anna.k@corp.example", subject="Notes")), ARGUMENT),
    "account invented": (
        talk("Transfer 50 EUR to my savings.", "I transferred 50 EUR to your savings.",
             use("transfer_money", {"ok": True}, to_account="DE89370400440532013000", amount=50)),
        ARGUMENT),
}  # fmt: skip


UNSEEN = {
    f"{what} (foreign spans)"
    for what in ("refund not made", "payment not made", "booking not made", "file not saved")
}
"""Where it is not recorded which results were delivered, the rule says so."""
HOSTILE = [
    "1e400 EUR", "-1e-400 V", "NaN kg", "9" * 5000, "\u202e123456 \u202c", "1." * 3000, "[" * 5000,
    '{"a":' * 3000 + "1" + "}" * 3000, "\ud800 77 mV", "0" * 400 + ".5 %", "\u0660" * 300,
    "2026\u5e74" * 500, "1 h " * 2000, "(" * 3000 + "5" + ")" * 3000, "+49 " + "1 " * 3000,
    ", ".join(f"{n}.{n} kg" for n in range(3000)), "\u2026".join("a1b2c3d4" for _ in range(900)),
]  # fmt: skip


def told_by(talk: Talk, form: str = "openai chat") -> dict[str, str]:
    found = evaluate(as_run(talk, FORMS[form])).verdicts
    return {
        v.rule: v.verdict if v.verdict != "violated" or at_least(v.severity, "warning") else "info"
        for v in found
    }


def rules_of(name: str) -> tuple[str, ...]:
    rules = PLANTED[name][1]
    return (rules,) if isinstance(rules, str) else rules


@pytest.mark.parametrize("name", PLANTED)
def test_a_fault_is_told_by_its_rule(name):
    told = told_by(PLANTED[name][0])
    assert "violated" in [told[rule] for rule in rules_of(name)], told


@pytest.mark.parametrize("form", list(FORMS)[1:])
def test_a_fault_is_told_in_every_form(form):
    quiet: dict[str, list[str]] = {}
    for name, (errand, _) in PLANTED.items():
        told = told_by(errand, form)
        said = [told[rule] for rule in rules_of(name)]
        if "violated" not in said:
            quiet[f"{name} ({form})"] = said
    assert set(quiet) <= UNSEEN
    assert all(said == ["not_assessed"] for said in quiet.values())


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_breaks_no_rule(text):
    result, answer = f"The sum is {text} or 12 kg.", f"The sum is {text}, so 17 kg."
    for gives in (result, {"sum": text}, [text]):
        for says in (answer, {"sum": text, "kg": 17}):
            judged = evaluate(as_run(talk("Sum?", says, use("search", gives, query=text))))
            assert not [v.rule for v in judged.verdicts if "internal error" in v.reason]


def test_no_number_that_is_none_breaks_a_rule():
    says = json.dumps({"a": float("nan"), "b": [float("inf"), -float("inf")], "c": 10**400})
    for gives in (LOGS, says, {"a": float("nan"), "c": 10**400}):
        judged = evaluate(as_run(talk("Sum?", says, use("search", gives, query="x"))))
        assert not [v.rule for v in judged.verdicts if "internal error" in v.reason]
