"""Most decisions are never answered."""

from __future__ import annotations

from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.messages import Finding

#: So many decisions whose window is over are enough.
SILENCE_AFTER = 20
#: From this share of silence on it is told, from this one on as a warning, and from this one on as a problem.
SILENCE_TOLD, SILENCE_WARNING, SILENCE_PROBLEM = 0.2, 0.5, 0.9


class Silence(Check):
    """The share of decisions that nobody answered within their window; answers that came too late count as answers.

    Models that learn silence (``default_reward``) have none to complain of.
    """

    code = "silence"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say how many, if they are many."""
        rows = evidence.ended
        if len(rows) < SILENCE_AFTER or evidence.learns_silence:
            return None
        silent = sum(row.silent for row in rows)
        late = sum(row.version is None and not row.silent for row in rows)
        share = silent / len(rows)
        if share < SILENCE_TOLD:
            return None
        return self.found(
            "problem" if share >= SILENCE_PROBLEM else "warning" if share >= SILENCE_WARNING else "info",
            f"{percent(share)} of the last {len(rows)} decisions whose window is over were never answered.",
            "Nothing is learnt from them. If silence means that it was not good, make the model with "
            '"feedback": "reward" and "default_reward": 0; if answers come later than the window, give it a longer '
            '"window_s".',
            {"closed": len(rows), "silent": silent, "late": late, "share": share},
        )
