"""What the paper leaves open of its data and its feasible set, and the answers that we try."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from smidgen.data import Table, table_like
from smidgen.evaluate.losses import LeastSquares, Logistic
from smidgen.geometry import Ball, Box, Space
from smidgen_papers.data import table
from smidgen_papers.onseg.paper import PRINTED
from smidgen_papers.part import Place, Run
from smidgen_papers.store import Arrays, prepared


@dataclass(frozen=True)
class Reading:
    """How a table becomes a stream of losses on a set.

    Attributes
    ----------
    scale, target
        How features and targets are scaled, see `Table.scaled`. The labels of a classification stay ±1.
    space
        "ball" or "box".
    radius
        Of the ball; half of the box's edge.
    order
        "shuffled" again in every epoch, or as in the "file".
    """

    scale: str | None = "range"
    target: str | None = "range"
    space: str = "ball"
    radius: float = 5.0
    order: str = "shuffled"

    def settings(self) -> dict[str, Any]:
        """The reading as settings of a part."""
        return asdict(self)


MAIN = "[-1, 1], ball 5"
#: The features of the LIBSVM page are scaled to [−1, 1]; a radius of 5 fits the β of ONS on the regression sets.
READINGS = {
    MAIN: Reading(),
    "[-1, 1], ball 1": Reading(radius=1.0),
    "[-1, 1], box 1": Reading(space="box", radius=1.0),
    "standardised, ball 1": Reading(scale="standard", target="standard", radius=1.0),
    "unit rows, ball 5": Reading(scale="unit"),
    "as in the file, ball 1": Reading(scale=None, target=None, radius=1.0),
    "[-1, 1], ball 5, file order": Reading(order="file"),
}


def source_of(run: Run, data: str) -> str:
    """Where the rows come from: the "file", or "generated" ones of the same shape."""
    return "file" if run.has(data) else "generated"


@prepared()
def rows(place: Place, *, data: str, source: str, scale: str | None, target: str | None) -> Arrays:
    """Features and targets with the paper's number of rows and columns."""
    whole = table(data, place.data) if source == "file" else table_like(data)
    if len(whole.columns) > PRINTED[data].dim:  # abalone: 7 of 8, so the sex is left out
        whole = whole.without(whole.columns[0])
    if len(whole) > PRINTED[data].rows:  # kin: 3,000 of 8,192
        whole = whole.sample(PRINTED[data].rows, seed=0)
    scaled = whole.scaled(scale, target if whole.task == "regression" else None)
    return {"Z": np.ascontiguousarray(scaled.X), "y": scaled.y, "regression": np.array(whole.task == "regression")}


def losses(place: Place, *, data: str, source: str, scale: str | None, target: str | None) -> LeastSquares | Logistic:
    """The losses of a table."""
    made = rows(place, data=data, source=source, scale=scale, target=target)
    kind = LeastSquares if made["regression"] else Logistic
    return kind(Z=made["Z"], y=made["y"])


def space_of(dim: int, space: str, radius: float) -> Space:
    """The feasible set of a reading."""
    return (
        Ball(dim=dim, radius=radius) if space == "ball" else Box(low=np.full(dim, -radius), high=np.full(dim, radius))
    )


__all__ = ["MAIN", "READINGS", "Reading", "Table", "losses", "rows", "source_of", "space_of"]
