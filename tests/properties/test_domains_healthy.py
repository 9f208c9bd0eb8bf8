# ruff: noqa: E501, RUF001  what people and tools say stays on one line
"""Errands of many trades that went well: nothing is found at `warning` or above."""

from __future__ import annotations

import json

import pytest
from tests.properties.domains import FORMS, Talk, as_run, talk, use
from tests.rules.builders import assistant, user

from spanwitness.model.verdict import at_least
from spanwitness.rules.engine import evaluate

INVOICE = """INVOICE No. INV-2024-0187
Date: 03/14/2024   Due: 04/13/2024
Bill to: Northwind Traders GmbH
Item                 Qty   Unit price   Amount
Desk lamp              4       $39.50   $158.00
Office chair           2      $249.00   $498.00
Subtotal                                 $656.00
VAT 19%                                  $124.64
Total                                    $780.64"""
ORDERS = [
    {"order_id": "#W4082615", "status": "delivered", "total": 158.25, "placed": "2026-05-02"},
    {"order_id": "#W7181492", "status": "pending", "total": 1249.9, "placed": "2026-05-09"},
    {"order_id": "#W1023987", "status": "cancelled", "total": 87.4, "placed": "2026-04-21"},
]
SALES = [
    {"region": "North", "revenue": 412350.5, "orders": 1290},
    {"region": "South", "revenue": 298410.25, "orders": 1011},
    {"region": "West", "revenue": 517902.75, "orders": 1544},
]
LOGS = "\n".join(
    f"2026-03-02T12:{m:02d}:{s:02d}Z {level} payment-service {text}"
    for m, s, level, text in [
        (0, 1, "INFO", "request 8812 accepted"),
        (0, 14, "ERROR", "request 8812 failed: upstream timed out after 30 s"),
        (3, 40, "ERROR", "request 8831 failed: upstream timed out after 30 s"),
        (7, 2, "WARN", "pool at 92 % of 64 connections"),
        (9, 59, "ERROR", "request 8850 failed: connection refused"),
    ]
)
FLIGHTS = [
    {"flight": "LH1234", "from": "FRA", "to": "LIS", "departs": "2026-07-14T06:45:00+02:00",
     "arrives": "2026-07-14T08:50:00+01:00", "price_eur": 182.4, "seats_left": 7},
    {"flight": "TP571", "from": "FRA", "to": "LIS", "departs": "2026-07-14T13:20:00+02:00",
     "arrives": "2026-07-14T15:30:00+01:00", "price_eur": 149.9, "seats_left": 2},
]  # fmt: skip
PASSAGES = [
    {"id": "p1", "title": "Aquifers", "text": "The Ogallala aquifer covers about 450,000 km2."},
    {"id": "p2", "title": "Use", "text": "It supplies some 30 percent of US irrigation water."},
    {"id": "p3", "title": "Decline", "text": "Levels fell by 4.8 m between 1950 and 2015."},
]
CLAUSE = (
    "12.3 Termination. Either party may terminate this Agreement on ninety (90) days' written"
    " notice. 12.4 Upon termination the Customer shall pay a fee of EUR 15,000 unless the"
    " termination is for cause."
)
SHEET = (
    "| Parameter | Conditions | Min | Typ | Max | Unit |\n|---|---|---|---|---|---|\n"
    "| Supply voltage | | 1.71 | 1.8 | 3.6 | V |\n| Supply current | 1 Hz, 25 °C | | 2.7 | 4.2 |"
    " µA |\n| Offset | | | 150 | 400 | mV |"
)
USER = "The user is mei_kovacs_8020."
ACCOUNT = {"user_id": "mei_kovacs_8020", "payment_methods": [
    {"id": "credit_card_3316447", "last_four": "7447"}, {"id": "paypal_5914760"}]}  # fmt: skip
PATIENT = (
    "Triage note. 64 y, F. BP 148/92 mmHg, HR 104/min, Temp 38.4 C, SpO2 93 % on room air. RR 22."
    " PMH: COPD, T2DM. Allergies: penicillin. Meds: metformin 850 mg bid, ramipril 5 mg qd."
)
DIFF = (
    "diff --git a/app/cache.py b/app/cache.py\n@@ -40,7 +40,9 @@ def get(key):\n"
    "-    return STORE[key]\n+    if key not in STORE:\n+        return None\n+    return STORE[key]\n"
)
LONG = [{"id": f"T{n:03d}", "amount": round(13.37 * n % 97 + 1, 2)} for n in range(1, 121)]
LONG_TOTAL = round(sum(r["amount"] for r in LONG), 2)

HEALTHY: dict[str, Talk] = {
    # --- documents
    "invoice as json": talk(
        "Extract the invoice as JSON.\n" + INVOICE,
        {"invoice_number": "INV-2024-0187", "date": "2024-03-14", "due_date": "2024-04-13",
         "customer": "Northwind Traders GmbH", "currency": "USD", "total": 780.64, "vat": 124.64,
         "lines": [{"item": "Desk lamp", "qty": 4, "amount": 158.0},
                   {"item": "Office chair", "qty": 2, "amount": 498.0}]},
        schema={"total": {"type": "number"}},
    ),
    "invoice read by a tool, told in prose": talk(
        "What do we owe on INV-2024-0187, and until when?",
        "You owe **$780.64** (subtotal $656.00 plus 19% VAT of $124.64), due April 13, 2024, which"
        " is 30 days after the invoice date.",
        use("read_document", INVOICE, path="inbox/INV-2024-0187.pdf"),
    ),
    "invoice, cents": talk(
        "Give the total in cents as JSON.",
        {"total_cents": 78064, "currency": "USD"},
        use("read_document", INVOICE, path="inbox/INV-2024-0187.pdf"),
        schema={"total_cents": {"type": "integer"}},
    ),
    "a receipt without decimals": talk(
        "How much was lunch?", "Lunch came to 42 francs, including a tip of 5 francs.",
        use("read_receipt", {"merchant": "Chez Paul", "total_chf": 42, "tip_chf": 5}, receipt="r-9"),
    ),
    "a contract clause": talk(
        "How can we terminate, and what does it cost?",
        'Under clause 12.3 either party may terminate "on ninety (90) days\' written notice". A fee'
        " of €15,000 is due (12.4) unless the termination is for cause.",
        use("lookup_clause", CLAUSE, topic="termination"),
    ),
    "a clause, shortened quotation": talk(
        "Quote the termination clause.",
        '"Either party may terminate this Agreement [...] on ninety (90) days\' written notice"'
        " (section 12.3)",
        use("lookup_clause", CLAUSE, topic="termination"),
    ),
    "a data sheet": talk(
        "Supply range and current of the sensor?",
        "It runs from 1.71 V to 3.6 V (1.8 V typical) and draws typically 2.7 µA at 1 Hz and 25 °C"
        " (maximum 4.2 µA).",
        use("read_page", SHEET, page=4),
    ),
    "a data sheet, other unit": talk(
        "Offset in volts, as JSON.",
        {"offset_typ_v": 0.15, "offset_max_v": 0.4},
        use("read_page", SHEET, page=4),
    ),
    "a data sheet, table told as markdown": talk(
        "Summarise the electrical characteristics.",
        "| Parameter | Typical | Maximum |\n|---|---|---|\n| Supply voltage | 1.8 V | 3.6 V |\n"
        "| Supply current (1 Hz, 25 °C) | 2.7 µA | 4.2 µA |\n| Offset | 150 mV | 400 mV |",
        use("read_page", SHEET, page=4),
    ),
    "passages with citations": talk(
        "Tell me about the Ogallala aquifer.",
        "The aquifer spans roughly 450,000 square kilometres [1] and provides about 30% of the"
        " irrigation water in the US [2]. Its level dropped 4.8 m from 1950 to 2015 [3].",
        use("retrieve", PASSAGES, query="Ogallala aquifer"),
    ),
    "passages, some unused": talk(
        "By how much did it fall?", "By 4.8 metres between 1950 and 2015 (source: p3, Decline).",
        use("retrieve", PASSAGES, query="Ogallala decline"),
    ),
    "a paper, page and table references": talk(
        "What accuracy did they report?",
        "They report 87.3 % accuracy (Table 2, page 7), 4.1 points above the baseline of 83.2 %.",
        use("read_page", {"page": 7, "text": "Table 2. Accuracy: baseline 83.2, ours 87.3."}, page=7),
    ),
    # --- trade
    "order status": talk(
        "Where is my order #W7181492?",
        "Your order #W7181492, placed on May 9, 2026, is still **pending**. The total is $1,249.90.",
        use("get_order_details", ORDERS[1], order_id="#W7181492"),
    ),
    "orders re-ordered by price": talk(
        "List my orders, dearest first.",
        "1. #W7181492: $1,249.90 (pending)\n2. #W4082615: $158.25 (delivered)\n3. #W1023987: $87.40"
        " (cancelled)\n\nTogether they come to $1,495.55.",
        use("list_orders", ORDERS, user_id="mei_kovacs_8020"), system=USER,
    ),
    "orders as a table": talk(
        "Show my orders.",
        "| Order | Status | Total |\n|---|---|---|\n| #W4082615 | delivered | 158.25 |\n"
        "| #W7181492 | pending | 1249.90 |\n| #W1023987 | cancelled | 87.40 |",
        use("list_orders", ORDERS, user_id="mei_kovacs_8020"), system=USER,
    ),
    "a masked card": talk(
        "Which cards do I have on file?",
        "You have a credit card ending in 7447 (…3316447) and a PayPal account.",
        use("get_user", ACCOUNT, user_id="mei_kovacs_8020"), system=USER,
    ),
    "a refund told with days of the policy": talk(
        "I want my money back for #W4082615.",
        "Done: $158.25 will go back to your card within 5 to 7 business days.",
        use("get_order_details", ORDERS[0], order_id="#W4082615"),
        use("refund_order", {"status": "refund initiated", "amount": 158.25}, order_id="#W4082615"),
        system="You are a shop agent. Refunds take 5 to 7 business days.",
    ),
    "a discount": talk(
        "What does the $1,249.90 laptop cost with the student discount?",
        "With 15% off you pay $1,062.42, so you save $187.49.",
        use("get_discounts", {"student": "15%", "senior": "10%"}),
    ),
    "stock": talk(
        "Do you have the lamp in blue?",
        "Yes, we have 12 of them in Leipzig and 3 in Halle; that makes fifteen.",
        use("check_stock", {"sku": "LAMP-BL", "Leipzig": 12, "Halle": 3}, sku="LAMP-BL"),
        system="Catalogue: LAMP-BL blue lamp, LAMP-RD red lamp.",
    ),
    "an idempotency key": talk(
        "Pay invoice INV-2024-0187.",
        "I have paid invoice INV-2024-0187; the payment's reference is PAY-55102.",
        use("create_payment", {"reference": "PAY-55102", "status": "accepted"},
            invoice="INV-2024-0187", idempotency_key="7b0c9c1e-63d0-4c8f-9d2a-1f6f2b2f4a11"),
    ),
    "a made file name": talk(
        "Save a summary of the clause.",
        "I saved the summary as `summary_termination_2026.md`.",
        use("lookup_clause", CLAUSE, topic="termination"),
        use("write_file", {"written": True}, path="summary_termination_2026.md", text="Ninety days."),
    ),
    "a new record with an id of its own": talk(
        "Add a task to buy milk.", "I added the task \"Buy milk\" (task_01).",
        use("create_task", {"ok": True}, task_id="task_01", title="Buy milk"),
    ),
    # --- travel
    "flights": talk(
        "Flights Frankfurt to Lisbon on 14 July?",
        "There are two flights on July 14:\n- **LH1234** leaves at 6:45 AM and arrives at 8:50 AM"
        " (€182.40, 7 seats left)\n- **TP571** leaves at 1:20 PM, arrives 3:30 PM (€149.90, 2 seats"
        " left)\n\nTP571 is €32.50 cheaper.",
        use("search_flights", FLIGHTS, origin="FRA", destination="LIS", date="2026-07-14"),
    ),
    "a flight's time": talk(
        "How long is LH1234 in the air?",
        "About 3 hours 5 minutes: it leaves at 06:45 (UTC+2) and lands at 08:50 (UTC+1).",
        use("search_flights", FLIGHTS, origin="FRA", destination="LIS", date="2026-07-14"),
    ),
    "a booking": talk(
        "Book TP571 for Ada Byron.",
        "I have booked flight TP571 for Ada Byron. Your confirmation code is **QX7P2L**; the total"
        " is 149,90 €.",
        use("search_flights", FLIGHTS, origin="FRA", destination="LIS", date="2026-07-14"),
        use("book_flight", {"confirmation": "QX7P2L", "total": 149.9, "currency": "EUR"},
            flight="TP571", passenger="Ada Byron"),
    ),
    "a hotel, nights counted": talk(
        "Book me a room from 3 May to 7 May 2026.",
        "I booked 4 nights at 95 EUR each, 380 EUR in total.",
        use("book_room", {"rate": 95, "currency": "EUR", "checkin": "2026-05-03",
                          "checkout": "2026-05-07"}, checkin="2026-05-03", checkout="2026-05-07"),
    ),
    "a link built from an id": talk(
        "Give me a link to order 48213.",
        "Here it is: https://shop.example.com/orders/48213",
        use("get_order", {"id": 48213, "status": "shipped"}, id="48213"),
        system="Orders can be seen at https://shop.example.com/orders/<id>.",
    ),
    "time zones": talk(
        "When is the call for me in New York?",
        "The call is at 15:00 UTC, which is 10:00 AM in New York and 16:00 in Berlin.",
        use("get_event", {"title": "Call", "start": "2026-01-20T15:00:00Z"}, event="call"),
    ),
    "a date by the day of today": talk(
        "Remind me of the dentist next Friday.",
        "I set a reminder for Friday, 20 March 2026.",
        use("create_reminder", {"ok": True}, date="2026-03-20", text="Dentist"),
        system="Today is Wednesday, 11 March 2026.",
    ),
    "days between dates": talk(
        "How long was the project?",
        "It ran from 2025-11-03 to 2026-02-27, which is 116 days (about 17 weeks).",
        use("get_project", {"start": "2025-11-03", "end": "2026-02-27"}, project="atlas"),
    ),
    # --- data
    "an aggregate": talk(
        "Revenue by region?",
        "West leads with $517,902.75, then North with $412,350.50 and South with $298,410.25. The"
        " total is $1,228,663.50; West has 42.2% of it.",
        use("run_sql", SALES, query="SELECT region, SUM(revenue), COUNT(*) FROM sales GROUP BY 1"),
    ),
    "an aggregate in millions": talk(
        "Total revenue, roughly?", "Roughly $1.23 million from 3,845 orders.",
        use("run_sql", SALES, query="SELECT region, SUM(revenue), COUNT(*) FROM sales GROUP BY 1"),
    ),
    "an average": talk(
        "Average order value in the North?",
        "About $319.65 (412,350.50 / 1,290).",
        use("run_sql", SALES, query="SELECT region, SUM(revenue), COUNT(*) FROM sales GROUP BY 1"),
    ),
    "one number": talk(
        "How many users signed up in March?", "2,317 users signed up in March.",
        use("run_sql", [[2317]], query="SELECT COUNT(*) FROM users WHERE month = 3"),
    ),
    "rows cut to the top": talk(
        "Top customer?", "Acme, with 41 orders. I looked at customers since 2024-01-01.",
        use("run_sql", "name,n\nAcme,41\nGlobex,39\nInitech,8",
            query="SELECT name, COUNT(*) n FROM o WHERE d >= '2024-01-01' GROUP BY 1 LIMIT 3"),
    ),
    "a zero": talk(
        "How many open tickets does Globex have?", "None: Globex has 0 open tickets.",
        use("run_sql", [{"count": 0}], query="SELECT COUNT(*) FROM t WHERE c='Globex'"),
    ),
    "a long list summed by code": talk(
        "Total of the transfers of account DE02?", f"The 120 transfers come to {LONG_TOTAL:,.2f} EUR.",
        use("list_transfers", LONG, account="DE02"),
        use("run_python", f"{LONG_TOTAL}\n", code="print(sum(r['amount'] for r in rows))"),
    ),
    "a long list summed by the model": talk(
        "Total of the transfers of account DE02?", f"The 120 transfers come to {LONG_TOTAL:,.2f} EUR.",
        use("list_transfers", LONG, account="DE02"),
    ),
    "growth": talk(
        "How did we grow?",
        "Revenue grew from 3.4 to 4.1 million, an increase of 20.6 % (0.7 million).",
        use("get_kpis", {"revenue_2024": 3400000, "revenue_2025": 4100000}, year="2025"),
    ),
    "about three million": talk(
        "How many people live in the city?", "About 3 million people (2.97 million in 2023).",
        use("search", "Population (2023): 2,967,452", query="population"),
    ),
    "code run": talk(
        "What is the 50th Fibonacci number?", "It is 12,586,269,025.",
        use("run_python", {"stdout": "12586269025\n", "exit_code": 0}, code="print(fib(50))"),
    ),
    "a plot": talk(
        "Plot the sales.", "I plotted revenue by region and saved it as plot.png. West is highest.",
        use("run_sql", SALES, query="SELECT region, SUM(revenue), COUNT(*) FROM sales GROUP BY 1"),
        use("run_python", {"stdout": "", "files": ["plot.png"]}, code="plt.savefig('plot.png')"),
    ),
    # --- operations
    "logs full of ERROR": talk(
        "Anything wrong at noon?",
        "Yes. Between 12:00 and 12:10 UTC there were 3 ERROR lines: requests 8812 and 8831 timed out"
        " after 30 s, and request 8850 got `connection refused`. The pool stood at 92 % of 64"
        " connections.",
        use("search_logs", LOGS, service="payment-service"),
    ),
    "logs without a hit": talk(
        "Any OOM kills?", "No, I found no OOM kills in the logs.",
        use("search_logs", "", service="payment-service", pattern="OOM"),
    ),
    "a health check": talk(
        "Is the API up?", "Yes, it answers with HTTP 200 in 84 ms; uptime is 99.97 %.",
        use("http_get", {"status": 200, "elapsed_ms": 84, "body": {"uptime": 0.9997}}, url="/health"),
    ),
    "a status code that is the answer": talk(
        "What does /admin return?", "It returns 403 Forbidden, as intended.",
        use("http_get", {"status": 403, "body": "Forbidden"}, url="/admin"),
    ),
    "disk sizes": talk(
        "How full is the disk?", "It is 78 % full: 390 GB of 500 GB, so 110 GB are free.",
        use("df", "Filesystem Size Used Avail Use%\n/dev/sda1 500G 390G 110G 78%"),
    ),
    "bytes told in MB": talk(
        "How big is the build?", "The build is 48.2 MB, of which 31.5 MB are assets.",
        use("stat", {"size_bytes": 48200113, "assets_bytes": 31498220}, path="dist/app.zip"),
    ),
    "code review": talk(
        "Review the patch.",
        "The patch to `app/cache.py` (around line 40) replaces a `KeyError` with `None`. Consider"
        " `STORE.get(key)`:\n```python\nreturn STORE.get(key)\n```\nOtherwise 1 line became 3; LGTM.",
        use("get_diff", DIFF, pull=118),
    ),
    "tests run": talk(
        "Run the tests.", "142 tests passed, 3 were skipped and none failed (in 12.8 s).",
        use("run_tests", "142 passed, 3 skipped in 12.84s", path="tests"),
    ),
    "a commit": talk(
        "Commit it.", "I committed the change as `9f1c2ab`.",
        use("git_commit", "[main 9f1c2ab] Return None\n 1 file changed", message="Return None"),
    ),
    "a retry after an error": talk(
        "Read page 9.", "Page 9 is blank except for the number 4711 in its footer.",
        use("read_page", error="timed out", page=9),
        use("read_page", "4711", page=9),
    ),
    # --- weather, money
    "weather in other units": talk(
        "Weather in Boston in Celsius?",
        "It is 20 °C (68 °F) in Boston with winds of about 16 km/h and 45 % humidity.",
        use("get_weather", {"temp_f": 68, "wind_mph": 10, "humidity": 0.45}, city="Boston"),
    ),
    "weather in two cities": talk(
        "Weather in Oslo and Rome?", "Oslo has -3 °C and snow, Rome 14.5 °C and sun.",
        use("get_weather", {"temp_c": -3, "sky": "snow"}, city="Oslo"),
        use("get_weather", {"temp_c": 14.5, "sky": "clear"}, city="Rome", beside=True),
    ),
    "forecast table": talk(
        "Forecast?", "Highs of 12, 15 and 17 °C from Monday to Wednesday; 80 % chance of rain on"
        " Tuesday.",
        use("forecast", [{"day": "Mon", "high": 12, "rain": 0.1}, {"day": "Tue", "high": 15,
            "rain": 0.8}, {"day": "Wed", "high": 17, "rain": 0}], city="Bern"),
    ),
    "currency": talk(
        "What are 250 USD in EUR?", "250 USD are 231.48 EUR at a rate of 0.9259.",
        use("get_rate", {"base": "USD", "quote": "EUR", "rate": 0.92592}, base="USD", quote="EUR"),
    ),
    "currency the other way": talk(
        "What is €80 in dollars?", "€80 is about $86.40.",
        use("get_rate", {"base": "EUR", "quote": "USD", "rate": 1.08}, base="EUR", quote="USD"),
    ),
    "a loan": talk(
        "Monthly rate for 200,000 at 3.6 % over 20 years?",
        "The monthly rate is about 1,170.22.",
        use("loan_calculator", {"monthly": 1170.2249}, principal=200000, rate=3.6, years=20),
    ),
    "a share": talk(
        "How is AAPL?", "AAPL closed at $187.44, up 1.32 (+0.71%) from $186.12.",
        use("get_quote", {"symbol": "AAPL", "close": 187.44, "previous": 186.12}, symbol="AAPL"),
    ),
    # --- languages
    "german": talk(
        "Wie hoch ist der Gesamtbetrag?",
        "Der Gesamtbetrag beträgt 1.249,90 €, fällig am 13. April 2024. Das sind 19 % MwSt. mehr als"
        " der Nettobetrag von 1.050,34 €.",
        use("lies_rechnung", {"brutto": 1249.9, "netto": 1050.34, "mwst": 0.19,
                              "faellig": "2024-04-13"}, rechnung="R-7781"),
    ),
    "french": talk(
        "Quel est le total ?",
        "Le total s'élève à 12 480,50 € TTC, payable avant le 3 mai 2026 (soit 30 jours).",
        use("lire_facture", {"total_ttc": 12480.5, "echeance": "2026-05-03", "delai_jours": 30},
            facture="F-2026-118"),
    ),
    "chinese": talk(
        "订单48213什么时候到？", "您的订单 48213 将于2026年7月14日送达，总价为1,299.00元。",
        use("get_order", {"id": 48213, "eta": "2026-07-14", "total_cny": 1299}, id="48213"),
    ),
    "japanese": talk(
        "会議はいつですか？", "会議は2026年3月20日15時30分から、会議室B-204で行われます。",
        use("get_event", {"start": "2026-03-20T15:30:00+09:00", "room": "B-204"}, event="会議"),
    ),
    "arabic digits": talk(
        "كم سعر X-88؟", "السعر هو ١٢٩٩ ريال ويصل الطلب في ٢٠٢٦-٠٧-١٤.",
        use("get_price", {"price_sar": 1299, "eta": "2026-07-14"}, sku="X-88"),
    ),
    "spanish": talk(
        "¿Cuándo sale el tren y cuánto cuesta?",
        "Sale el 5 de junio a las 18:05 y cuesta 63,75 euros (clase turista).",
        use("buscar_tren", {"salida": "2026-06-05 18:05", "precio": 63.75}, destino="Sevilla"),
    ),
    "portuguese, indian grouping": talk(
        "Qual é o preço do X-88?", "O preço é ₹1,25,000 (cerca de R$ 7.500,00).",
        use("get_price", {"price_inr": 125000, "price_brl": 7500}, sku="X-88"),
    ),
    "swiss": talk(
        "Lohn?", "Der Lohn beträgt CHF 84'500.– pro Jahr, also CHF 6'500 in 13 Monatslöhnen.",
        use("get_contract", {"salary": 84500, "currency": "CHF", "payments": 13}, person="Meier"),
    ),
    # --- form
    "enums and ids of the schema": talk(
        "Triage the ticket: the app crashes on start.",
        {"category": "BUG_REPORT", "queue": "team_mobile_2", "priority": "P1", "sla_hours": 24},
        schema={"category": {"enum": ["BUG_REPORT", "QUESTION"]}, "priority": {"enum": ["P1", "P2"]},
                "queue": {"enum": ["team_mobile_2", "team_web_1"]}, "sla_hours": {"enum": [4, 24]}},
    ),
    "a score of its own": talk(
        "Rate the essay.", {"score": 87, "confidence": 0.82, "reasoning": "Clear, 3 minor errors."},
        use("read_document", "My essay about the sea.", path="essay.txt"),
    ),
    "medical triage": talk(
        "Summarise: " + PATIENT,
        "64-year-old woman with COPD and type 2 diabetes, febrile (38.4 °C), tachycardic (104 bpm),"
        " BP 148/92, SpO2 93% on room air, RR 22/min. Penicillin allergy. On metformin 850 mg twice"
        " daily and ramipril 5 mg daily. Suggest NEWS2 scoring and sepsis screen.",
    ),
    "medical dose": talk(
        "Dose for a child of 18 kg?",
        "At 15 mg/kg the single dose is 270 mg, at most 4 times a day (1,080 mg).",
        use("lookup_drug", "Paracetamol: 15 mg/kg per dose, max 4 doses/day", drug="paracetamol"),
    ),
    "lab values as json": talk(
        "Labs?", {"labs": [{"name": "HbA1c", "value": 7.2, "unit": "%"},
                           {"name": "Creatinine", "value": 1.1, "unit": "mg/dL"}]},
        use("get_labs", "HbA1c 7.2 %\nCreatinine 1.1 mg/dL\nNa 139 mmol/L", patient="P-1042"),
    ),
    "an email composed": talk(
        "Write to anna@example.com that we meet on Tuesday at 10.",
        "I've sent the email to anna@example.com:\n\n> Subject: Meeting on Tuesday\n>\n> Dear Anna,\n"
        "> let us meet on Tuesday at 10:00.\n> Best regards",
        use("send_email", {"id": "msg_18c2"}, to="anna@example.com", subject="Meeting on Tuesday",
            body="Dear Anna, let us meet on Tuesday at 10:00. Best regards"),
    ),
    "arguments by default": talk(
        "Find papers on graphene.", "I found 2 papers: one of 2019 by Novak, one of 2021 by Li.",
        use("search_papers", [{"author": "Novak", "year": 2019}, {"author": "Li", "year": 2021}],
            query="graphene", max_results=10, sort="relevance", year_from=2015),
    ),
    "maths tutoring": talk(
        "Solve 3x + 7 = 25 with steps.",
        "1. Subtract 7: 3x = 18.\n2. Divide by 3: x = 6.\n\nCheck: 3·6 + 7 = 25. Try 5x - 10 = 40"
        " next (x = 10).",
        offers=("calculator",),
    ),
    "maths with a calculator": talk(
        "What is 17 % of 2,340?", "17% of 2,340 is 397.8.",
        use("calculator", "397.8", expression="2340*0.17"),
    ),
    "creative writing": talk(
        "Write the opening of a space story.",
        "In the year 2387, Captain Mira Solano steered the Halcyon past 14 dead moons. \"We have 36"
        ' hours of air," she said, "and one chance."',
        offers=("search", "generate_image"),
    ),
    "small talk": talk("Good morning!", "Good morning! How can I help you today?",
                       offers=("get_order", "refund_order")),
    "a refusal": talk("Give me somebody's card number.", "I can't share other customers' data.",
                      offers=("get_user",)),
    "an abstention after a read": talk(
        "What is the weight of the DPS310?", "The data sheet does not state the weight of the DPS310.",
        use("read_page", SHEET, page=4),
    ),
    "a question back": talk(
        "Cancel it.", "Which order do you mean: #W4082615 or #W7181492?",
        use("list_orders", ORDERS, user_id="mei_kovacs_8020"), system=USER,
    ),
    "a proposal before a write": talk(
        "Cancel #W7181492.",
        "I can cancel order #W7181492 and refund $1,249.90 to your card ending in 7447. Shall I go"
        " ahead (yes/no)?",
        use("get_order_details", ORDERS[1], order_id="#W7181492"),
        use("get_user", ACCOUNT, user_id="mei_kovacs_8020"),
        offers=("cancel_order",),
        system=USER,
    ),
    "general knowledge": talk("When was the Eiffel Tower built?",
                              "It was completed in 1889 and is 330 metres tall.", offers=("search",)),
    # --- agents
    "a sub-agent's report": talk(
        "Research the market.", "The market was worth $4.2 billion in 2025 and grows 8 % a year.",
        use("research_agent", "Report: market size 2025: 4.2bn USD; CAGR 8%.", task="market size"),
    ),
    "memory": talk(
        "What's my gate again?", "You told me it's gate B14, boarding at 17:25.",
        use("recall_memory", ["gate: B14", "boarding: 17:25"], key="flight"),
    ),
    "memory kept": talk(
        "My gate is B14.", "Noted: gate B14.", use("save_memory", "saved", key="gate", value="B14"),
    ),
    "told in an earlier turn": talk(
        "And the total of it and #W7181492?", "Both together cost $1,408.15.",
        use("get_order_details", ORDERS[1], order_id="#W7181492"),
        history=(user("What did #W4082615 cost?"), assistant("It cost $158.25.")),
    ),
    "a list of ordinals": talk(
        "Who won?", "Kenya's Kipruto came first in 2:03:13, Bekele second, 28 seconds behind"
        " (2:03:41).",
        use("get_results", [{"place": 1, "name": "Kipruto", "time": "2:03:13"},
                            {"place": 2, "name": "Bekele", "time": "2:03:41"}], race="berlin"),
    ),
    "a range": talk(
        "How long does shipping take?", "Between 3 and 5 working days, or 24 to 48 hours by express.",
        use("get_policy", "Standard: 3-5 working days. Express: 24-48 h.", topic="shipping"),
    ),
    "a truncated id": talk(
        "Which deployment runs?", "Deployment `a1b2c3d` (a1b2c3d4…) runs in version 2.14.0.",
        use("get_deployment", {"sha": "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", "version": "2.14.0"},
            service="web"),
    ),
    "a telephone number": talk(
        "Phone of the clinic?", "You can reach them at +49 30 450 528-211 or (030) 450 528 211.",
        use("find_clinic", {"name": "Charité", "phone": "+4930450528211"}, city="Berlin"),
    ),
    "an isbn and a year": talk(
        "Find the book.", "*The Sea* by John Banville, 2005, ISBN 978-0-330-48329-2, 264 pages.",
        use("find_book", {"title": "The Sea", "author": "John Banville", "year": 2005,
                          "isbn": "9780330483292", "pages": 264}, title="The Sea"),
    ),
    "json echoed from a json string": talk(
        "Give order #W4082615 as JSON.", json.dumps(ORDERS[0]),
        use("get_order_details", json.dumps(ORDERS[0]), order_id="#W4082615"),
    ),
    "json with a sum": talk(
        "Sum up my orders as JSON.",
        {"count": 3, "total": 1495.55, "largest": {"order_id": "#W7181492", "total": 1249.9}},
        use("list_orders", ORDERS, user_id="mei_kovacs_8020"), system=USER,
    ),
    "coordinates": talk(
        "Where is the station?", "At 52.5251° N, 13.3694° E, 1.2 km from you (15 minutes on foot).",
        use("geocode", {"lat": 52.525084, "lon": 13.369402, "distance_m": 1200, "walk_s": 900},
            place="Berlin Hbf"),
    ),
    "a recipe scaled": talk(
        "Scale the recipe from 4 to 6 persons.",
        "You need 750 g flour, 375 ml milk and 6 eggs for 6 persons.",
        use("get_recipe", {"serves": 4, "flour_g": 500, "milk_ml": 250, "eggs": 4}, name="crepes"),
    ),
    "fractions": talk(
        "How many voted yes?", "Two thirds: 84 of 126 members (66.7 %), 42 against.",
        use("get_vote", {"yes": 84, "no": 42}, vote="V-12"),
    ),
    "duration in other units": talk(
        "How long is the video?", "It is 1 h 32 min (92 minutes, 5,520 seconds).",
        use("get_video", {"duration_s": 5520, "title": "Lecture"}, video="v_8Kq2"),
    ),
    "unix time": talk(
        "When was it created?", "It was created on 14 July 2026 at 04:45 UTC.",
        use("get_file", {"name": "a.txt", "created": 1783997100}, name="a.txt"),
    ),
    "the tenth percentile": talk(
        "Latency?", "p50 is 42 ms, p95 310 ms and p99 1.2 s over the last 24 hours.",
        use("get_latency", {"p50": 42, "p95": 310, "p99": 1203, "window": "24h"}, service="web"),
    ),
}  # fmt: skip


def flagged(talk: Talk, form: str = "openai chat") -> list[tuple[str, str]]:
    found = evaluate(as_run(talk, FORMS[form])).findings
    return [(v.rule, v.reason) for v in found if at_least(v.severity, "warning")]


@pytest.mark.parametrize("name", HEALTHY)
def test_an_errand_that_went_well_is_not_flagged(name):
    assert flagged(HEALTHY[name]) == []


@pytest.mark.parametrize("form", list(FORMS)[1:])
def test_nor_is_any_in_another_form(form):
    assert {name: found for name in HEALTHY if (found := flagged(HEALTHY[name], form))} == {}
