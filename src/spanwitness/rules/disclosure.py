"""Whether an answer tells of the failure behind it, sentence by sentence.

What an answer says about other times ("if you have any issues", "it cannot be changed later") tells
of no failure. English phrases; one that is not listed is not seen.
"""

from __future__ import annotations

import re
from functools import lru_cache

from spanwitness.rules import tool_names, wording

__all__ = [
    "claims_work", "is_of_other_times", "leaves_open", "plain_text", "tells_of_failure",
    "tells_plainly",
]  # fmt: skip

_PLAINLY = re.compile(
    r"\b(?:errors?|errored|exceptions?|fail(?:s|ed|ing|ures?)?|time[ds]?[ -]?out|unavailable|"
    r"unsuccessful\w*|den(?:ied|ies)|refused|rejected|invalid|unfortunately|sorry|apolog\w+|outage|"
    r"could(?:n['\u2019]t| not)|(?:did|was|were|has|have)(?:n['\u2019]t| not)(?: yet| be| been)* "
    r"(?:go(?:ne)? through|work\w*|succe\w+|complet\w+|found|find|process\w*|appl\w+|updat\w+|"
    r"chang\w+|sent|send|cancel\w*|modif\w+|made|make|saved?|book\w*|accept\w*|respond\w*|"
    r"answer\w*|load\w*|exist\w*|able|possible|available|allow\w*|permit\w*|receiv\w+)|went wrong|"
    r"without success|no (?:access|such|response|luck)|doesn['\u2019]?t exist|does not exist|"
    r"not found|still (?:pending|open|unchanged)|(?:try|tried|trying) (?:it |this )?again|retry|"
    r"(?:an|some|the following|technical|encounter\w*|ran into|run into|was|there is) "
    r"(?:\w+ ){0,2}(?:issue|problem|trouble)s?|(?:issue|problem|trouble)s? (?:with|while|when)|"
    r"(?:error|status|http|code) (?:404|403|401|500|502|503|429))\b",
    re.IGNORECASE,
)
_LOOSELY = re.compile(
    r"\b(?:issues?|problems?|trouble|missing|unable|cannot|can['\u2019]t|can not|won['\u2019]t|"
    r"offline|incomplete|partial(?:ly)?|skipped|rejects|"
    r"(?:is|are|be|went) down|can only|only be|"
    r"(?:does|do|did|is|am|are|was|were|has|have)(?:n['\u2019]t| not)|"
    r"not (?:be )?(?:able|available|accessible|exist|possible|permitted|allowed|"
    r"authori[sz]ed|complete\w*|succe\w+|work\w*|reach\w*|supported|retrieve\w*|load\w*|open\w*|"
    r"read\w*|access\w*)|404|403|401|500|502|503|429)\b",
    re.IGNORECASE,
)
_NONE_OF_IT = re.compile(
    r"\b(?:no|without|zero|free of|never)\s+(?:any\s+|further\s+|other\s+|known\s+)?"
    r"(?:errors?|exceptions?|issues?|problems?|failures?|trouble)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:if|in case|should you|unless|let me know|feel free|whenever|would you|do you)\b",
    re.IGNORECASE,
)
_OTHER_TIMES = re.compile(
    r"\b(?:once|after|afterwards|later|again|further|future|until|from now on|anymore|any more)\b",
    re.IGNORECASE,
)
_GENERIC = (
    r"submitted|initiated|completed?|requested|finali[sz]ed|confirmed|applied|put through|all set|"
    r"done"
)
_ASKS_BACK = re.compile(
    r"\b(?:would you like|do you want|"
    r"please (?:confirm|provide|choose|tell|specify)|"
    r"shall I|should I)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    rf"{_NONE_OF_IT.pattern}|\b(?:not|cannot|already|but|however|only|before|previously|earlier)\b|"
    r"n['\u2019]t\b",
    re.IGNORECASE,
)


def tells_of_failure(answer: str) -> bool:
    """Say whether an answer tells that something failed, was missing or could not be done."""
    return tells_plainly(answer) or _tells_loosely(_stated(answer)) or wording.abstains(answer)


def tells_plainly(answer: str) -> bool:
    """Say whether an answer tells of a failure in words that hardly mean anything else."""
    return any(map(_PLAINLY.search, _stated(answer)))


def leaves_open(answer: str) -> bool:
    """Say whether an answer asks back, abstains, or speaks of what cannot be done now."""
    now = [each for each in _stated(answer) if not _OTHER_TIMES.search(each)]
    asks = answer.rstrip(" \t\r\n\"'}])*").endswith("?")
    is_question = asks or _ASKS_BACK.search(answer) is not None
    return is_question or _tells_loosely(now) or wording.abstains(answer)


def is_of_other_times(sentence: str) -> bool:
    """Say whether a sentence is a condition, an offer, or about what may come."""
    return bool(_CONDITIONAL.search(sentence) or _OTHER_TIMES.search(sentence))


def claims_work(answer: str, tool: str) -> bool:
    """Say whether an answer says that the work of a tool that changes something is done.

    Looser than what `unperformed_action` needs: general words (`submitted`, `all set`) count, for
    it is asked only where the tool was called, and failed.
    """
    done = _done_words(tool)
    return any(
        done.search(sentence) and not wording.is_hedged(sentence) and not _AGAINST.search(sentence)
        for sentence in wording.sentences(plain_text(answer))
    )


def _tells_loosely(sentences: list[str]) -> bool:
    return any(map(_LOOSELY.search, sentences))


@lru_cache(maxsize=256)
def _done_words(tool: str) -> re.Pattern[str]:
    verbs = [v for word in tool_names.words_of(tool) for v in tool_names.ACTIONS.get(word, ())]
    own = "|".join([*map(re.escape, verbs), _GENERIC])
    things = "|".join(word.rstrip("s") for word in tool_names.words_of(tool))
    return re.compile(
        rf"\b(?:(?:has|have|was|were) (?:now |just |also |all |both )*(?:been )?(?:successfully )?"
        rf"(?:{own})|(?:is|are) (?:now )?(?:{own}|set)|"
        rf"I(?:['\u2019]ve| have)? (?:now |just |also |successfully )?(?:{own})|"
        rf"successfully \w+ed|\w+ed successfully|all set|"
        rf"(?:action|request|change|update|{things})s?"
        rf"(?:[ _]\w+)? (?:{own}))\b",
        re.IGNORECASE,
    )


def _stated(answer: str) -> list[str]:
    sentences = [_NONE_OF_IT.sub(" ", each) for each in wording.sentences(plain_text(answer))]
    return [each for each in sentences if not _CONDITIONAL.search(each)]


def plain_text(answer: str) -> str:
    """Return the text of an answer, of one that is JSON the leaves."""
    leaves = wording.json_leaves(answer)
    if leaves is None:
        return answer
    return "\n".join(str(leaf) for leaf in leaves if leaf is not None)
