"""The terms of a model: what may change while it lives, as it was settled when it was made or amended."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from smidgen.learners import Card, Feedback, learners
from smidgen.service.messages import ModelBody, Of
from smidgen.service.refusals import Impossible

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint

#: How many seconds feedback may take if nobody says: usually, and where silence is learnt.
WINDOW_S, SILENCE_S = 86_400.0, 600.0


class Terms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is in force.

    Attributes
    ----------
    window_s
        How many seconds feedback may take.
    reward_range
        The worst and the best reward that the app gives; the learner hears 0 to 1.
    default_reward
        What silence is worth, in the app's own range; None if nothing is learnt from it.
    explore, min_share
        Of learners that draw: the share that is spread evenly, and the least share of each candidate.
    retention_s
        After how many seconds events are folded and erased; None if they stay, or as the service says.
    labels, text
        Labels, and paths of texts, that were added since the model was made.
    share
        Of a challenger: the share of the champion's traffic that it answers.
    """

    window_s: float = WINDOW_S
    reward_range: tuple[float, float] = (0.0, 1.0)
    default_reward: float | None = None
    explore: float | None = None
    min_share: float | None = None
    retention_s: float | None = None
    labels: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    share: float | None = None

    @classmethod
    def of(cls, body: ModelBody) -> Terms:
        """What a model's settings say, with what they leave out settled."""
        usual = WINDOW_S if body.default_reward is None else SILENCE_S
        return cls(
            window_s=body.window_s if body.window_s is not None else usual,
            reward_range=body.reward_range or (0.0, 1.0),
            default_reward=body.default_reward,
            explore=body.explore,
            min_share=body.min_share,
            retention_s=body.retention_s,
            share=body.challenger_of.share if isinstance(body.challenger_of, Of) else None,
        )

    def check(self, card: Card, feedback: str | None) -> None:
        """Refuse terms that do not fit the learner, or one another."""
        low, high = self.reward_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise Impossible(f"reward_range is [{low}, {high}]", "give the worst and the best reward, e.g. [0, 1]")
        if self.reward_range != (0.0, 1.0) and Feedback.REWARD not in card.kinds:
            raise Impossible("reward_range is for models that hear rewards", 'make it with "feedback": "reward"')
        if self.default_reward is None:
            return
        if feedback != Feedback.REWARD:
            raise Impossible("default_reward is for models that hear rewards", 'make it with "feedback": "reward"')
        self.reward(self.default_reward, "default_reward")

    def reward(self, value: float, name: str = "reward") -> float:
        """A reward of the app's as the learner hears it, from 0 to 1."""
        low, high = self.reward_range
        if not low <= value <= high:
            raise Impossible(f"{name} is {value!r}", f"give a number from {low:g} (worst) to {high:g} (best)")
        return (value - low) / (high - low)


def read(found: Mapping[str, Any] | None, body: ModelBody) -> Terms:
    """The terms that a model's record has; one that has none goes by its body."""
    given = (found or {}).get("terms")
    return Terms.of(body) if given is None else msgspec.convert(given, Terms)


def exploring(terms: Terms, params: dict[str, Any], accepted: Mapping[str, Any], kind: str) -> None:
    """Put the shares of exploration among a learner's settings: no share at all is the best guess, always."""
    if terms.explore is not None:
        if "floor" not in accepted:
            raise Impossible(f"{kind} has no share of exploration to set", "leave explore out")
        _settle(params, "floor", terms.explore, "explore")
        if terms.explore == 0.0 and "draw" in accepted:
            _settle(params, "draw", False, "explore")
    if terms.min_share is not None:
        if "min_share" not in accepted:
            raise Impossible(f"{kind} gives candidates no least share", "leave min_share out")
        _settle(params, "min_share", terms.min_share, "min_share")


def _settle(params: dict[str, Any], name: str, value: Any, said: str) -> None:
    if params.setdefault(name, value) != value:
        raise Impossible(f"{said} says {value!r} and {name} in params {params[name]!r}", "give it in one place")


def told_of(blueprint: Blueprint, old: Terms, terms: Terms) -> dict[str, Any]:
    """What learners are told from some terms to others: settings that change, and which labels are new."""
    settings: dict[str, Any] = {}
    accepted = inspect.signature(learners[blueprint.kind]).parameters
    if (terms.explore, terms.min_share) != (old.explore, old.min_share):
        exploring(terms, settings, accepted, blueprint.kind)
        if terms.explore and "draw" in accepted:
            settings["draw"] = True
    if terms.text != old.text and blueprint.features is not None:
        settings["text"] = [*blueprint.features.text, *terms.text]
    first = len(blueprint.body.labels or ()) + len(old.labels)
    added = len(terms.labels) - len(old.labels)
    return {"settings": settings, "labels": [first, first + added] if added else None}
