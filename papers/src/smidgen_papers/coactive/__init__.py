"""Coactive learning (Shivaswamy and Joachims, JAIR 2015): eighteen figures, on web search and on movies."""

from __future__ import annotations

from importlib import import_module

# In this order: the figures first, then the studies as the paper has them, web search left and movies right.
for _name in (
    "paper",
    "clicks",
    "web",
    "web_duel",
    "web_convex",
    "web2012",
    "movies",
    "movies_duel",
    "movies_convex",
    "movies2012",
    "movies_claims",
    "movies_claims_convex",
    "movies2012_claims",
    "lower_bound",
    "web_claims",
    "web_claims_baselines",
    "web_claims_convex",
    "web2012_claims",
    "both_claims",
):
    import_module(f"smidgen_papers.coactive.{_name}")
