"""Numbers that lie so far out that they are cut."""

from __future__ import annotations

from smidgen.features import Encoded
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.messages import Finding

#: So many decisions with numbers (of records), or feedbacks (of rows), are enough.
CLIPPED_AFTER = 20
#: At least so many were cut, and at least this share.
CLIPPED_MANY, CLIPPED_SHARE = 3, 0.01
#: From this share on it is a warning.
CLIPPED_WARNING = 0.05


class Clipped(Check):
    """Of records: numbers more than four standard deviations from their mean. Of rows: rows scaled down by the guard.

    The latest 100 decisions of models that take records, the latest 200 feedbacks of others.
    """

    code = "clipped"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say how many, if they are more than a few."""
        if evidence.model.blueprint.features is not None:
            records = [d.context for d in evidence.decisions if isinstance(d.context, Encoded) and len(d.context.raw)]
            return self._told(
                sum(each.clipped for each in records),
                sum(len(each.raw) for each in records),
                len(records),
                "numbers lay more than four standard deviations out, and were cut there",
                "Send such a number on a scale of its own (its logarithm, a rank, a band as a string), or mend the "
                "rows that are wrong.",
            )
        steps = evidence.steps
        return self._told(
            sum(step.scaled for step in steps),
            len(steps),
            len(steps),
            "feedbacks had features ten times as long as the usual, and were scaled down",
            "Look for rows in other units, or with a broken number; take logarithms of what spans several sizes.",
        )

    def _told(self, cut: int, of: int, seen: int, what: str, hint: str) -> Finding | None:
        if seen < CLIPPED_AFTER or cut < CLIPPED_MANY or cut < CLIPPED_SHARE * of:
            return None
        share = cut / of
        return self.found(
            "warning" if share >= CLIPPED_WARNING else "info",
            f"{cut} of {of:,} {what} ({percent(share)}).",
            hint,
            {"clipped": cut, "of": of, "share": share},
        )
