"""Entry points of the core (budget.cpp); their types stand in the stub; `make core` writes both."""

from smidgen._core import families

globals().update(families["budget"])
