"""Margin-based algorithms for information filtering (Cesa-Bianchi, Conconi and Gentile, NIPS 2002)."""

from importlib import import_module

# In the order in which `smidgen papers list` shows them.
for _name in ("paper", "topics", "topic_claims", "readings", "threshold", "forms", "simple", "ridge_model", "p_ridge"):
    import_module(f"{__name__}.{_name}")
