"""How far one call goes: the functions and files of smidgen that it enters (``python -m benchmarks.hops``).

A call is made once before it is counted, so that
tables are full and modules there. With PYTHONPATH an older version is counted too: what has moved since is looked for
where it was.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODEL = {"loop": "rank", "learner": "PreferencePerceptron", "features": ["match", "freshness", "spam"]}
OFFER = {"candidates": [{"id": name, "features": [0.1 * k, 1.0 - 0.1 * k, 0.5]} for k, name in enumerate("abc")]}


class Hops:
    """The functions of smidgen that were entered while it was counting, in every thread."""

    def __init__(self) -> None:
        self.found: dict[str, set[tuple[str, str]]] = {}
        self._now: set[tuple[str, str]] | None = None
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: Any, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        inside = file.rpartition("/smidgen/")[2]
        if self._now is not None and event == "call" and inside != file:
            name = frame.f_code.co_qualname
            if not name.endswith((">", "__init_subclass__")):  # comprehensions and lambdas belong to their functions
                self._now.add((inside, name))

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        """Count under this name."""
        self._now = self.found[name] = set()
        yield
        self._now = None

    def again(self, name: str, call: Callable[[], object]) -> None:
        """Count a call that has been made before."""
        call()
        with self.counted(name):
            call()

    def counts(self, name: str) -> str:
        """Functions and files."""
        functions = self.found[name]
        return f"{name}: {len(functions)} in {len({file for file, _ in functions})}"


def moved(*places: str) -> Any:
    """The first of these names that there is."""
    for place in places:
        module, _, name = place.rpartition(".")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"none of {places} is there")


def library(hops: Hops) -> None:
    """Rounds by the two verbs, and a stream."""
    import numpy as np

    import smidgen

    X = np.random.default_rng(0).normal(size=(40, 3)) / 3.0

    def both(name: str, learner: Any, context: Any, feedback: Callable[[Any], Any]) -> None:
        def call() -> None:
            decision = learner.decide(context)
            learner.learn(decision, feedback(decision))

        hops.again(name, call)

    both("a coactive round", smidgen.PreferencePerceptron(dim=3), smidgen.Ranking(X[:4]), lambda _: [3, 1, 0, 2])
    both("a Confidit round", smidgen.Confidit(dim=3, n_classes=2), X[0], lambda d: d.action == 1)
    hops.again("a filter stream", lambda: smidgen.RidgeFil(dim=3).run(X, X[:, 0] > 0.0))
    tuner = smidgen.OGDEG(space=smidgen.Ball(dim=3), loss_bound=1.0, horizon=100)
    both("ask and tell", tuner, None, lambda d: float(d.action @ d.action) / 2.0)


async def service(hops: Hops, folder: Path) -> None:
    """A decision and a feedback of a ranking over HTTP, without the network; then a start on the folder they left."""
    import httpx

    app = moved("smidgen.service.http.app.create_app", "smidgen.service.app.create_app")
    options = moved("smidgen.service.http.resources.Options", "smidgen.service.running.Options")

    async def served(name: str, work: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
        running = app(options(folder, synchronous="OFF"))
        transport = httpx.ASGITransport(app=running)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8470") as client:
            context = running.router.lifespan_context(running)
            with hops.counted(name):
                await context.__aenter__()
                while (await client.get("/readyz")).status_code != 200:
                    await asyncio.sleep(0.05)
            await work(client)
            await context.__aexit__(None, None, None)

    async def rounds(client: httpx.AsyncClient) -> None:
        (await client.put("/v1/models/search", json=MODEL)).raise_for_status()
        for name in ("", "a decision", ""):
            with hops.counted(name):
                answer = await client.post("/v1/models/search/decisions", json=OFFER)
            answer.raise_for_status()
            with hops.counted("a feedback" if name else ""):
                path = f"/v1/decisions/{answer.json()['decision']}/feedback"
                (await client.post(path, json={"clicked": ["c"]})).raise_for_status()

    async def nothing(_: httpx.AsyncClient) -> None:
        return

    await served("", rounds)
    await served("", nothing)
    await served("recovery", nothing)


def main() -> None:
    """Count and tell."""
    hops = Hops()
    library(hops)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(service(hops, Path(folder)))
    for name in hops.found:
        if name:
            print(hops.counts(name))


if __name__ == "__main__":
    main()
