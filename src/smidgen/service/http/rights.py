"""Access control: one matrix of routes, scopes and models, and the function that applies it.

Every route has a row in `MATRIX`, or, if a plugin mounts it, the rule that the plugin gives. The row says which scopes
suffice and where the request names models: in the path, in the body, or by the models that stand next to the one in the
path. `guard` puts the judge in front of an endpoint, which finds the result as `grant_of(request)`; the fast path asks
the same rows by `judge`. No endpoint checks scopes or names itself.

A token that is limited to one model gets the same bytes, 403, for every other name, whether a model has that name or
not. Decisions of other models look unknown to it (404).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.engine.champions import named_models
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import BadRequest, NotAllowed, OutOfScope, Taken, json_text
from smidgen.service.http.auth import Rights
from smidgen.service.http.endpoints import DECISION, MODEL, Endpoint
from smidgen.service.http.middleware import json_body
from smidgen.service.schemas import CopyBody, Name, RenameBody

if TYPE_CHECKING:
    from smidgen.service.http.resources import Service
    from smidgen.service.http.tracing import RequestTrace

T = TypeVar("T")


class ModelAccess(StrEnum):
    """Models that a call is about."""

    NONE = "none"  #: nothing in the answer is about a model
    PATH = "path"  #: the one in the path
    OWN = "own"  #: only those that the token may see: lists, figures, decisions by their ids
    PERSONALIZER = "personalizer"  #: the token's model, else the one that `--personalizer` names
    SERVICE = "service"  #: the service as a whole: refused to tokens that are limited to a model


def _no_models(_: Any) -> tuple[str, ...]:
    return ()


class Rule(NamedTuple):
    """A row of the matrix.

    Attributes
    ----------
    scopes
        One of them suffices, and ``admin`` always does. None at all: open without a token.
    models
        Which models the call is about.
    body
        The names of models in the body.
    partners
        The names of models next to the one in the path that the call shows or changes too.
    signed
        Whether events that the call causes keep the token's id.
    quick
        Whether the caller is judged by the tokens in memory first: calls that apps make all the time.
    key
        Another header that may carry the token.
    tokens
        Whether the call itself creates or revokes tokens: that must not change how it is judged.
    """

    scopes: tuple[str, ...] = ()
    models: ModelAccess = ModelAccess.OWN
    body: Callable[[Any], Iterable[str]] = _no_models
    partners: Callable[[ServedModel], Iterable[str]] = _no_models
    signed: bool = False
    quick: bool = False
    key: str | None = None
    tokens: bool = False

    @property
    def is_public(self) -> bool:
        """True if no token is needed."""
        return not self.scopes


def _models_listed(names: Sequence[str]) -> Sequence[str]:
    return names


def _target(body: CopyBody | RenameBody) -> list[str]:
    return [body.to]


def _champion(model: ServedModel) -> list[str]:
    return [model.leader.name] if model.leader is not None else []


def _compared_model(model: ServedModel) -> list[str]:
    return [*_champion(model), *(each.name for each in model.arms)]


DECIDE, FEEDBACK, READ, ADMIN = ("decide",), ("feedback",), ("read",), ("admin",)
#: Calls that tell how a model is set up and how it does, but nothing that users sent and nothing that was learned.
ANY = (*DECIDE, *FEEDBACK, *READ)
PUBLIC = Rule((), ModelAccess.NONE)
#: For routes of plugins that give no rule of their own.
OPERATOR = Rule(ADMIN, ModelAccess.SERVICE, signed=True)
_OPERATOR = Rule(ADMIN, ModelAccess.PATH, signed=True)
_LOOK, _READ = Rule(ANY, ModelAccess.PATH), Rule(READ, ModelAccess.PATH)
_REACT = Rule(FEEDBACK, ModelAccess.OWN, quick=True)
_HOSTED = Rule(DECIDE, ModelAccess.PERSONALIZER, quick=True, key="ocp-apim-subscription-key")
#: For the model that the first rank call of Azure AI Personalizer's clients creates.
HOSTED_CREATION = _HOSTED._replace(scopes=ADMIN, signed=True, quick=False)
_FLAG = Rule(DECIDE, ModelAccess.OWN, key="x-api-key")
_UI = "/ui/models/{name}"

#: The matrix: method and path of every route of the service and of the integrations that come with it.
MATRIX: dict[str, Rule] = {
    # models
    "GET /v1/models": Rule(ANY, ModelAccess.OWN),
    f"GET {MODEL}": _LOOK,
    f"PUT {MODEL}": _OPERATOR._replace(body=named_models),
    f"PATCH {MODEL}": _OPERATOR._replace(partners=_champion),
    f"DELETE {MODEL}": _OPERATOR,
    f"POST {MODEL}:copy": _OPERATOR._replace(body=_target),
    f"POST {MODEL}:import": _OPERATOR._replace(body=_models_listed),
    f"POST {MODEL}:rename": _OPERATOR._replace(body=_target),
    f"POST {MODEL}:revive": _OPERATOR._replace(partners=_champion),
    f"POST {MODEL}:promote": _OPERATOR._replace(partners=_champion),
    f"POST {MODEL}:retain": _OPERATOR,
    f"POST {MODEL}:rollback": _OPERATOR,
    f"DELETE {MODEL}/keys/{{key:path}}": _OPERATOR,
    f"GET {MODEL}/health": _LOOK,
    f"GET {MODEL}/weights": _READ,
    f"GET {MODEL}/taste": _READ,
    f"GET {MODEL}/candidates": _READ,
    f"GET {MODEL}/segments": _READ,
    f"GET {MODEL}/worth": _READ,
    f"GET {MODEL}/compare": _READ._replace(partners=_compared_model),
    f"GET {MODEL}/log": _READ,
    # decisions and feedback
    f"POST {MODEL}/decisions": Rule(DECIDE, ModelAccess.PATH, quick=True),
    f"POST {MODEL}/decisions:batch": Rule(DECIDE, ModelAccess.PATH, quick=True),
    f"POST {MODEL}/examples": Rule(FEEDBACK, ModelAccess.PATH, signed=True),
    f"GET {DECISION}": Rule(ANY, ModelAccess.OWN),
    f"POST {DECISION}/feedback": _REACT,
    f"POST {DECISION}/shown": _REACT,
    f"POST {DECISION}:retract": Rule(FEEDBACK, ModelAccess.OWN, signed=True),
    "POST /v1/feedback:batch": _REACT,
    "POST /v1/ubi": Rule(FEEDBACK, ModelAccess.OWN),
    # tokens
    "GET /v1/tokens": Rule(ADMIN, ModelAccess.SERVICE),
    "POST /v1/tokens": Rule(ADMIN, ModelAccess.SERVICE, tokens=True),
    "DELETE /v1/tokens/{id}": Rule(ADMIN, ModelAccess.SERVICE, tokens=True),
    # probes, figures, pages
    "GET /healthz": PUBLIC,
    "GET /readyz": PUBLIC,
    "GET /metrics": Rule(ANY, ModelAccess.OWN),
    "GET /openapi.json": PUBLIC,
    "GET /": PUBLIC,
    "GET /docs": PUBLIC,
    "GET /ui/files/{file}": PUBLIC,
    "GET /ui/loops.json": PUBLIC,
    "GET /ui/guests.json": PUBLIC,
    "GET /ui/learners.json": Rule(ANY, ModelAccess.NONE),
    "GET /ui/models.json": Rule(ANY, ModelAccess.OWN),
    f"GET {_UI}/curve.json": _LOOK,
    f"GET {_UI}/weights.json": _READ,
    f"GET {_UI}/names.json": _READ,
    f"GET {_UI}/keys.json": _READ,
    f"GET {_UI}/recent.json": _READ,
    "GET /ui/decisions/{id}/story.json": Rule(ANY, ModelAccess.OWN),
    "GET /ui/decisions/{id}/answers.json": Rule(ANY, ModelAccess.OWN),
    "POST /ui/sample": OPERATOR,
    # integrations
    **{
        f"{call} /personalizer{root}{path}": rule
        for root in ("/v1.0", "", "/{version}")
        for call, path, rule in (
            ("POST", "/rank", _HOSTED),
            ("POST", "/events/{event:path}/reward", _HOSTED._replace(scopes=FEEDBACK)),
            ("POST", "/events/{event:path}/activate", _HOSTED._replace(scopes=FEEDBACK)),
            ("GET", "/status", _HOSTED._replace(scopes=ANY)),
            ("GET", "/configurations/service", _HOSTED._replace(scopes=ANY)),
            ("PUT", "/configurations/service", HOSTED_CREATION),
        )
    },
    **{
        f"POST /personalizer{root}/multislot{path}": _HOSTED._replace(scopes=scopes)
        for root in ("", "/{version}")
        for path, scopes in (
            ("/rank", DECIDE),
            ("/events/{event:path}/reward", FEEDBACK),
            ("/events/{event:path}/activate", FEEDBACK),
        )
    },
    "POST /ofrep/v1/evaluate/flags/{name}": _FLAG._replace(models=ModelAccess.PATH),
    "POST /ofrep/v1/evaluate/flags": _FLAG,
}


def judge(rule: Rule, rights: Rights, *names: str) -> None:
    """Refuse what the rights do not cover; the answer does not depend on which models there are."""
    if not rule.scopes:
        return
    if "admin" not in rights.scopes and rights.scopes.isdisjoint(rule.scopes):
        wanted = " or ".join((*rule.scopes, *(() if "admin" in rule.scopes else ADMIN)))
        raise OutOfScope("the token's scopes do not allow this call", f"use a token with the scope {wanted}")
    if rights.model is not None and (rule.models is ModelAccess.SERVICE or not {rights.model}.issuperset(names)):
        raise OutOfScope("the token is limited to another model", "use a token for this model, or for all models")


class Grant:
    """A request that was judged: what its endpoint may show and change.

    Parameters
    ----------
    here
        The running service.
    rule
        The row of the route.
    rights, header
        What the caller may do, and the header that says so.
    name
        The model that the call is about, if the path or the token names one.
    request
        The caller's id of the request, which decisions keep.
    trace
        Notes when commands run, if requests are traced.
    """

    __slots__ = ("_header", "_name", "_request", "_trace", "here", "rights", "rule")

    def __init__(
        self,
        here: Service,
        rule: Rule,
        rights: Rights,
        header: str | None,
        name: str | None = None,
        request: str | None = None,
        trace: RequestTrace | None = None,
    ) -> None:
        if name is None:
            judge(rule, rights)
        else:
            judge(rule, rights, name)
        self.here = here
        self.rights = rights
        self.rule = rule
        self._header = header
        self._name = name
        self._request = request
        self._trace = trace

    @property
    def only(self) -> str | None:
        """The only model that the caller may see, or None."""
        return self.rights.model

    @property
    def name(self) -> str:
        """The name of the model, if it can be one."""
        try:
            return msgspec.convert(self._name, Name)
        except msgspec.ValidationError as error:
            raise BadRequest(
                f"the model's name is {json_text(self._name)}",
                "use letters, digits, dots, dashes and underscores, a letter or digit first, at most 100",
            ) from error

    def visible(self, models: Iterable[ServedModel]) -> list[ServedModel]:
        """Those of the models that the caller may see."""
        return [model for model in models if self.only in (None, model.name)]

    async def body(self, request: Request, type: type[T]) -> T:
        """The body as a struct; the names of models in it are judged."""
        found = await json_body(request, type)
        self.judge_names(found)
        return found

    def judge_names(self, body: Any) -> None:
        """Refuse a body that names models which the caller may not reach."""
        judge(self.rule, self.rights, *self.rule.body(body))

    def judge_partners(self) -> None:
        """Refuse if the call shows or changes models next to the one in the path that the caller may not reach."""
        if (model := self.here.engine.models.get(self._name or "")) is not None:
            judge(self.rule, self.rights, *self.rule.partners(model))

    def command(self, act: Callable[[str | None], T]) -> Callable[[], T]:
        """A command for the writer; ``act`` is given the only model that the caller may see.

        Where other workers write too, the caller is checked again by the tokens that are valid when a shard is locked:
        a command that is no longer allowed is undone, and one during which a token changed is run again.
        """
        rule = self.rule
        if self._request is not None:
            act = functools.partial(self.here.engine.run_requested, self._request, act)
        if self.here.engine.store.shared or rule.signed or rule.partners is not _no_models:
            command = functools.partial(self._run_judged, act)
        else:
            command = functools.partial(act, self.rights.model)
        return command if self._trace is None else self._trace.command(command)

    def _run_judged(self, act: Callable[[str | None], T]) -> T:
        """Run a command that must be judged within the batch, or whose events are signed."""
        engine = self.here.engine
        self.judge_partners()
        with engine.signed_by(self.rights.id if self.rule.signed else None):
            answer = self._again(act) if engine.store.shared else act(self.only)
        self.judge_partners()  # what other workers made of them is known by now
        return answer

    def _again(self, act: Callable[[str | None], T]) -> T:
        tokens, engine = self.here.tokens, self.here.engine
        if self.rule.tokens:
            engine.refresh()
            found = tokens.rights(self._header)
            judge(self.rule, found)
            return act(found.model)
        number, found = engine.catalogue, tokens.rights(self._header)
        judge(self.rule, found, *(() if self._name is None else (self._name,)))
        try:
            return act(found.model)
        finally:
            engine.refresh()  # no query of its own: the number came along
            if engine.catalogue != number and tokens.rights(self._header) != found:
                raise Taken("a token was created at the same time", "retry in the next batch")

    async def run(self, act: Callable[[], T]) -> T:
        """Run a command of the engine; returns when what it did is on the disk."""
        return await self.here.writer.run(self.command(lambda _: act()))

    async def run_for(self, act: Callable[[str | None], T], about: Sequence[str] = ()) -> T:
        """Run a command that is given the only model that the caller may see (`run`)."""
        return await self.here.writer.run(self.command(act), about)


async def admit(request: Request, rule: Rule) -> Grant:
    """Judge a request by a rule, or refuse it.

    Where there are other workers, what they made of models and tokens is looked at first; where it must be quick, only
    if a token is not known.
    """
    here: Service = request.app.state.service
    if rule.is_public:
        return Grant(here, rule, Rights(frozenset(), None), None)
    key = request.headers.get(rule.key) if rule.key is not None else None
    header = f"Bearer {key}" if key else request.headers.get("authorization")
    if not rule.quick:
        await here.refresh()
    try:
        rights = here.tokens.rights(header)
    except NotAllowed:
        if not rule.quick or not here.engine.store.shared:
            raise
        await here.refresh()
        rights = here.tokens.rights(header)
    name = None
    if rule.models is ModelAccess.PATH:
        name = request.path_params["name"]
    elif rule.models is ModelAccess.PERSONALIZER:
        name = rights.model or here.options.personalizer
    return Grant(here, rule, rights, header, name, request.scope.get("request_id"), request.scope.get("trace"))


def guard(endpoint: Endpoint, rule: Rule) -> Endpoint:
    """Put the judge in front of an endpoint."""

    @functools.wraps(endpoint)
    async def guarded(request: Request) -> Response:
        request.state.grant = await admit(request, rule)
        return await endpoint(request)

    vars(guarded)["rule"] = rule
    return guarded


def rule_of(endpoint: Any) -> Rule | None:
    """The rule that stands in front of an endpoint, if one does."""
    found: Rule | None = getattr(endpoint, "rule", None)
    return found


def grant_of(request: Request) -> Grant:
    """The result of the judge, in an endpoint."""
    found: Grant = request.state.grant
    return found
