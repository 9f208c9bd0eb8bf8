"""`quote_not_located`: a quotation is nowhere in what the model saw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.model import TextPart
from spanwitness.normalize.given import folded
from spanwitness.rules.answers import is_answer_left
from spanwitness.rules.attributing import ATTRIBUTES
from spanwitness.rules.attribution import attribute, circumstances
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS
from spanwitness.rules.unsupported import answer_spans, is_declared, rests_on_evidence

if TYPE_CHECKING:
    from spanwitness.model import AssessedClaim
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_SUGGESTS = re.compile(
    r"\b(?:reply|respond|answer with|confirm\w*|type|enter|say|ask|tell (?:me|us|them)|let me know|"
    r"for example|e\.g\.|such as|like|draft|subject|call(?:ed)?|titled?|named|labell?ed|click|"
    r"select|choose|button|option|write back|you (?:can|could|may|might))\b[^.!?\n]{0,60}$",
    re.IGNORECASE,
)
_QUOTE_FIELD = re.compile(r"quot|excerpt|verbatim|snippet|passage|evidence|citation", re.IGNORECASE)
_OWN = ("assistant", "reasoning", "arguments")
_NEAR = 80
_MIN_WORDS = 4


@rule("quote_not_located", severity="error", fault="reasoning", needs=CHATS)
def quote_not_located(facts: Facts) -> Outcome:
    """A quotation of the answer is nowhere in what the model saw, or is the model's own sentence.

    Claims: A quotation that the answer gives for one from a source (a declared quote, a field for
        quotes, or quoted text of at least four words beside words of citing) stands in no input
        part and no result, not even with small edits (one that turns a number or a negation is
        not small); or all that holds it is what the model had
        written itself before, also where a tool handed that back as a source's snippet. A
        quotation that was returned and never delivered is told at `warning`, fault harness. Where
        nothing was read and nothing made tools due, it is told at `info`.
    Needs: The answer, the messages of the requests and replies, the results of tools.
    Not assessed when: Content is off or cut, the input holds parts that cannot be read, or the
        trace has a hole.
    Can be wrong: A translated quotation is reported; a paraphrase in quotation marks is, too.
    """
    if facts.answer_text is None and facts.run.submission is None:
        if facts.run.has_final is False:
            return facts.no_subject
        return not_assessed("the answer was not recorded")
    quotes = [c for c in facts.claims if c.kind == "quotation" and _is_citing(facts, c)]
    if not quotes or not facts.stands_as_success or is_answer_left(facts):
        return facts.nothing_found if facts.claims else facts.no_subject
    own = [c for c in quotes if _is_own(facts, c)]
    absent = [c for c in quotes if c.receipt.state == "absent" or _says_otherwise(c)]
    unsent = [c for c in quotes if c.receipt.state == "not_delivered"]
    if not (own or absent or unsent):
        undecided = [c for c in quotes if c.receipt.state == "not_decidable"]
        if undecided:
            return not_assessed(undecided[0].receipt.reason or "a quotation cannot be looked for")
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    return _violated(facts, own, absent, unsent, n_quotes=len(quotes))


def _is_citing(facts: Facts, claim: AssessedClaim) -> bool:
    """Say whether a quotation is given for one from a source; a draft or a title is not."""
    if claim.origin == "declared":
        return True
    if claim.origin == "field" and _QUOTE_FIELD.search(claim.claim.field or ""):
        return True
    text = claim.text or str(claim.claim.quote or claim.claim.value or "")
    answer = facts.answer_text or ""
    at = answer.find(text)
    if len(text.split()) < _MIN_WORDS or at < 0:
        return False
    before, after = answer[max(at - _NEAR, 0) : at], answer[at + len(text) :][: _NEAR // 2]
    if _SUGGESTS.search(before):
        return False
    return ATTRIBUTES.search(before) is not None or ATTRIBUTES.search(after) is not None


def _says_otherwise(claim: AssessedClaim) -> bool:
    """Say whether what differs from the source is a number or a negation."""
    for change in _CHANGE.finditer(claim.receipt.difference or ""):
        mine, theirs = change["mine"] or change["added"] or "", change["theirs"] or ""
        if change["dropped"]:
            theirs = change["dropped"]
        if len(_NEGATION.findall(mine)) != len(_NEGATION.findall(theirs)):
            return True
        one, other = _FIGURE.findall(mine), _FIGURE.findall(theirs)
        if one and other and one != other:
            return True
    return False


_CHANGE = re.compile(
    r"'(?P<mine>[^']*)' for '(?P<theirs>[^']*)'|with '(?P<added>[^']*)' added"
    r"|without '(?P<dropped>[^']*)'"
)
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|no|without|unless|except|cannot)\b")
_FIGURE = re.compile(r"\d+")


def _is_own(facts: Facts, claim: AssessedClaim) -> bool:
    """Say whether the model's own earlier words are all that a quotation rests on.

    A result that repeats them (a snippet made of the answer) is no source of its own.
    """
    receipt = claim.receipt
    if receipt.state == "self_sourced":
        return True
    given = [place for place in receipt.places if place.source not in _OWN]
    if receipt.state != "in_window" or not given:
        return False
    if any(place.source != "result" for place in given):
        return False
    quote = folded(claim.text or str(claim.claim.quote or ""))
    said_at = _first_said(facts, quote) if quote else None
    if said_at is None:
        return False
    at = facts.positions
    return all(at.get(place.span_id, -1) > said_at for place in given)


def _first_said(facts: Facts, quote: str) -> int | None:
    for chat in facts.replies[:-1]:
        for message in chat.output_messages or ():
            for part in message.parts:
                if isinstance(part, TextPart) and quote in folded(part.text):
                    return facts.positions[chat.span_id]
    return None


def _violated(
    facts: Facts,
    own: list[AssessedClaim],
    absent: list[AssessedClaim],
    unsent: list[AssessedClaim],
    *,
    n_quotes: int,
) -> Outcome:
    told = own or absent or unsent
    n = len(told)
    subject = f"{n} of {n_quotes} quotation{'s' if n_quotes != 1 else ''}"
    if own:
        what = "rests on nothing but what the model had written itself before"
    elif absent:
        what = "stands nowhere in what the model saw or a tool returned"
    else:
        what = "was returned by a tool and never delivered to the model"
    who = attribute(circumstances(facts, told[0]))
    is_due = rests_on_evidence(facts) or any(is_declared(facts, c) for c in told)
    spans = [p.span_id for c in told for p in c.receipt.places]
    return violated(
        f"{subject} {what}.",
        span_ids=tuple(dict.fromkeys([*answer_spans(facts), *filter(None, spans)]))[:10],
        evidence={
            "n_quotes": n_quotes,
            "n_own": len(own),
            "n_absent": len(absent),
            "n_not_delivered": len(unsent),
            "attribution": "self_sourced" if own else who.line,
        },
        severity=("warning" if not (own or absent) else None) if is_due else "info",
        fault="reasoning" if own else who.fault,
        kind=None if own else who.kind,
    )
