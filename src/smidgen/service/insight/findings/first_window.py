"""The first window is still open: all that is known comes from those who have answered."""

from __future__ import annotations

from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.insight.narration import duration
from smidgen.service.messages import Finding

#: So many decisions are enough.
OPEN_AFTER = 20
#: From this share of unanswered decisions on.
OPEN_SHARE = 0.5
#: If answers of this share or more are good news, it is a warning.
GOOD_SHARE = 0.9


class FirstWindow(Check):
    """How much is known only of good news.

    Until the first window ends no silence counts: the figures rest on the decisions that were answered, and those who
    like something are the quicker to say so.
    """

    code = "silence"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say how many are open, as long as no window has ended."""
        rows = evidence.shown
        first = evidence.latest[0].expires_at if evidence.latest else evidence.now
        if evidence.ended or len(rows) < OPEN_AFTER or first < evidence.now:
            return None
        unanswered = sum(row.silent for row in rows)
        share, measures = unanswered / len(rows), evidence.measures
        if share < OPEN_SHARE:
            return None
        good = None
        if measures and evidence.best is not None:
            good = sum(measure == evidence.best for measure in measures) / len(measures)
        news = f", and {percent(good)} of the answers are good news" if good is not None else ""
        return self.found(
            "warning" if good is not None and good >= GOOD_SHARE else "info",
            f"{percent(share)} of {len(rows)} decisions are not answered yet{news}; the first window ends in "
            f"{duration(first - evidence.now)}, and until then no silence counts.",
            'Believe the figures when the first window is over; a shorter "window_s" tells sooner.',
            {
                "decisions": len(rows),
                "open": unanswered,
                "share": share,
                "good": good,
                "ends_in_s": first - evidence.now,
            },
        )
