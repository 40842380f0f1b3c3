"""Numbers that lie so far out that they are cut."""

from __future__ import annotations

from smidgen.features import Encoded
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.messages import Finding

#: So many decisions with numbers (of records), or feedbacks (of rows), are enough.
CLIPPED_AFTER = 20
#: At least so many numbers were cut, or so many rows, and at least this share.
CLIPPED_NUMBERS, CLIPPED_ROWS, CLIPPED_SHARE = 3, 1, 0.005
#: From this share on it is a warning.
CLIPPED_WARNING = 0.05


class Clipped(Check):
    """Of records: numbers more than four standard deviations from their mean. Of rows: rows scaled down by the guard.

    The latest 100 decisions of models that take records, the latest 100 feedbacks of others.
    """

    code = "clipped"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say how many, if they are more than a few."""
        if evidence.model.blueprint.features is not None:
            records = [d.context for d in evidence.decisions if isinstance(d.context, Encoded) and len(d.context.raw)]
            cut, of = sum(each.clipped for each in records), sum(len(each.raw) for each in records)
            if len(records) < CLIPPED_AFTER or cut < CLIPPED_NUMBERS:
                return None
            return self._told(
                cut,
                of,
                "numbers lay more than four standard deviations out, and were cut there",
                "Send such a number on a scale of its own (its logarithm, a rank, a band as a string), or mend the "
                "rows that are wrong.",
            )
        steps = evidence.steps
        cut, of = sum(step.scaled for step in steps), len(steps)
        if of < CLIPPED_AFTER or cut < CLIPPED_ROWS:
            return None
        return self._told(
            cut,
            of,
            "feedbacks had features ten times as long as the usual, and were scaled down",
            "Look for rows in other units, or with a broken number; take logarithms of what spans several sizes.",
        )

    def _told(self, cut: int, of: int, what: str, hint: str) -> Finding | None:
        share = cut / of
        if share < CLIPPED_SHARE:
            return None
        return self.found(
            "warning" if share >= CLIPPED_WARNING else "info",
            f"{cut} of {of:,} {what} ({percent(share)}).",
            hint,
            {"clipped": cut, "of": of, "share": share},
        )
