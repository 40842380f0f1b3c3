"""The search demo: a search box over Python's own documentation that learns from clicks."""

from smidgen.service.search.routes import routes

__all__ = ["routes"]
