"""The inverse of a matrix that grows by rank one: O(N²) instead of O(N³) (Sherman and Morrison, 1950)."""

from __future__ import annotations

from smidgen._kernel import kernel
from smidgen.types import FloatArray


@kernel
def _downdate(B: FloatArray, u: FloatArray, c: float) -> None:
    """B ← B − c·u·uᵀ; the product u_i·u_j comes first, so that B stays exactly symmetric."""
    n = u.shape[0]
    for i in range(n):
        for j in range(n):
            B[i, j] -= c * (u[i] * u[j])


def grow_inverse(inverse: FloatArray, product: FloatArray, quadratic: float, gain: float) -> None:
    """Turn A⁻¹ into (A + gain·x·xᵀ)⁻¹, in place.

    Parameters
    ----------
    inverse
        A⁻¹, symmetric; changed in place.
    product
        A⁻¹x, with the old A.
    quadratic
        xᵀA⁻¹x, with the old A.
    gain
        The factor in front of x·xᵀ, > 0.
    """
    _downdate(inverse, product, gain / (1.0 + gain * quadratic))
