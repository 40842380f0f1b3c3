"""Simulated users: callables ``user(context, action) -> feedback``."""

from smidgen.users.adversary import Adversary
from smidgen.users.better_of_two import BetterOfTwo
from smidgen.users.click_model import ClickModel
from smidgen.users.expected_alpha import ExpectedAlpha
from smidgen.users.noisy_depth import NoisyDepth
from smidgen.users.ratings import BestRating, BetterRating
from smidgen.users.strict_alpha import StrictAlpha

__all__ = [
    "Adversary",
    "BestRating",
    "BetterOfTwo",
    "BetterRating",
    "ClickModel",
    "ExpectedAlpha",
    "NoisyDepth",
    "StrictAlpha",
]
