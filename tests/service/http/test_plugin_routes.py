"""Pages of plugins: mounted by name, after our own, open or closed by their own rule."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.asgi import Caller
from service.tokens import Mint
from smidgen.errors import InvalidArgument
from smidgen.service.http.plugins import mount, unmount
from smidgen.service.http.resources import reply
from smidgen.service.http.rights import PUBLIC, Rule, grant_of


async def count(request: Request) -> Response:
    """Number of models visible to the caller."""
    grant = grant_of(request)
    return reply({"models": len(grant.visible(grant.here.models())), "of": request.path_params.get("of")})


ROUTES = [Route("/census", count), Route("/census/{of}", count, methods=["POST"])]


@pytest.fixture
def census() -> Iterator[None]:
    mount("census", ROUTES, title="Census", path="/census", rule=Rule(("decide",)))
    yield
    unmount("census")


def test_a_plugin_has_the_running_service(census: None, tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call.put("/v1/models/news", {"loop": "rank", "learner": "PreferencePerceptron", "features": ["a"]})
        assert call.get("/census").json() == {"models": 1, "of": None}
        assert call.post("/census/all", {}).json() == {"models": 1, "of": "all"}
        assert call.get("/census/all").status_code == 405
        assert {"title": "Census", "path": "/census"} in call.get("/ui/guests.json").json()


def test_one_that_asks_who_it_is_stays_when_a_token_comes(census: None, tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        secret = Mint(tmp_path).create(["decide"], None, time.time())[1]
        assert call.get("/census").status_code == 401
        assert call.get("/census", headers={"authorization": f"Bearer {secret}"}).status_code == 200
        assert call.get("/ui/guests.json").json() == [{"title": "Census", "path": "/census"}]


def test_a_token_of_one_model_sees_only_that(census: None, tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        for name in ("news", "other"):
            call.put(f"/v1/models/{name}", {"loop": "rank", "learner": "PreferencePerceptron", "features": ["a"]})
        secret = Mint(tmp_path).create(["decide"], "news", time.time())[1]
        assert call.get("/census", headers={"authorization": f"Bearer {secret}"}).json()["models"] == 1


def test_one_without_a_rule_is_for_operators_and_one_that_is_public_for_all(tmp_path: Path) -> None:
    async def hello(request: Request) -> Response:
        return reply({"hello": "world"})

    mount("closed", [Route("/closed", hello)])
    mount("open", [Route("/open", hello)], rule=PUBLIC)
    try:
        with Caller(tmp_path) as call:
            assert call.get("/closed").status_code == call.get("/open").status_code == 200
            mint = Mint(tmp_path)
            statuses = {}
            for scopes, model in ((["decide", "feedback", "read"], None), (["admin"], "m"), (["admin"], None)):
                secret = mint.create(scopes, model, time.time())[1]
                statuses[",".join(scopes), model] = call.get("/closed", headers={"authorization": f"Bearer {secret}"})
            assert [each.status_code for each in statuses.values()] == [403, 403, 200]
            assert call.get("/closed").status_code == 401
            assert call.get("/open").status_code == 200
    finally:
        unmount("closed")
        unmount("open")


def test_services_made_later_do_not_have_one_that_went(tmp_path: Path) -> None:
    mount("census", ROUTES)
    unmount("census")
    with Caller(tmp_path) as call:
        assert call.get("/census").status_code == 404
    with pytest.raises(InvalidArgument, match='there is no plugin "census"'):
        unmount("census")


def test_the_same_name_replaces(census: None, tmp_path: Path) -> None:
    mount("census", [Route("/people", count)], title="People", path="/people")
    with Caller(tmp_path) as call:
        assert call.get("/census").status_code == 404
        assert call.get("/people").status_code == 200
        assert {"title": "People", "path": "/people"} in call.get("/ui/guests.json").json()


@pytest.mark.parametrize("path", ["/", "/v1/mine", "/ui/mine", "/healthz", "/metrics", "/docs"])
def test_our_own_paths_are_not_given_away(path: str) -> None:
    async def mine(request: Any) -> Response:
        return Response()

    with pytest.raises(InvalidArgument, match="belongs to the service"):
        mount("thief", [Route(path, mine)])
