"""Figures 4 and 5 of the paper of 2012: the same runs as in the longer paper."""

from __future__ import annotations

from importlib import import_module

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive.movies import ALPHAS, FIG8, OTHERS
from smidgen_papers.coactive.movies_data import DATA
from smidgen_papers.coactive.movies_series import MOVIES, fitted
from smidgen_papers.coactive.series import Lines

STRONG_WEAK = Lines(MOVIES, [*ALPHAS.values()], [fitted(line, fit) for fit in OTHERS for line in ALPHAS.values()])

import_module("smidgen_papers.coactive2012")  # enters the figures
add_study("coactive2012/fig4", "movies", plan=STRONG_WEAK.plan, gather=STRONG_WEAK.gather, data=DATA)
add_study("coactive2012/fig5", "movies", plan=FIG8.plan, gather=FIG8.gather, data=DATA)
