"""The paper, and what it prints of its experiments."""

from __future__ import annotations

from dataclasses import dataclass

from smidgen_papers.catalogue import Paper, add_paper

add_paper(
    Paper(
        "onseg",
        "Online Newton step algorithm with estimated gradient",
        "B. Liu, J. Li, Y. Song, X. Liang, L. Jian, H. Liu. Online Newton Step Algorithm with Estimated Gradient. "
        "arXiv:1811.09955, 2018",
    )
)


@dataclass(frozen=True)
class Printed:
    """What Section 4 prints of a data set.

    Attributes
    ----------
    title
        The paper's name for it.
    rows, dim
        n and d of Table 2.
    ons, onseg
        β of either algorithm.
    """

    title: str
    rows: int
    dim: int
    ons: float
    onseg: float


#: By the names of `smidgen_papers.data.sets`.
PRINTED = {
    "abalone": Printed("abalone", 4177, 7, 4.8501e-4, 3.2813e-6),
    "kin8nm": Printed("kin", 3000, 8, 3.8063e-4, 1.4715e-5),
    "ionosphere": Printed("ionosphere", 351, 33, 3.7e-3, 9.2022e-5),
    "cancer": Printed("cancer", 683, 9, 2.5e-4, 1.0948e-5),
}
EPOCHS = 150  # T = 150·n

#: β of ONSEG on the stocks, their number, the weeks, and the mean weekly returns in per cent.
STOCKS_BETA, STOCKS, WEEKS = 8.7142e-5, 94, 680
PRINTED_RETURNS = {"ONSEG": 2.88, "OGDEG": 1.02}
