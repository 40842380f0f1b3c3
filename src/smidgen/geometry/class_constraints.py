"""The projection of Confidit's Section 3.1: class scores that form probabilities, reached at least cost."""

from __future__ import annotations

import numpy as np

from smidgen._core.confidit import constraint_shifts
from smidgen.decision import FloatArray


def project_classes(means: FloatArray, widths: FloatArray, alpha: float) -> FloatArray:
    """The shifts c_i with which w_i + c_i·A_i⁻¹x satisfies the constraints, nearest in the norms of the A_i.

    argmin Σ_i (u_i − w_i)ᵀA_i(u_i − w_i) over u_i·x ≥ −alpha, Σ_i u_i·x = 1 + alpha − K·alpha has the solution
    u_i = w_i + c_i·A_i⁻¹x with c_i = max(lam, −(alpha + m_i)/q_i), m_i = w_i·x, q_i = xᵀA_i⁻¹x. Sorting by
    (alpha + m_i)/q_i finds the classes whose bound is not tight, and with them lam: O(K log K).

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.geometry import project_classes
    >>> means, widths = np.array([0.9, 0.3, -2.0]), np.ones(3)
    >>> shifted = means + project_classes(means, widths, alpha=0.0) * widths
    >>> shifted  # a probability vector
    array([0.8, 0.2, 0. ])
    """
    out = np.empty(len(means))
    constraint_shifts(means, widths, alpha, out)
    return out
