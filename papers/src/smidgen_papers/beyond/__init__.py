"""Beyond the papers: learners of ours on what real people give, next to those of the papers."""

from importlib import import_module

for _module in (
    "paper",
    "budgets",
    "change",
    "clicks",
    "clicks_claims",
    "clicks_curve",
    "clicks_log",
    "drafts",
    "filters",
    "knobs",
    "labels",
    "one_number",
    "peeking",
    "rewards",
    "rewards_claims",
    "routing",
    "slots",
    "weak_context",
):
    import_module(f"{__name__}.{_module}")
