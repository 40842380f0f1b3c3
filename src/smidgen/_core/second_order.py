"""Entry points of the core (second_order.cpp); their types stand in the stub; `make core` writes both."""

from smidgen._core import families

globals().update(families["second_order"])
