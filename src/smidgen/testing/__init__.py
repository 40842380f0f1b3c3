"""The laws and contracts, shipped: for those who bring a store, a learner or a structure of their own."""

from smidgen.testing.stores import check_store

__all__ = ["check_store"]
