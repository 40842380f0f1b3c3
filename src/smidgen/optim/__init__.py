"""Update rules: what to do with a direction of improvement."""

from smidgen.optim.exponentiated import Exponentiated
from smidgen.optim.newton import Newton
from smidgen.optim.rules import Additive, Batched, Gradient, Rule, Soft

__all__ = ["Additive", "Batched", "Exponentiated", "Gradient", "Newton", "Rule", "Soft"]
