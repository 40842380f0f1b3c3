"""Pages and calls of plugins: what an imported module may add to the service. The search demo is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from smidgen.checks import suggest
from smidgen.errors import InvalidArgument
from smidgen.serialization import note_registration
from smidgen.service.http.rights import MATRIX, OPERATOR, Rule, guard, rule_of

#: What is the service's own.
OURS = ("/v1", "/ui", "/docs", "/healthz", "/readyz", "/metrics", "/openapi.json")


@dataclass(frozen=True)
class Plugin:
    """Pages and calls under one name.

    Attributes
    ----------
    name
        One word.
    routes
        What can be asked. `smidgen.service.http.rights.grant_of` gives an endpoint the running service and what its
        caller may see.
    title, path
        The link that our pages show; none without a title.
    until_token
        True if the page exists only until the first token is created: it does not authenticate callers.
    """

    name: str
    routes: tuple[Route, ...]
    title: str = ""
    path: str = ""
    until_token: bool = False

    def is_open(self, scope: Scope) -> bool:
        """Check whether it is there now."""
        return not (self.until_token and scope["app"].state.service.tokens.any())


_plugins: dict[str, Plugin] = {}


def mount(
    name: str,
    routes: Sequence[Route],
    *,
    title: str = "",
    path: str = "",
    until_token: bool = False,
    rule: Rule | None = None,
) -> Plugin:
    """Add pages and calls to the services that are made from now on; by the same name they are replaced.

    Once a token exists, a route is open to those whom its rule admits: the row of the matrix of rights, if it has one,
    else ``rule``, else tokens with the scope ``admin`` that are not limited to a model.

    Examples
    --------
    >>> from starlette.responses import PlainTextResponse
    >>> from starlette.routing import Route
    >>> from smidgen.service.http.plugins import mount, unmount
    >>> async def hello(request):
    ...     return PlainTextResponse("hello")
    >>> from smidgen.service.http.rights import PUBLIC
    >>> mount("hello", [Route("/hello", hello)], title="Hello", path="/hello", rule=PUBLIC).title
    'Hello'
    >>> unmount("hello")
    """
    for route in routes:
        if route.path == "/" or any(route.path == own or route.path.startswith(f"{own}/") for own in OURS):
            raise InvalidArgument(f"the path {route.path} belongs to the service", "choose another path, e.g. /NAME/…")
    plugin = Plugin(name, tuple(_guarded(route, rule) for route in routes), title, path, until_token)
    _plugins[name] = plugin
    for route in routes:
        note_registration(route.endpoint.__module__)
    return plugin


def unmount(name: str) -> None:
    """Remove a plugin's pages from services that are created from now on."""
    if name not in _plugins:
        raise InvalidArgument(f'there is no plugin "{name}"', suggest(name, _plugins, "no plugins are loaded"))
    del _plugins[name]


def plugin_routes() -> list[BaseRoute]:
    """The routes of all plugins, which come after the service's own."""
    return [_PluginRoute(plugin, route) for plugin in _plugins.values() for route in plugin.routes]


def links(scope: Scope) -> list[dict[str, str]]:
    """The pages of plugins that are open now, as the dashboard links to them."""
    return [
        {"title": plugin.title, "path": plugin.path}
        for plugin in _plugins.values()
        if plugin.title and plugin.is_open(scope)
    ]


def _guarded(route: Route, rule: Rule | None) -> Route:
    """The route with the judge in front of its endpoint, unless the endpoint has it already."""
    if rule_of(route.endpoint) is not None:
        return route
    methods = sorted((route.methods or set()) - {"HEAD"})
    rows = [MATRIX.get(f"{method} {route.path}") for method in methods]
    found = next((row for row in rows if row is not None), rule if rule is not None else OPERATOR)
    return Route(route.path, guard(route.endpoint, found), methods=methods, name=route.name)


class _PluginRoute(BaseRoute):
    """A plugin's route: matched while the plugin is loaded."""

    def __init__(self, plugin: Plugin, route: Route) -> None:
        self._plugin, self.route = plugin, route

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        found, child = self.route.matches(scope)
        return (found, child) if found is Match.NONE or self._plugin.is_open(scope) else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._plugin.until_token:
            await scope["app"].state.service.refresh()
            if not self._plugin.is_open(scope):
                raise HTTPException(404)
        await self.route.handle(scope, receive, send)
