"""Entry points of the core (betting.cpp); their types stand in the stub; `make core` writes both."""

from smidgen._core import families

globals().update(families["betting"])
