"""Addresses of the first version: `smidgen.evaluate.bounds`, `.theorems`, `.history` and `.plots`, with `regret_plot`.

Importing this module makes them importable. What they name lives in `smidgen.theory` and `smidgen.history`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from smidgen import history as _history
from smidgen.history import History
from smidgen.history.plots import COLOURS, draw, figure_of, figure_type
from smidgen.theory import bounds, theorems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["regret_plot"]


def regret_plot(
    histories: Mapping[str, History], path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> Figure:
    """Average regret against the round for one or several runs, each with its bound (dashed) where it has one.

    `Comparison.plot` draws the same of a comparison.

    Parameters
    ----------
    histories
        Runs by the names they should bear in the legend.
    path
        Where to save the picture; the ending says the format (.png, .svg, .pdf).
    title
        A line above the picture.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen.evaluate import regret_plot
    >>> stream = smidgen.data.ranking_stream(queries=50, docs=10, dim=5)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
    >>> runs = {
    ...     type(learner).__name__: smidgen.play(learner, stream, user)
    ...     for learner in (smidgen.PreferencePerceptron(dim=5), smidgen.SecondOrderPreferencePerceptron(dim=5))
    ... }
    >>> figure = regret_plot(runs)
    """
    return figure_of(draw(histories, path, title=title))


def _keep(address: str, module: ModuleType) -> None:
    """Let a module be imported by an address in this package too."""
    package, _, _ = __name__.rpartition(".")
    sys.modules[f"{package}.{address}"] = module
    setattr(sys.modules[package], address, module)


_plots = ModuleType("smidgen.evaluate.plots", "Pictures of runs.")
vars(_plots).update(COLOURS=COLOURS, figure_type=figure_type, regret_plot=regret_plot)
_keep("bounds", bounds)
_keep("theorems", theorems)
_keep("history", _history)
_keep("plots", _plots)
