"""What an answer claims, and what each claim rests on: claims, matching, receipts.

A claim is looked for in the texts of the run, the results of tools before all. Its receipt names
the tool result and the place that supports it, how it matched, and whether the model saw it.
"""

from __future__ import annotations

from spanwitness.grounding.claims import claims_of
from spanwitness.grounding.documents import documents_of
from spanwitness.grounding.receipts import assess
from spanwitness.grounding.statements import FoundClaim

__all__ = ["FoundClaim", "assess", "claims_of", "documents_of"]
