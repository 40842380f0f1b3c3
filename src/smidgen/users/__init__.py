"""Simulated users: callables ``user(context, action) -> feedback``."""

from smidgen.users.adversary import Adversary
from smidgen.users.better_of_two import BetterOfTwo
from smidgen.users.cascade import Cascade, DependentClick
from smidgen.users.click_model import ClickModel
from smidgen.users.click_user import ClickUser
from smidgen.users.expected_alpha import ExpectedAlpha
from smidgen.users.noisy_depth import NoisyDepth
from smidgen.users.position_based import PositionBased
from smidgen.users.ratings import BestRating, BetterRating
from smidgen.users.strict_alpha import StrictAlpha
from smidgen.users.trust_bias import TrustBias

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
