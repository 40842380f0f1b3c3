"""The drafts demo: replies to messages that come in one's own style after a handful of edits.

A guest like those of others: importing it mounts its pages. It asks nobody who he is, so it is there only as long as
the service has no token.
"""

from smidgen.service.drafting.rounds import DEMO
from smidgen.service.drafting.routes import routes
from smidgen.service.http.mounting import mount

__all__ = ["routes"]

mount("drafting", routes(), title=DEMO.title, path=DEMO.path, until_token=True)
