"""A run by columns, and in a few numbers: the names that frames, tables and notebooks show, said once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from smidgen.history.history import History

#: Columns that are fields of a history, by their names in the singular.
_FIELDS = {
    "utility": "utility",
    "better_utility": "better_utility",
    "best_utility": "best_utility",
    "reward": "rewards",
    "propensity": "propensities",
    "loss": "losses",
    "base_loss": "base_losses",
    "best_loss": "best_losses",
}


def columns_of(history: History) -> dict[str, Any]:
    """One entry per round and column; arrays of numbers, or lists of plain values."""
    made: dict[str, Any] = {"round": np.arange(1, len(history) + 1)}
    made |= _spread("action", history.actions, history.labels)
    if history.greedy is not None:
        made |= _spread("greedy", history.greedy, history.labels)
    if len(history.explored) == len(history):
        made["explored"] = history.explored
    if history.feedback is not None:
        made |= _spread("feedback", history.feedback, None)
    if history.truth is not None:
        made |= _spread("truth", history.truth, history.labels)
    if has_mistakes(history):
        made["mistake"] = history.mistakes
    for name, field in _FIELDS.items():
        values = getattr(history, field)
        if values is not None and len(values) == len(history):
            made[name] = values
    if history.rewards is not None and history.best is not None:
        made["best_reward"] = history.best
    if has_regret(history):
        made["regret"], made["average_regret"] = history.regret, history.average_regret
    if history.has_utility and history.loss is not None:
        made["average_loss_regret"] = history.average_loss_regret
    if history.has_utility:
        made["slack"] = history.slacks
    if history.bound is not None:
        made["bound"] = history.bound
    if has_clicks(history):
        made["clicks"] = history.clicks
    return made


def summary_of(history: History) -> dict[str, float]:
    """The run in a few numbers."""
    made: dict[str, float] = {"rounds": len(history)}
    if not len(history):
        return made
    if history.losses is not None:
        made["average_loss"] = float(history.average_loss[-1])
    if history.rewards is not None:
        made["average_reward"] = history.average_reward
    if has_mistakes(history):
        made["error_rate"] = history.error_rate
    if history.loop == "filter" or np.asarray(history.actions[:1]).dtype == np.bool_:
        made["forwarded"] = float(np.mean(history.actions))
        if history.truth is not None:
            made |= {name: getattr(history, name) for name in ("precision", "recall", "f_measure")}
    if has_regret(history):
        made["average_regret"] = float(history.average_regret[-1])
    if history.has_utility and history.loss is not None:
        made["average_loss_regret"] = float(history.average_loss_regret[-1])
    if history.bound is not None:
        made["bound"] = float(history.bound[-1])
    if has_clicks(history):
        made["clicks"] = float(history.clicks.mean())
    if len(history.explored) == len(history):
        made["explored"] = float(history.explored.mean())
    return made


def has_mistakes(history: History) -> bool:
    """Whether it is known which rounds went wrong."""
    return history.truth is not None or (history.loop in ("label", "filter") and history.feedback is not None)


def has_regret(history: History) -> bool:
    """Whether the best of each round is known."""
    by_loss = history.losses is not None and history.best_losses is not None
    return by_loss or history.has_utility or (history.rewards is not None and history.best is not None)


def has_clicks(history: History) -> bool:
    """Whether every feedback was clicks."""
    return bool(history.feedback) and all(hasattr(each, "documents") for each in history.feedback or ())


def _spread(name: str, values: Any, labels: list[Any] | None) -> dict[str, Any]:
    """A column; of values by name (knobs) one column each."""
    if labels is not None:
        return {name: [labels[i] for i in np.asarray(values).tolist()]}
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return {name: values}
    first = next(iter(values), None)
    if isinstance(first, Mapping):
        return {f"{name}.{key}": [plain(each.get(key)) for each in values] for key in first}
    return {name: [plain(each) for each in values]}


def plain(value: Any) -> Any:
    """A value that frames of every kind can hold: a number, a text, or a list of them."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping, Iterator)):
        return [plain(each) for each in value]
    return repr(value)
