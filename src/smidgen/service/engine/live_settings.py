"""The settings that may change while a model is in use (PATCH), as they were when it was created or amended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from smidgen.checks import SMALLEST_SHARE
from smidgen.learners import Card, Feedback, Loop
from smidgen.learners.pacing import MOST_CURRENCIES
from smidgen.service.errors import Impossible, json_text
from smidgen.service.schemas import LARGEST_REWARD, Holdout, Limits, ModelBody, Of, Reward, Rewards, Safe

#: Seconds that feedback may take by default: usually, and where silence is learnt.
WINDOW_S, SILENCE_S = 86_400.0, 600.0
#: The rule under which the first report on a decision is its reward.
FIRST: Rewards = "first"


class LiveSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings in force.

    Attributes
    ----------
    window_s
        How many seconds feedback may take.
    reward_range
        The worst and the best reward that the app gives; the learner receives 0 to 1.
    default_reward
        What silence is worth, in the app's own range; None if nothing is learnt from it.
    rewards
        How several reports on a decision become one reward: a word, or the weights of parts.
    explore, min_share
        Of learners that draw: the share that is spread evenly, and the least share of each candidate.
    retention_s
        After how many seconds events are folded and erased; None if they stay, or as the service says.
    labels, text
        Labels, and paths of texts, that were added since the model was made.
    share
        Of a challenger: the share of the champion's traffic that it answers.
    holdout
        The holdout, with its salt. One that was ended has the share 0: its salt stays.
    budget
        What decisions may cost, by currency: the mean of a decision, or an amount per day. None: no limit.
    safe
        Of knobs: a setting that is known to be safe, and how much more another may cost.
    """

    window_s: float = WINDOW_S
    reward_range: tuple[float, float] = (0.0, 1.0)
    default_reward: float | None = None
    rewards: Rewards = FIRST
    explore: float | None = None
    min_share: float | None = None
    retention_s: float | None = None
    labels: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    share: float | None = None
    holdout: Holdout | None = None
    budget: Limits | None = None
    safe: Safe | None = None

    @classmethod
    def of(cls, body: ModelBody) -> LiveSettings:
        """Read them from the settings of a model, with defaults for what is left out."""
        usual = WINDOW_S if body.default_reward is None else SILENCE_S
        return cls(
            window_s=body.window_s if body.window_s is not None else usual,
            reward_range=body.reward_range or (0.0, 1.0),
            default_reward=body.default_reward,
            rewards=FIRST if body.rewards is None else body.rewards,
            explore=body.explore,
            min_share=body.min_share,
            retention_s=body.retention_s,
            share=body.challenger_of.share if isinstance(body.challenger_of, Of) else None,
            holdout=body.holdout,
            budget=body.budget,
            safe=body.safe,
        )

    def check(self, card: Card, feedback: str | None) -> None:
        """Refuse terms that do not fit the learner, or one another."""
        self.check_range()
        if self.reward_range != (0.0, 1.0) and Feedback.REWARD not in card.kinds:
            raise Impossible(
                "reward_range needs a model that learns from rewards",
                'add "feedback": "reward", or remove "reward_range"',
            )
        self._check_rewards(feedback)
        self._check_budget(card)
        if self.default_reward is None:
            return
        if feedback != Feedback.REWARD:
            raise Impossible(
                "default_reward needs a model that learns from rewards", 'add "feedback": "reward", or remove it'
            )
        self.reward(self.default_reward, "default_reward")

    def _check_budget(self, card: Card) -> None:
        """Refuse a budget where nothing can be priced, and limits out of range."""
        if self.budget is None:
            return
        if Loop.CHOOSE not in card.loops or Feedback.REWARD not in card.kinds:
            raise Impossible(
                "budget needs a choose model that learns from rewards",
                'create it with "loop": "choose" and "feedback": "reward", or remove "budget"',
            )
        if not 1 <= len(self.budget) <= MOST_CURRENCIES:
            raise Impossible(
                f"budget has {len(self.budget)} currencies", f"send 1 to {MOST_CURRENCIES}, or null for no budget"
            )

    def _check_rewards(self, feedback: str | None) -> None:
        """Refuse a rule for several reports where no rewards come, and weights that are out of range."""
        if self.rewards == FIRST:
            return
        if feedback != Feedback.REWARD:
            raise Impossible("rewards needs a model that learns from rewards", 'add "feedback": "reward", or remove it')
        for part, weight in self.rewards.items() if isinstance(self.rewards, dict) else ():
            if not abs(weight) <= LARGEST_REWARD:
                raise Impossible(
                    f"rewards.{part} is {json_text(weight)}",
                    f"send a weight from -{LARGEST_REWARD:g} to {LARGEST_REWARD:g}",
                )

    def check_range(self) -> None:
        """Refuse a range of rewards that has no width, or one that floats cannot divide by."""
        low, high = self.reward_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise Impossible(f"reward_range is [{low}, {high}]", "send the worst and the best reward, e.g. [0, 1]")
        if not SMALLEST_SHARE <= high - low < math.inf:
            raise Impossible(
                f"reward_range is [{low}, {high}], of width {high - low:g}",
                f"send limits between {SMALLEST_SHARE:g} and 1e308 apart, e.g. [0, 1]",
            )

    def reward(self, value: Reward, name: str = "reward") -> float:
        """A reward of the app on the learner's scale, from 0 to 1."""
        if isinstance(value, dict):
            raise Impossible(
                f"{name} is {json_text(value)}, and the model declares no parts",
                'send a number, or set "rewards" of the model to weights of parts, e.g. {"click": 0.2, "purchase": 1}',
            )
        low, high = self.reward_range
        if not low <= value <= high:
            raise Impossible(f"{name} is {json_text(value)}", f"send a number from {low:g} (worst) to {high:g} (best)")
        return (value - low) / (high - low)


def read_live_settings(found: Mapping[str, Any] | None, body: ModelBody) -> LiveSettings:
    """The terms that a model's record has; one that has none goes by its body."""
    given = (found or {}).get("terms")
    return LiveSettings.of(body) if given is None else msgspec.convert(given, LiveSettings)


def with_exploration(terms: LiveSettings, params: dict[str, Any], accepted: Mapping[str, Any], kind: str) -> None:
    """Put the shares of exploration among a learner's settings: no share at all is the best guess, always."""
    if terms.explore is not None:
        if "floor" not in accepted:
            raise Impossible(f"{kind} has no exploration share to set", 'remove "explore", or choose another learner')
        _settle(params, "floor", terms.explore, "explore")
        if terms.explore == 0.0 and "draw" in accepted:
            _settle(params, "draw", False, "explore")
    if terms.min_share is not None:
        if "min_share" not in accepted:
            raise Impossible(
                f"{kind} has no minimum share per candidate", 'remove "min_share", or choose another learner'
            )
        _settle(params, "min_share", terms.min_share, "min_share")


def _settle(params: dict[str, Any], name: str, value: Any, field: str) -> None:
    if params.setdefault(name, value) != value:
        raise Impossible(
            f"{field} is {json_text(value)} and params.{name} is {json_text(params[name])}", "set it in one place"
        )
