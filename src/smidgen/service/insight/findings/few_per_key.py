"""Keys without enough feedback to have learnt anything."""

from __future__ import annotations

from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.messages import Finding

#: So many decisions are enough.
FEW_AFTER = 40
#: A key needs about so many feedbacks; below the second number of them it is a problem.
FEW_WARNING, FEW_PROBLEM = 5.0, 1.0


class FewPerKey(Check):
    """Of keyed models: the feedbacks learnt, divided by the keys that have had a decision."""

    code = "few_per_key"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say how many there are for each key, if they are few."""
        counts = evidence.counts
        if not evidence.model.keyed or counts.decisions < FEW_AFTER or not counts.keys:
            return None
        each = counts.version / counts.keys
        if each >= FEW_WARNING:
            return None
        return self.found(
            "problem" if each < FEW_PROBLEM else "warning",
            f"Keys have little to learn from: {counts.version:,} feedbacks for {counts.keys:,} keys, {each:.2g} each.",
            'Let new keys begin with what others have taught ("shared_start": true), or make one model for all, with '
            "what is known of the user among the features.",
            {"feedback": counts.version, "keys": counts.keys, "per_key": each},
        )
