"""Update rules: what to do with a direction of improvement."""

from smidgen.optim.additive import Additive
from smidgen.optim.batched import Batched
from smidgen.optim.exponentiated import Exponentiated
from smidgen.optim.gradient import Gradient
from smidgen.optim.newton import Newton
from smidgen.optim.rule import Rule
from smidgen.optim.soft import Soft

__all__ = ["Additive", "Batched", "Exponentiated", "Gradient", "Newton", "Rule", "Soft"]
