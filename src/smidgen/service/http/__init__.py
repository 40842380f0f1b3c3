"""HTTP: routes, bodies, tokens, the server."""
