"""The matrix of rights as a whole: every route × scope × own, foreign and nonexistent model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import httpx
import pytest
from msgspec import inspect
from starlette.routing import Route

from service.asgi import Caller
from service.bodies import Clock
from service.tokens import Mint
from smidgen.service.http.endpoints import all_endpoints
from smidgen.service.http.rights import MATRIX, OPERATOR, PUBLIC, ModelAccess, Rule, rule_of
from smidgen.service.schemas import Name

_INSPECTED = (inspect.Type, inspect.Field)
#: The names that are used nowhere else, so that a search of bytes finds each leak.
OWN, FOREIGN, NOBODY = "mine", "zebrafish", "nonexistent"
SECRET = "quagmire"
SCOPES = ("decide", "feedback", "read", "admin")
FLAG = {
    "loop": "choose",
    "feedback": "reward",
    "candidates": [{"id": "teal"}, {"id": "red"}],
    "window_s": 600.0,
}
UNKNOWN_ID = "0" * 24
LIMITED = {
    "error": {
        "code": "out_of_scope",
        "message": "the token is limited to another model",
        "hint": "use a token for this model, or for all models",
    }
}
ACTIONS = [{"id": "teal", "features": []}, {"id": "red", "features": []}]


class Sample(NamedTuple):
    """A request to a route: its body, and the status that a caller who may gets for a model of the caller's own."""

    status: int
    body: Any = None
    query: str = ""


#: A request to every route, in an order in which each has the status that it says; ``{name}`` is a model.
SAMPLES: dict[str, Sample] = {
    "GET /healthz": Sample(200),
    "GET /readyz": Sample(200),
    "GET /metrics": Sample(200),
    "GET /openapi.json": Sample(200),
    "GET /": Sample(200),
    "GET /docs": Sample(200),
    "GET /ui/files/{file}": Sample(200),
    "GET /ui/loops.json": Sample(200),
    "GET /ui/guests.json": Sample(200),
    "GET /ui/learners.json": Sample(200),
    "GET /ui/models.json": Sample(200),
    "GET /ui/models/{name}/curve.json": Sample(200),
    "GET /ui/models/{name}/weights.json": Sample(200),
    "GET /ui/models/{name}/names.json": Sample(200),
    "GET /ui/models/{name}/keys.json": Sample(200),
    "GET /ui/models/{name}/recent.json": Sample(200),
    "GET /ui/decisions/{id}/story.json": Sample(200),
    "GET /ui/decisions/{id}/answers.json": Sample(200),
    "GET /v1/models": Sample(200),
    "GET /v1/models/{name}": Sample(200),
    "GET /v1/models/{name}/health": Sample(200),
    "GET /v1/models/{name}/weights": Sample(200),
    "GET /v1/models/{name}/taste": Sample(422),
    "GET /v1/models/{name}/candidates": Sample(200),
    "GET /v1/models/{name}/segments": Sample(422),
    "GET /v1/models/{name}/worth": Sample(409),
    "GET /v1/models/{name}/compare": Sample(404),
    "GET /v1/models/{name}/log": Sample(200),
    "GET /v1/decisions/{id}": Sample(200),
    "PUT /v1/models/{name}": Sample(200, FLAG),
    "PATCH /v1/models/{name}": Sample(200, {"window_s": 300.0}),
    "POST /v1/models/{name}/decisions": Sample(201, {}),
    "POST /v1/models/{name}/decisions:batch": Sample(201, {"decisions": [{}, {}]}),
    "POST /ofrep/v1/evaluate/flags": Sample(200, {}),
    "POST /ofrep/v1/evaluate/flags/{name}": Sample(200, {}),
    **{
        f"{call.replace(' ', ' /personalizer' + root, 1)}": sample
        for root in ("/v1.0", "", "/{version}")
        for call, sample in {
            "POST /rank": Sample(201, {"actions": ACTIONS, "eventId": "e"}),
            "POST /events/{event:path}/activate": Sample(404),
            "POST /events/{event:path}/reward": Sample(404, {"value": 1.0}),
            "GET /status": Sample(200),
            "GET /configurations/service": Sample(200),
            "PUT /configurations/service": Sample(400, {}),
            "POST /multislot/rank": Sample(201, {"actions": ACTIONS, "slots": [{"id": "s"}], "eventId": "page"}),
            "POST /multislot/events/{event:path}/activate": Sample(404),
            "POST /multislot/events/{event:path}/reward": Sample(404, {"reward": [{"slotId": "s", "value": 1.0}]}),
        }.items()
        if root != "/v1.0" or "multislot" not in call
    },
    "POST /v1/decisions/{id}/shown": Sample(200),
    "POST /v1/decisions/{id}/feedback": Sample(200, {"reward": 1.0}),
    "POST /v1/decisions/{id}:retract": Sample(200),
    "POST /v1/feedback:batch": Sample(200, {"feedback": [{"decision": "{id}", "reward": 1.0}]}),
    "POST /v1/ubi": Sample(200, [{"action_name": "click", "query_id": "{id}"}]),
    "POST /v1/models/{name}/examples": Sample(
        200, {"examples": [{"candidates": [{"id": "teal"}, {"id": "red"}], "answer": {"choice": "red", "reward": 1.0}}]}
    ),
    "POST /v1/models/{name}:rollback": Sample(200, {"version": 0}),
    "POST /v1/models/{name}:retain": Sample(200, {"older_than_s": 1e9}),
    "DELETE /v1/models/{name}/keys/{key:path}": Sample(422),
    "POST /v1/models/{name}:promote": Sample(422),
    "POST /v1/models/{name}:copy": Sample(409, {"to": "{name}"}),
    "POST /v1/models/{name}:import": Sample(400),
    "DELETE /v1/models/{name}": Sample(200),
    "POST /v1/models/{name}:rename": Sample(409, {"to": "{name}"}),
    "POST /v1/models/{name}:revive": Sample(200),
    "GET /v1/tokens": Sample(200),
    "POST /v1/tokens": Sample(201, {"scopes": ["read"]}),
    "DELETE /v1/tokens/{id}": Sample(404),
    "POST /ui/sample": Sample(200, {"users": 1}),
}


def keys_of(app: Any) -> set[str]:
    """The rows that the routes of a service need."""
    routes = (getattr(route, "route", route) for route in app.routes)
    return {
        f"{method} {route.path}"
        for route in routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }


class World:
    """A service with a model of the caller's own and a foreign one, and tokens."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self.call = Caller(folder, clock=clock, personalizer=OWN)
        self.mint = Mint(folder)

    def __enter__(self) -> World:
        call = self.call.__enter__()
        for name in (OWN, FOREIGN):
            assert call.put(f"/v1/models/{name}", FLAG).status_code == 201
        self.decisions = {name: self.decide(name) for name in (OWN, FOREIGN)}
        self.admin = self.token(["admin"])
        return self

    def __exit__(self, *ending: Any) -> None:
        self.call.__exit__(*ending)

    def decide(self, name: str) -> str:
        answer = self.call.post(f"/v1/models/{name}/decisions", {"context": {SECRET: f"{name} {SECRET}"}})
        assert answer.status_code == 201
        return str(answer.json()["decision"])

    def token(self, scopes: list[str], model: str | None = None) -> dict[str, str]:
        return {"authorization": f"Bearer {self.mint.create(scopes, model, 0.0)[1]}"}

    def events(self, name: str) -> list[str]:
        """The log of a model, line by line."""
        return self.call.get(f"/v1/models/{name}/log", headers=self.admin).text.splitlines()

    def ask(self, key: str, name: str, headers: dict[str, str], decision: str | None = None) -> httpx.Response:
        """Send the sample of a route, about a model; ``decision`` stands for one of its own."""
        method, _, path = key.partition(" ")
        sample, id = SAMPLES[key], decision or self.decisions.get(name, UNKNOWN_ID)
        path = path.replace("{name}", name).replace("{id}", id).replace("{file}", "style.css")
        path = path.replace("{version}", "v1.1-preview.2").replace("{event}", "nobody").replace("{key:path}", "ann")
        if sample.body is None:
            media = {"content-type": "application/x-ndjson"} if path.endswith(":import") else {}
            return self.call(method, path, headers={**headers, **media}, **({"content": b"{}"} if media else {}))
        body = json.dumps(sample.body).replace("{name}", name).replace("{id}", id)
        return self.call(method, path, headers={**headers, "content-type": "application/json"}, content=body)


@pytest.fixture
def world(tmp_path: Path, clock: Clock) -> Iterator[World]:
    with World(tmp_path, clock) as made:
        yield made


def test_every_route_has_a_row_and_a_sample(world: World) -> None:
    demos = {key for key in keys_of(world.call.app) if " /demo/" in key}
    assert keys_of(world.call.app) - demos == set(MATRIX) == set(SAMPLES)


def test_every_route_is_behind_the_rule_of_its_row(world: World) -> None:
    for route in (getattr(each, "route", each) for each in world.call.app.routes):
        for method in (route.methods or set()) - {"HEAD"}:
            if route.path.startswith("/demo/"):  # plugins, which are gone once a token exists
                page = route.path.count("/") == 2 or "/files/" in route.path
                assert rule_of(route.endpoint) is (PUBLIC if page else OPERATOR), route.path
            else:
                assert rule_of(route.endpoint) is MATRIX[f"{method} {route.path}"], route.path


def test_a_call_that_no_row_covers_is_refused_when_the_service_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(MATRIX, "GET /v1/models")
    with pytest.raises(KeyError):
        Caller(tmp_path)


def test_without_a_token_everything_is_401_but_what_is_public(world: World) -> None:
    for key in SAMPLES:
        answer = world.ask(key, OWN, {})
        assert (answer.status_code == 401) != MATRIX[key].is_public, key
        wrong = world.ask(key, OWN, {"authorization": "Bearer smidgen_wrong"})
        assert (wrong.status_code == 401) != MATRIX[key].is_public, key


@pytest.mark.parametrize("limited", [True, False], ids=["limited", "for-all-models"])
@pytest.mark.parametrize("scope", SCOPES)
def test_each_scope_covers_the_rows_that_name_it_and_no_other(world: World, scope: str, limited: bool) -> None:
    token = world.token([scope], OWN if limited else None)
    foreign, refusals, texts = world.events(FOREIGN), set[bytes](), dict[str, str]()
    for key, sample in SAMPLES.items():
        rule = MATRIX[key]
        covered = rule.is_public or scope == "admin" or scope in rule.scopes
        service = limited and rule.models is ModelAccess.SERVICE
        if rule.models is ModelAccess.PATH:
            for name in (FOREIGN, NOBODY):
                if limited or not covered:
                    answer = world.ask(key, name, token)
                    assert answer.status_code == 403, (key, name)
                    texts[f"{key} {name}"] = answer.text
                    if covered:
                        refusals.add(answer.content)
        answer = world.ask(key, OWN, token)
        if covered and not service:
            assert answer.status_code == sample.status, (key, answer.text)
        else:
            assert answer.status_code == 403, (key, answer.text)
            if service and covered:
                refusals.add(answer.content)
        texts[key] = answer.text
    if limited:
        assert [json.loads(each) for each in refusals] == [LIMITED], "the same bytes for every name and every route"
        leaks = [key for key, text in texts.items() if FOREIGN in text or f"{FOREIGN} {SECRET}" in text]
        assert not leaks
    else:
        assert not refusals
    assert world.events(FOREIGN) == foreign or not limited


@pytest.mark.parametrize("scope", SCOPES)
def test_what_needs_another_scope_is_refused_before_any_model_is_looked_for(world: World, scope: str) -> None:
    token = world.token([scope])
    for key, rule in MATRIX.items():
        if rule.models is ModelAccess.PATH and scope != "admin" and scope not in rule.scopes:
            answers = {world.ask(key, name, token).content for name in (OWN, FOREIGN, NOBODY)}
            assert len(answers) == 1, key


@pytest.mark.parametrize("scope", SCOPES)
def test_foreign_decisions_look_unknown(world: World, scope: str) -> None:
    token = world.token([scope], OWN)
    for key in SAMPLES:
        if "/decisions/{id}" in key and (scope == "admin" or scope in MATRIX[key].scopes):
            foreign = world.ask(key, FOREIGN, token)
            unknown = world.ask(key, FOREIGN, token, decision=UNKNOWN_ID)
            assert foreign.status_code == unknown.status_code == 404, key
            assert foreign.text.replace(world.decisions[FOREIGN], UNKNOWN_ID) == unknown.text, key


def test_decisions_in_bodies_look_unknown_too(world: World) -> None:
    token = world.token(["feedback"], OWN)
    for key in ("POST /v1/feedback:batch", "POST /v1/ubi"):
        foreign = world.ask(key, FOREIGN, token)
        unknown = world.ask(key, FOREIGN, token, decision=UNKNOWN_ID)
        assert foreign.status_code == unknown.status_code == 200
        assert foreign.text.replace(world.decisions[FOREIGN], UNKNOWN_ID) == unknown.text, key
    several = [{"decision": world.decisions[name], "reward": 1.0} for name in (FOREIGN, OWN)]
    answer = world.call.post("/v1/feedback:batch", {"feedback": several}, headers=token).json()["results"]
    assert [each.get("status", each.get("error", {}).get("code")) for each in answer] == ["unknown_decision", "learnt"]
    assert not any('"type":"feedback"' in line for line in world.events(FOREIGN))


SETTINGS = [
    {"shadow_of": "{name}"},
    {"shadow_of": {"model": "{name}"}},
    {"challenger_of": "{name}"},
    {"challenger_of": {"model": "{name}", "share": 1.0}},
    {"shadow_of": OWN, "challenger_of": "{name}"},
]


@pytest.mark.parametrize("own", [OWN, "fresh"])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda each: json.dumps(each))
def test_settings_that_name_another_model_are_refused_alike(world: World, own: str, settings: dict[str, Any]) -> None:
    token = world.token(["admin"], own)
    for name in (FOREIGN, NOBODY):
        body = json.loads(json.dumps({"loop": "choose", "feedback": "reward", **settings}).replace("{name}", name))
        answer = world.call.put(f"/v1/models/{own}", body, headers=token)
        assert (answer.status_code, answer.json()) == (403, LIMITED)
    assert not world.call.get(f"/v1/models/{FOREIGN}", headers=world.admin).json()["shadow"]


def names_models(kind: Any) -> bool:
    """True if a body has a field, at any depth, that names a model."""
    pattern = next(meta.pattern for meta in get_args(Name)[1:])
    ahead, seen = [inspect.type_info(kind)], set[Any]()
    while ahead:
        each = ahead.pop()
        if isinstance(each, inspect.StrType) and each.pattern == pattern:
            return True
        if isinstance(each, inspect.StructType):
            if each.cls in seen:
                continue
            seen.add(each.cls)
        fields = (getattr(each, name) for name in each.__struct_fields__)
        for field in fields:
            ahead += [one for one in (field if isinstance(field, tuple) else (field,)) if isinstance(one, _INSPECTED)]
    return False


def test_every_body_that_can_name_a_model_is_judged_by_its_row() -> None:
    found = set()
    for call in all_endpoints():
        body = call.body() if callable(call.body) and not isinstance(call.body, type) else call.body
        if isinstance(body, type) and names_models(body):
            rule = MATRIX[call.key]
            assert rule.body is not Rule().body or rule.models is ModelAccess.SERVICE, call.key
            found.add(call.name)
    assert found == {"createModel", "copyModel", "renameModel", "createToken"}


@pytest.mark.parametrize("verb", ["copy", "rename"])
def test_no_copy_or_new_name_outside_of_the_token(world: World, verb: str) -> None:
    token = world.token(["admin"], OWN)
    world.call("DELETE", f"/v1/models/{OWN}", headers=token)
    for name in (FOREIGN, NOBODY):
        answer = world.call.post(f"/v1/models/{OWN}:{verb}", {"to": name}, headers=token)
        assert (answer.status_code, answer.json()) == (403, LIMITED)
    listed = {each["name"] for each in world.call.get("/v1/models", headers=world.admin).json()["models"]}
    assert listed == {OWN, FOREIGN}


class TestImportedLogs:
    """Logs that name other models in their settings."""

    @pytest.fixture
    def log(self, world: World) -> list[dict[str, Any]]:
        """The log of a shadow of the foreign model."""
        body = {"loop": "choose", "feedback": "reward", "shadow_of": FOREIGN}
        assert world.call.put("/v1/models/spy", body, headers=world.admin).status_code == 201
        return [json.loads(line) for line in world.events("spy")]

    def bring(self, world: World, lines: list[dict[str, Any]], headers: dict[str, str], to: str) -> httpx.Response:
        media = {"content-type": "application/x-ndjson"}
        content = "\n".join(map(json.dumps, lines)).encode()
        return world.call("POST", f"/v1/models/{to}:import", headers={**headers, **media}, content=content)

    @pytest.mark.parametrize("place", ["model", "resolved", "promoted"])
    def test_are_refused_alike(self, world: World, log: list[dict[str, Any]], place: str) -> None:
        token = world.token(["admin"], "fresh")
        settings, created = log[0]["model"], log[0]
        alone = {name: value for name, value in settings.items() if name != "shadow_of"}
        for name in (FOREIGN, NOBODY):
            named = {**settings, "shadow_of": {"model": name}}
            first, rest = {**created, "model": named}, list[dict[str, Any]]()
            if place == "resolved":
                first = {**created, "model": alone, "resolved": {**created["resolved"], "body": named}}
            elif place == "promoted":
                reply = {"settings": created["resolved"]["settings"], "model": named, "resolved": created["resolved"]}
                first = {**created, "model": alone}
                rest = [{"seq": 2, "type": "promoted", "at": created["at"], "source": "x", **reply}]
            answer = self.bring(world, [first, *rest], token, "fresh")
            assert (answer.status_code, answer.json()) == (403, LIMITED), (place, answer.text)

    def test_stand_alone_for_any_importer(self, world: World, log: list[dict[str, Any]]) -> None:
        assert self.bring(world, log, world.admin, "fresh").status_code == 201
        made = world.call.get("/v1/models/fresh", headers=world.admin).json()
        assert (made["shadow_of"], made["challenger_of"]) == (None, None)
        before = len(world.events("fresh"))
        world.call.post(f"/v1/models/{FOREIGN}/decisions", {}, headers=world.admin)
        assert len(world.events("fresh")) == before


@pytest.mark.parametrize("kind", ["shadow_of", "challenger_of"])
def test_a_partner_by_name_of_an_operator_gives_no_more_rights(world: World, kind: str) -> None:
    """A token for one of two linked models cannot reach the other in any way."""
    body = {"loop": "choose", "feedback": "reward", kind: FOREIGN}
    assert world.call.put("/v1/models/rival", body, headers=world.admin).status_code == 201
    calls: list[tuple[str, str, Any]] = [
        ("POST", ":promote", None),
        ("PATCH", "", {"share": 1.0} if kind == "challenger_of" else {"explore": 0.5}),
        ("GET", "/compare", None),
        ("POST", ":revive", None),
    ]
    for name, some in ((FOREIGN, calls[2:3]), ("rival", calls)):
        token, before = world.token(["admin"], name), world.events(FOREIGN)
        for method, verb, found in some:
            if verb == ":revive":
                assert world.call("DELETE", f"/v1/models/{name}", headers=token).status_code == 200
            answer = world.call(method, f"/v1/models/{name}{verb}", headers=token, **({"json": found} if found else {}))
            assert (answer.status_code, answer.json()) == (403, LIMITED), (name, verb)
        assert world.events(FOREIGN) == before
    assert world.call.post("/v1/models/rival:revive", None, headers=world.admin).status_code == 200
    assert world.call.get("/v1/models/rival/compare", headers=world.admin).status_code == 200
    assert world.call.post("/v1/models/rival:promote", None, headers=world.admin).status_code == 200


def test_lists_figures_and_bulk_calls_hold_only_the_own_model(world: World) -> None:
    for _ in range(3):  # a model about which something is found
        world.call.put("/v1/models/banner", {"loop": "choose", "feedback": "better"}, headers=world.admin)
    for _ in range(40):
        asked = {"candidates": [{"id": each, "features": {"kind": each}} for each in "abc"]}
        made = world.call.post("/v1/models/banner/decisions", asked, headers=world.admin).json()
        reply = {"better": made["choice"]}
        world.call.post(f"/v1/decisions/{made['decision']}/feedback", reply, headers=world.admin)
    token = world.token(["decide", "read"], OWN)
    everything = world.call.get("/metrics", headers=world.admin).text
    assert 'smidgen_model_findings{model="banner"' in everything
    for path in ("/metrics", "/v1/models", "/ui/models.json"):
        answer = world.call.get(path, headers=token)
        assert answer.status_code == 200
        assert OWN in answer.text
        assert FOREIGN not in answer.text
        assert "banner" not in answer.text
    flags = world.call.post("/ofrep/v1/evaluate/flags", {}, headers=token).json()["flags"]
    assert [each["key"] for each in flags] == [OWN]
    flags = world.call.post("/ofrep/v1/evaluate/flags", {}, headers=world.admin).json()["flags"]
    assert {each["key"] for each in flags} == {OWN, FOREIGN}


def test_forgetting_reaches_copies_and_does_not_tell_their_names(world: World) -> None:
    keyed = {"loop": "choose", "feedback": "reward", "keyed": True, "candidates": FLAG["candidates"]}
    world.call.put("/v1/models/keyed", keyed, headers=world.admin)
    for key in ("ann", "bob"):
        world.call.post("/v1/models/keyed/decisions", {"key": key}, headers=world.admin)
    world.call.post("/v1/models/keyed:copy", {"to": "wildebeest"}, headers=world.admin)
    answer = world.call("DELETE", "/v1/models/keyed/keys/ann", headers=world.token(["admin"], "keyed"))
    assert answer.status_code == 200
    assert "wildebeest" not in answer.text
    assert not any('"key":"ann"' in line for line in world.events("wildebeest"))
    answer = world.call("DELETE", "/v1/models/keyed/keys/bob", headers=world.admin)
    assert answer.json()["copies"].keys() == {"wildebeest"}


class TestPersonalizer:
    """Models that the calls of Azure AI Personalizer create."""

    RANK = "/personalizer/v1.0/rank"

    @pytest.fixture
    def call(self, tmp_path: Path, clock: Clock) -> Iterator[Caller]:
        with Caller(tmp_path, clock=clock, personalizer="menu") as caller:
            yield caller

    def ask(self, call: Caller, token: str) -> httpx.Response:
        return call.post(self.RANK, {"actions": ACTIONS}, headers={"Ocp-Apim-Subscription-Key": token})

    @pytest.mark.parametrize("model", ["menu", "own", None])
    def test_only_an_admin_creates_one(self, call: Caller, tmp_path: Path, model: str | None) -> None:
        mint = Mint(tmp_path)
        name = model or "menu"
        for scopes in (["decide"], ["decide", "feedback", "read"]):
            answer = self.ask(call, mint.create(scopes, model, 0.0)[1])
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ResourceNotFound")
        assert not call.app.state.service.engine.models
        id, admin = mint.create(["admin"], model, 0.0)
        assert self.ask(call, admin).status_code == 201
        assert self.ask(call, mint.create(["decide"], model, 0.0)[1]).status_code == 201
        headers = {"authorization": f"Bearer {admin}"}
        first = json.loads(call.get(f"/v1/models/{name}/log", headers=headers).text.splitlines()[0])
        assert (first["type"], first["token_id"]) == ("created", id)

    def test_its_status_creates_nothing(self, call: Caller) -> None:
        assert call.get("/personalizer/v1.0/status").json()["modelVersion"] == 0
        assert not call.app.state.service.engine.models
        assert call.post(self.RANK, {"actions": ACTIONS}).status_code == 201  # no token exists, so none is needed
        assert call.get("/personalizer/v1.0/status").json()["model"] == "menu"


def test_the_documented_table_is_the_matrix() -> None:
    """The security guide has a line for every row, with the scopes that suffice."""
    page = (Path(__file__).parents[3] / "docs" / "operate" / "security.md").read_text(encoding="utf-8")
    found: dict[str, tuple[str, ...]] = {}
    for line in page.splitlines():
        if (row := re.fullmatch(r"\| `([A-Z]+ /[^`]*)` \|(.*)\|", line)) is not None:
            cells = [cell.strip() for cell in row[2].split("|")]
            found[row[1]] = tuple(scope for scope, cell in zip(SCOPES, cells, strict=False) if cell == "✓")
    for key, rule in MATRIX.items():
        wanted = SCOPES if rule.is_public else tuple(each for each in SCOPES if each in (*rule.scopes, "admin"))
        assert found.pop(re.sub(r"{(\w+):path}", r"{\1}", key), None) == wanted, key
    assert not found
