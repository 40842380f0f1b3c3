"""Models that stand beside another, and how the two compare."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from smidgen.service.messages.fields import Name, Share
from smidgen.service.messages.message import Message


class Of(Message):
    """The model that another stands beside, and the share of its traffic that this one answers, if it is shown."""

    model: Name
    share: Share = 0.1


class ShadowOf(Struct, kw_only=True):
    """The champion of a shadow."""

    model: str


class ChallengerOf(Struct, kw_only=True):
    """The champion of a challenger, and the share of its traffic that this one answers."""

    model: str
    share: float


class PromotedReply(Struct, kw_only=True):
    """The champion that decides with other settings now, and the version that this made."""

    champion: str
    model_version: int


class Agreement(Struct, kw_only=True):
    """Over the latest decisions where something else may have been shown: how often that was what the model says.

    Of a shadow or a challenger: what another model showed. Of others: what the app had chosen itself.
    """

    value: float
    of: int


class Difference(Struct, kw_only=True):
    """A difference of means, and the interval in which the true one lies with 95 % certainty, whenever one looks."""

    value: float
    low: float
    high: float
    effective: float
    n: int
    enough: bool


class Arm(Struct, kw_only=True):
    """What one model's answers came to: the mean of the measure over its closed decisions, and how many are open."""

    value: float | None
    of: int
    open: int


class CompareReply(Struct, kw_only=True, omit_defaults=True):
    """A champion and the one beside it: whether that one is better, how sure that is, and how long it will take.

    ``difference`` is the other's mean less the champion's. ``decisions_to_go`` is null where nobody can say.
    """

    champion: str
    challenger: str | None = None
    shadow: str | None = None
    measure: str
    difference: Difference
    verdict: Literal["better", "worse", "not yet"]
    decisions_to_go: int | None
    arms: dict[str, Arm]
    agreement: Agreement | None
    in_words: str
