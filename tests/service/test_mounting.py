"""Pages of guests: mounted by name, behind our own, there or gone as they wish."""

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
from service.mint import Mint
from smidgen.errors import InvalidArgument
from smidgen.service.http.mounting import mount, unmount
from smidgen.service.http.running import reply, service


async def count(request: Request) -> Response:
    """How many models there are; whoever asks needs a token where there are any."""
    here = service(request)
    await here.rights(request, "decide")
    return reply({"models": len(here.models()), "of": request.path_params.get("of")})


ROUTES = [Route("/census", count), Route("/census/{of}", count, methods=["POST"])]


@pytest.fixture
def census() -> Iterator[None]:
    mount("census", ROUTES, title="Census", path="/census")
    yield
    unmount("census")


def test_a_guest_has_the_running_service(census: None, tmp_path: Path) -> None:
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


def test_services_made_later_do_not_have_one_that_went(tmp_path: Path) -> None:
    mount("census", ROUTES)
    unmount("census")
    with Caller(tmp_path) as call:
        assert call.get("/census").status_code == 404
    with pytest.raises(InvalidArgument, match="there is no guest called 'census'"):
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

    with pytest.raises(InvalidArgument, match="is a path of the service itself"):
        mount("thief", [Route(path, mine)])
