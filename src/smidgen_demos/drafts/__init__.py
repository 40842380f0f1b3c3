"""The drafts demo: replies to messages that come in one's own style after a handful of edits.

A plugin like any other: importing it mounts its pages. It does not authenticate users, so it is open only as long as
the service has no token.
"""

from smidgen.service.http.plugins import mount
from smidgen_demos.drafts.rounds import DEMO
from smidgen_demos.drafts.routes import routes

__all__ = ["routes"]

mount("drafting", routes(), title=DEMO.title, path=DEMO.path, until_token=True)
