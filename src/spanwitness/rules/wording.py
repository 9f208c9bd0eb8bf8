"""What the words of an answer do: abstain, disclose a failure, deny having tools, report a look-up.

Plain lists of English phrases. A phrase that is not listed is not seen; rules that need one say so.
"""

from __future__ import annotations

import json
import re

from spanwitness.normalize.plain import plain_value

_NOT = r"(?:not|n['\u2019]t|never|no longer)"
_CANNOT = rf"(?:could|can|was|were|am|are|is|did|do|does|have|has)\s*{_NOT}|cannot|can\u2019t"
_ABSTAINS = re.compile(
    rf"\b(?:{_CANNOT})\s+(?:yet\s+|currently\s+|directly\s+)?(?:be\s+)?(?:able|find|found|"
    r"locate|see|seen|determine|confirm|verify|access|retrieve|tell|answer|know|have|identify|"
    r"available|"
    r"contain|mention|state|stated|specif(?:y|ied)|provide|include|get|read|open|say|give|"
    r"help|enough)"
    r"|\bunable to\b|\bno (?:\w+ ){0,3}(?:results?|match(?:es)?|records?|data|information|"
    r"entr(?:y|ies)|mention|evidence|documents?|files?)\b|\bnothing (?:was )?found\b|"
    r"\bnot found\b|\bunavailable\b"
    r"|\binsufficient (?:information|data|evidence)\b|\bunknown\b"
    r"|\bplease (?:provide|share|specify|clarify)\b"
    r"|\b(?:could|can|would) you (?:please )?(?:clarify|provide|share|specify|tell)\b",
    re.IGNORECASE,
)
_DISCLOSES = re.compile(
    r"\b(?:error\w*|exceptions?|fail(?:s|ed|ing|ures?)?|time[ds]?[ -]?out|unavailable|"
    r"unsuccessful\w*|"
    r"den(?:ied|ies)|refused|reject(?:ed|s)|invalid|missing|issues?|problems?|trouble|"
    r"unfortunately|"
    r"sorry|apolog\w+|unable|cannot|couldn\w*|can['\u2019]t|won['\u2019]t|down|offline|outage|"
    r"not (?:be )?(?:able|found|available|accessible|exist|possible|permitted|allowed|"
    r"authori[sz]ed|"
    r"complete\w*|succe\w+|work\w*|reach\w*|supported|retrieve\w*|load\w*|open\w*|read\w*|"
    r"access\w*)|"
    r"(?:could|did|does|do|was|were|is|has|have)(?:n['\u2019]t| not)|without success|"
    r"no (?:access|such|response|luck)|try again|retry|incomplete|partial(?:ly)?|skipped|"
    r"404|403|401|500|502|503|429)\b",
    re.IGNORECASE,
)
_DENIES_TOOLS = re.compile(
    r"\b(?:cannot|can['\u2019]t|can not|am (?:not able|unable) to|do(?:n['\u2019]t| not)"
    r" have(?: the (?:ability|tools?))?(?: (?:any|access))?)\b[^.!?\n]{0,60}\b(?:tools?|functions?|"
    r"function[- ]call\w*)\b",
    re.IGNORECASE,
)
_TRANSCRIPT = re.compile(
    r"^\s*\**(?:Action\**\s*:\s*`?(?P<tool>[\w.\- ]+?)`?\s*(?:\(|$)|"
    r"(?P<seen>Observation)\**\s*:\s*\S)",
    re.IGNORECASE | re.MULTILINE,
)
_TRANSCRIPT_SPAN = 4000
"""Most characters between an action and its observation."""
_RESULT_BLOCK = re.compile(
    r"<(?P<tag>tool_response|tool_result|tool_results|function_results?|function_response|"
    r"tool_output|observation)>\s*\S",
    re.IGNORECASE,
)
_TOOL_SAID = re.compile(
    r"\b(?:the|my) (?:\w+ ){0,2}(?:tool|function|api|search|query|database|command|script|lookup|"
    r"look-up)(?: call)? (?:has )?(?:returned|returns|gave|shows?|showed|reports?|reported|"
    r"confirm(?:s|ed)|responded|output)\b"
    r"|\b(?:tool|function|search|query|api) (?:output|results?|response) (?:shows?|showed|is|was|"
    r"indicates?|confirms?|says?)\b|\baccording to (?:the|my) (?:search|tool|query|look-?up|api)\b",
    re.IGNORECASE,
)
_DID = (
    r"\bI(?:['\u2019]ve| have)?(?: (?:just|already|now|also|first|then|successfully|double-))*\s*"
)
_LOOKED = re.compile(
    _DID
    + r"(?:searched|queried|called|invoked|executed|fetched|retrieved|browsed|looked (?:it |this "
    r"|that |them )?up|looked up|checked|consulted|opened|accessed|ran|used|scanned|verified)\s+"
    r"(?:(?:it|this|that|them|both|all|for|in|on|with|through|against|using|via|the|your|our|a|an|"
    r"official|latest|current|relevant|available|internal|online|live|provided)\s+){0,5}"
    r"(?:\w+\s+)?(?:tools?|functions?|apis?|web|internet|databases?|sites?|websites?|search|"
    r"quer(?:y|ies)|"
    r"records?|systems?|documents?|datasheets?|files?|pages?|pdf|catalog(?:ue)?|index|logs?|"
    r"knowledge base|inventory|crm|calendar|inbox)\b",
    re.IGNORECASE,
)
_GIVEN_BY_USER = re.compile(
    r"\byou(?:['\u2019]ve| have)? (?:provided|shared|attached|sent|gave|given|pasted|uploaded)\b"
    r"|\b(?:attached|provided|shared|pasted|above)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    rf"\b{_NOT}\b|n['\u2019]t\b|\b(?:if|once|when|without|will|would|should|could|can|"
    r"may|might|let me|going to|need to|to be|unable|fail(?:ed|s)?|cannot|unless|until|whether|"
    r"please|want|like|ready to|about to)\b",
    re.IGNORECASE,
)
_QUESTION_OR_GREETING = re.compile(
    r"\?\s*$|^\s*(?:hi|hello|hey|thanks|thank you|sure|okay|ok|you['\u2019]re welcome)\b",
    re.IGNORECASE,
)
_NEGATIVE_CLAIM = re.compile(
    r"\b(?:there (?:is|are|was|were|have been|has been) (?:no|none|not any|nothing)|no \w+|none|"
    r"nothing|zero|is empty|are empty|empty)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[\s\S]*?(?:```|\Z)|`[^`\n]*`")
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\s|$)|\n|$|[.!?])")
_NOTHING_WORDS = frozenset(
    {"", "n/a", "na", "none", "null", "unknown", "not found", "not available", "unspecified", "-"}
)


def abstains(answer: str) -> bool:
    """Say whether an answer says that it cannot tell, asks back, or is JSON without any content."""
    leaves = json_leaves(answer)
    if leaves is not None:
        filled = [leaf for leaf in leaves if not _is_nothing(leaf)]
        return bool(leaves) and all(
            isinstance(leaf, str) and _ABSTAINS.search(leaf) is not None for leaf in filled
        )
    return _ABSTAINS.search(answer) is not None


def discloses_failure(answer: str) -> bool:
    """Say whether an answer tells that something failed, was missing or could not be done."""
    return _DISCLOSES.search(answer) is not None or abstains(answer)


def denies_tools(answer: str) -> bool:
    """Say whether an answer says that the model has no tools or cannot use them."""
    return _DENIES_TOOLS.search(answer) is not None


def claims_absence(answer: str) -> bool:
    """Say whether an answer states as a fact that there is none of something."""
    return _NEGATIVE_CLAIM.search(answer) is not None


def asserts(answer: str) -> bool:
    """Say whether an answer states something: no abstention, question, or greeting."""
    if not answer.strip() or abstains(answer) or _QUESTION_OR_GREETING.search(answer):
        return False
    leaves = json_leaves(answer)
    return leaves is None or any(not _is_nothing(leaf) for leaf in leaves)


def transcript_tool(text: str) -> str | None:
    """Return the tool whose observation a reply wrote itself (`Action: ... Observation: ...`)."""
    if "bservation" not in text and "OBSERVATION" not in text:
        return None
    action: re.Match[str] | None = None
    for found in _TRANSCRIPT.finditer(_without_fences(text, keep_blocks=True)):
        if found["tool"]:
            action = found
        elif action is not None and found.start() - action.end() <= _TRANSCRIPT_SPAN:
            return action["tool"].strip()
    return None


def has_result_block(text: str) -> bool:
    """Say whether a reply holds a block that only a harness writes, such as `<tool_response>`."""
    return "<" in text and _RESULT_BLOCK.search(_without_fences(text)) is not None


def reports_tool_output(text: str) -> bool:
    """Say whether a text reports what a tool, a search or a query returned."""
    return any(
        _TOOL_SAID.search(sentence) and not _NEGATED.search(sentence)
        for sentence in sentences(_without_fences(text))
    )


def reports_look_up(text: str) -> bool:
    """Say whether a text says in the first person that something was looked up or run."""
    return any(
        _LOOKED.search(sentence)
        and not _NEGATED.search(sentence)
        and not _GIVEN_BY_USER.search(sentence)
        for sentence in sentences(_without_fences(text))
    )


def reported_tools(text: str, names: frozenset[str]) -> tuple[str, ...]:
    """Return which of the named tools a text says were used, or says what they returned."""
    found = []
    for name in sorted(names):
        if name not in text or len(name) < 4:
            continue
        spelled = rf"(?:the )?`?{re.escape(name)}`?(?:\(\))?"
        used = re.compile(
            _DID
            + rf"(?:called|used|ran|invoked|executed|queried|tried|consulted)\s+{spelled}(?!\w)"
            rf"|(?<!\w){spelled}(?: tool| function)?(?: call)? (?:has )?(?:returned|gave|showed|"
            rf"shows|"
            r"reported|confirmed|confirms|found)\b",
            re.IGNORECASE,
        )
        if any(used.search(s) and not _NEGATED.search(s) for s in sentences(text)):
            found.append(name)
    return tuple(found)


def sentences(text: str) -> list[str]:
    """Split a text into sentences, roughly."""
    return _SENTENCE.findall(text)


def is_hedged(sentence: str) -> bool:
    """Say whether a sentence is negated, conditional, or about the future."""
    return _NEGATED.search(sentence) is not None


_encode = json.JSONEncoder(default=str, ensure_ascii=False).encode


def as_text(value: object) -> str:
    """Return a value in the words of a message: a text as it is, else its JSON without escapes."""
    if isinstance(value, str):
        return value
    try:
        return _encode(value)
    except (RecursionError, ValueError):  # too deep, or it holds itself
        return _encode(plain_value(value).value)


def json_leaves(answer: str) -> list[object] | None:
    """Return the leaves of an answer that is a JSON object or list; `None` when it is not."""
    text = answer.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    leaves: list[object] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        else:
            leaves.append(item)
    return leaves


def _is_nothing(leaf: object) -> bool:
    if leaf is None or leaf is False:
        return True
    return isinstance(leaf, str) and leaf.strip().casefold() in _NOTHING_WORDS


def _without_fences(text: str, *, keep_blocks: bool = False) -> str:
    if "`" not in text or (keep_blocks and text.lstrip().startswith("```")):
        return text
    return _FENCE.sub(" ", text)
