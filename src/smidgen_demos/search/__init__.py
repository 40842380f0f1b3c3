"""The search demo: a search box over Python's own documentation that learns from clicks.

A plugin like any other: importing it mounts its pages. It does not authenticate users, so it is open only as long as
the service has no token.
"""

from smidgen.service.http.plugins import mount
from smidgen_demos.search.routes import routes
from smidgen_demos.search.searches import DEMO

__all__ = ["routes"]

mount("search", routes(), title=DEMO.title, path=DEMO.path, until_token=True)
