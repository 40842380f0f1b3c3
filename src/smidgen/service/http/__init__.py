"""The HTTP service: routes, tokens, server, dashboard."""
