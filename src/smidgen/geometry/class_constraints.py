"""The projection of Confidit's Section 3.1: class scores that form probabilities, reached at least cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.decision import FloatArray


@kernel
def constraint_shifts(means: NDArray[Any], widths: NDArray[Any], K: int, alpha: float, out: FloatArray) -> None:
    """The shifts c_i with which w_i + c_i·A_i⁻¹x satisfies the constraints, nearest in the norms of the A_i.

    argmin Σ_i (u_i − w_i)ᵀA_i(u_i − w_i) over u_i·x ≥ −alpha, Σ_i u_i·x = 1 + alpha − K·alpha has the solution
    u_i = w_i + c_i·A_i⁻¹x with c_i = max(lam, −(alpha + m_i)/q_i), m_i = w_i·x, q_i = xᵀA_i⁻¹x. Sorting by
    (alpha + m_i)/q_i finds the classes whose bound is not tight, and with them lam: O(K log K).
    """
    keys = np.empty(K)
    for i in range(K):
        if not widths[i] > 0.0:  # x = 0: no shift changes any score
            out[:] = 0.0
            return
        keys[i] = (alpha + means[i]) / widths[i]
    order = np.argsort(-keys)
    total_mean, total_width, lam = 0.0, 0.0, 0.0
    for r in range(K):
        i = order[r]
        total_mean += means[i]
        total_width += widths[i]
        candidate = (1.0 + alpha - alpha * (r + 1) - total_mean) / total_width
        if r > 0 and candidate <= -keys[i]:
            break
        lam = candidate
    out[:] = 0.0
    for i in range(K):
        out[i] = max(lam, -keys[i])


def project_classes(means: FloatArray, widths: FloatArray, alpha: float) -> FloatArray:
    """The shifts c_i of every class; see the kernel above for the problem that they solve.

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
    constraint_shifts(means, widths, len(means), alpha, out)
    return out
