"""Features out of scale: one speaks a thousand times louder than another."""

from __future__ import annotations

import numpy as np

from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check
from smidgen.service.messages import Finding

#: So many decisions are enough.
SCALE_AFTER = 20
#: How many times larger the largest column may be than the smallest; from the second on it is a problem.
SCALE_WARNING, SCALE_PROBLEM = 30.0, 1000.0


class Scale(Check):
    """Columns of very different size, by the root of their mean square where they are not zero.

    Of records the numbers are brought to comparable size by the model itself; there is nothing to find.
    """

    code = "scale"

    def look(self, evidence: Evidence) -> Finding | None:
        """Name the largest and the smallest column, if they are far apart."""
        if evidence.model.blueprint.features is not None:
            return None
        seen = evidence.table
        sizes = seen.size
        if seen.decisions < SCALE_AFTER or len(sizes) < 2:
            return None
        big, small = int(np.argmax(sizes)), int(np.argmin(sizes))
        ratio = float(sizes[big] / sizes[small])
        if ratio < SCALE_WARNING:
            return None
        largest, smallest = (evidence.column(int(seen.columns[place])) for place in (big, small))
        return self.found(
            "problem" if ratio >= SCALE_PROBLEM else "warning",
            f"Features out of scale: {largest} is about {sizes[big]:.3g}, {smallest} about {sizes[small]:.3g}, "
            f"{ratio:,.0f} times smaller.",
            'Divide each feature by what it usually is; or send records (leave "features" out), whose numbers the '
            "model brings to one size by itself.",
            {
                "ratio": ratio,
                "largest": largest,
                "largest_size": float(sizes[big]),
                "smallest": smallest,
                "smallest_size": float(sizes[small]),
            },
        )
