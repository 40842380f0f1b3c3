"""The @call decorator, and the list of all calls."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from smidgen.checks import nearest

# One call of the service: how it is asked, what goes in and out, and who answers. Routes and OpenAPI read it.

Endpoint = Callable[[Request], Awaitable[Response]]
#: The path of a model, and that of a decision.
MODEL = "/v1/models/{name}"
DECISION = "/v1/decisions/{id}"


@dataclass(frozen=True, kw_only=True)
class EndpointSpec:
    """A call.

    Attributes
    ----------
    method, path
        How it is asked.
    answer
        Who answers.
    name
        Its operationId: one word or a few, in camel case.
    body
        The struct that the body is read into, or a function that gives it (the loops' structs change with plugins).
    reply
        The struct that is answered, or a function that gives a schema; None if it is no JSON.
    status
        The statuses of success.
    query
        Names of the query, each with its schema, whose description says what it does.
    media
        What the answer is, where it is no JSON.
    takes
        What the body is, where it is no JSON: its media types.
    example
        A body that works, for the OpenAPI document and the page of the API.
    busy
        Whether it is among the most frequent.
    errors
        Wraps the answer of another system's call, so that its errors have that system's form.
    """

    method: str
    path: str
    answer: Endpoint
    name: str
    body: Any = None
    reply: Any = None
    status: tuple[int, ...] = (200,)
    query: tuple[tuple[str, dict[str, Any]], ...] = ()
    media: str = "application/json"
    takes: tuple[str, ...] = ()
    example: Any = None
    busy: bool = False
    errors: Callable[[Endpoint], Endpoint] | None = None

    @property
    def summary(self) -> str:
        """First line of the handler's docstring."""
        first = (self.answer.__doc__ or "").partition("\n")[0]
        return first[:1].lower() + first[1:].removesuffix(".")

    @property
    def description(self) -> str:
        """The rest of the docstring of who answers, on one line; empty if there is none."""
        return " ".join((self.answer.__doc__ or "").partition("\n")[2].split())

    @property
    def key(self) -> str:
        """Its row in the matrix of rights (`smidgen.service.http.rights.MATRIX`)."""
        return f"{self.method} {self.path}"


def endpoint(method: str, path: str, name: str, **more: Any) -> Callable[[Endpoint], EndpointSpec]:
    """Make a call of the function that answers it; ``more`` are the other attributes of `Call`."""
    return lambda answer: EndpointSpec(method=method, path=path, name=name, answer=answer, **more)


#: Queries that several calls have.
KEY = ("key", {"type": "string", "description": "Keyed models: the key whose learner is meant."})
BY = ("by", {"type": "string", "description": "The path of a field of the records, e.g. context.device."})
HELD = ("holdout", {"type": "boolean", "description": "true: count the decisions of the holdout too."})
CONTEXT = (
    "context",
    {"type": "string", "description": "Tune models: a record as JSON; `best` is that of this context."},
)
EXPAND = ("expand", {"type": "string", "description": "Vector fields to show by column, with commas between."})
LIMIT = ("limit", {"type": "integer", "minimum": 0, "description": "The most weights to return."})
AFTER = ("after", {"type": "integer", "minimum": 0, "description": "Return the events after this number (`seq`)."})
SHARD = ("shard", {"type": "integer", "minimum": 0, "description": "Models with several shards: the shard, from 0."})


#: Endpoints have at most this many segments.
LONGEST_PATH = 8

#: What refusals below a path look like, for calls of other systems: from status and body to status and body.
ERROR_SHAPES: dict[str, Callable[[int, bytes], tuple[int, bytes]]] = {}

#: The modules that define calls, loaded by name when the routes are put together.
MODULES = (
    "smidgen.service.http.routes_decisions",
    "smidgen.service.http.routes_models",
    "smidgen.service.http.routes_insight",
    "smidgen.service.http.routes_admin",
    "smidgen.service.integrations.ubi",
)
#: Those that define the calls of other systems, which their clients make.
INTEGRATIONS = ("smidgen.service.integrations.personalizer", "smidgen.service.integrations.ofrep")


def nearest_path(method: str, path: str) -> str | None:
    """Return the path of an endpoint with this method that is spelled most like ``path``, or None.

    Names in the path are kept: ``/v1/models/shop/decision`` gives ``/v1/models/shop/decisions``.
    """
    parts = path.split("/")
    if len(parts) > LONGEST_PATH:
        return None
    templates = [each.path.split("/") for each in all_endpoints() if each.method == method]
    filled = [[*map(_filled, each, parts)] for each in templates if len(each) == len(parts)]
    return nearest(path, ("/".join(each) for each in filled if each != parts and all(map(_is_near, parts, each))))


def _is_near(given: str, known: str) -> bool:
    """Check whether two segments of paths are spelled alike; of ``shop:cpy`` and ``shop:copy`` the verbs."""
    return given == known or nearest(given.rpartition(":")[2], [known.rpartition(":")[2]]) is not None


def _filled(template: str, part: str) -> str:
    """Fill a segment of a template from a segment of a path: ``{name}:copy`` and ``shop:cpy`` give ``shop:copy``."""
    _, brace, verb = template.partition("}")
    return template if not brace else (part.partition(":")[0] if verb else part) + verb


def all_endpoints() -> list[EndpointSpec]:
    """The service's own calls, the busiest first: routes are looked up in order."""
    return sorted(_defined(MODULES), key=lambda call: not call.busy)


def integration_endpoints() -> list[EndpointSpec]:
    """The calls of other systems; those whose path begins with a version come last."""
    return sorted(_defined(INTEGRATIONS), key=lambda call: "{version}" in call.path)


def _defined(modules: Sequence[str]) -> list[EndpointSpec]:
    members = [each for name in modules for each in vars(importlib.import_module(name)).values()]
    groups = [each if isinstance(each, list) else [each] for each in members]
    return [each for group in groups for each in group if isinstance(each, EndpointSpec)]
