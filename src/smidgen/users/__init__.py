"""Simulated users: callables ``user(context, action) -> feedback``."""

from smidgen.users.adversary import Adversary
from smidgen.users.clicks import Cascade, ClickModel, ClickUser, DependentClick, PositionBased, TrustBias
from smidgen.users.expected_alpha import ExpectedAlpha
from smidgen.users.noisy_depth import NoisyDepth
from smidgen.users.ratings import BestRating, BetterRating
from smidgen.users.strict_alpha import BetterOfTwo, StrictAlpha

__all__ = [
    "Adversary",
    "BestRating",
    "BetterOfTwo",
    "BetterRating",
    "Cascade",
    "ClickModel",
    "ClickUser",
    "DependentClick",
    "ExpectedAlpha",
    "NoisyDepth",
    "PositionBased",
    "StrictAlpha",
    "TrustBias",
]
