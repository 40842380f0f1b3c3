"""Figures 2 and 3 of the paper of 2012: the same runs as in the longer paper."""

from __future__ import annotations

from importlib import import_module

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive.series import Lines
from smidgen_papers.coactive.web import ALL_DATA, ALPHAS, DATA, FIG8, with_intercept
from smidgen_papers.coactive.web_series import WEB

STRONG_WEAK = Lines(
    WEB, [ALPHAS[1.0], ALPHAS[0.1]], table_only=[with_intercept(ALPHAS[1.0]), with_intercept(ALPHAS[0.1])]
)

import_module("smidgen_papers.coactive2012")  # enters the figures
add_study("coactive2012/fig2", "web", plan=STRONG_WEAK.plan, gather=STRONG_WEAK.gather, data=ALL_DATA)
add_study("coactive2012/fig3", "web", plan=FIG8.plan, gather=FIG8.gather, data=DATA)
