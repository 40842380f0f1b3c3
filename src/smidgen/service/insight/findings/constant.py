"""Features that tell nothing apart."""

from __future__ import annotations

from smidgen.learners import Feedback
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.messages import Finding

#: So many decisions are enough.
CONSTANT_AFTER = 20
#: From this share of columns that never vary on it is a warning.
CONSTANT_WARNING = 0.5
#: So many columns are named.
CONSTANT_NAMED = 5

#: Where this comes back, a constant is an offset.
OFFSET_WANTED = {Feedback.BIT, Feedback.LABEL, Feedback.RELEVANCE, Feedback.REWARD}


class Constant(Check):
    """Columns that never vary: among the candidates of a decision, or from one decision without candidates to the next.

    Where answers are judged one by one (labels, filters, rewards) one column of a fixed value is wanted, as an offset:
    if it is the only one, it is told, and that is all. Of hashed names and of records single columns are not looked at,
    only whether rows differ at all.
    """

    code = "constant"

    def look(self, evidence: Evidence) -> Finding | None:
        """Name the columns, or say that all rows are the same."""
        seen = evidence.table
        if seen.decisions < CONSTANT_AFTER or not seen.compared:
            return None
        if seen.alike == seen.compared:
            return self.found(
                "problem",
                f"In all of the last {seen.compared} decisions the features are the same: nothing can be told apart.",
                "Send what differs from one candidate, or one thing, to the next.",
                {"decisions": seen.compared, "constant": len(seen.columns), "of": len(seen.columns)},
            )
        dim = evidence.model.blueprint.dim
        if evidence.model.blueprint.features is not None or evidence.loop.vectors.hashed or dim is None:
            return None
        varying = {int(c) for c in seen.columns[seen.varies]}
        still = [column for column in range(dim) if column not in varying]
        offsets = [int(c) for c in seen.columns[seen.fixed]]
        if not still:
            return None
        if still == offsets[:1] and evidence.kinds.keys() & OFFSET_WANTED:
            return self.found(
                "info",
                f"One of {dim} features never varies in the last {seen.decisions} decisions: "
                f"{evidence.column(still[0])}.",
                "As an offset it is welcome. If it was meant to tell something, check where the app takes it from.",
                {"constant": 1, "of": dim, "decisions": seen.decisions, "first": evidence.column(still[0])},
            )
        told = ", ".join(evidence.column(column) for column in still[:CONSTANT_NAMED])
        more = f" and {len(still) - CONSTANT_NAMED} more" if len(still) > CONSTANT_NAMED else ""
        many = len(still) >= CONSTANT_WARNING * dim
        return self.found(
            "warning" if many else "info",
            f"{len(still)} of {dim} features never vary in the last {seen.decisions} decisions: {told}{more}.",
            "Leave them out, or check where the app takes them from; what is the same for all candidates of a decision "
            'belongs into "context" of a model that takes records.',
            {"constant": len(still), "of": dim, "decisions": seen.decisions, "first": evidence.column(still[0])},
        )
