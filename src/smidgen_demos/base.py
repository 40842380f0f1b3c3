"""A demo: its page and files, its model, and a fresh start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smidgen.service.engine.engine import Engine
from smidgen.service.http.dashboard import answer, asset, uncached
from smidgen.service.http.middleware import json_body
from smidgen.service.http.resources import Service
from smidgen.service.http.rights import PUBLIC, grant_of, guard
from smidgen.service.http.sample import name_for
from smidgen.service.schemas import Message, ModelBody

FRAME = Path(__file__).parent / "frame.html"


class NothingBody(Message):
    """An empty body."""


@dataclass(frozen=True)
class DemoPage:
    """A page at /demo/NAME and the model that it plays with.

    Attributes
    ----------
    name, title
        One word, and what our pages call it.
    folder
        Its files; what ``NAME.html`` holds stands within the frame that all demos share.
    model
        The settings of its model. Logs are never deleted, so a fresh start is a new model: ``demo-NAME-2`` after
        ``demo-NAME``, and so on.
    start
        The id of what those who skip the links come to, and what it is.
    """

    name: str
    title: str
    folder: Path
    model: ModelBody
    start: tuple[str, str]

    @property
    def path(self) -> str:
        """Path of the page."""
        return f"/demo/{self.name}"

    def model_name(self, engine: Engine) -> str:
        """The name of the demo's model, or the first free one for it."""
        return name_for(engine, f"demo-{self.name}", self.model)

    def start_over(self, engine: Engine) -> str:
        """Archive the model, if there is one, and make the next; gives the new name."""
        name = self.model_name(engine)
        if name in engine.models:
            engine.archive(name)
            name = self.model_name(engine)
        engine.create(name, self.model)
        return name

    async def admitted(self, request: Request, *, makes: bool = True) -> tuple[Service, str]:
        """The service and the model's name."""
        here = grant_of(request).here
        name = await here.writer.run(partial(self.model_name, here.engine))
        return here, name

    def routes(self) -> list[Route]:
        """The page, its files, and the fresh start."""
        return [
            Route(self.path, guard(self._page, PUBLIC), methods=["GET"]),
            Route(f"{self.path}/files/{{file}}", guard(self._file, PUBLIC), methods=["GET"]),
            Route(f"{self.path}/reset", self._reset, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        main = (self.folder / f"{self.name}.html").read_text(encoding="utf-8")
        id, what = self.start
        frame = Template(FRAME.read_text(encoding="utf-8"))
        page = frame.substitute(name=self.name, title=self.title, main=main, id=id, what=what)
        return answer(request, page.encode(), "text/html")

    async def _file(self, request: Request) -> Response:
        return asset(request, request.path_params["file"], self.folder)

    async def _reset(self, request: Request) -> Response:
        here, _ = await self.admitted(request)
        await json_body(request, NothingBody)
        return uncached({"model": await here.writer.run(partial(self.start_over, here.engine))}, 201)
