"""The writer: where commits run."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from service.bodies import engine_with, request
from smidgen.service.engine import writer as writing
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.writer import Writer
from smidgen.service.errors import StorageFailed


class Counted:
    """Commits of an engine, with their threads; some fail."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch, failing: int | None = None) -> None:
        self.threads: list[str] = []
        commit = engine.store.commit

        def counted() -> None:
            self.threads.append(threading.current_thread().name)
            if len(self.threads) - 1 == failing:
                raise StorageFailed("the disk is full", "free some space")
            commit()

        monkeypatch.setattr(engine.store, "commit", counted)
        monkeypatch.setattr(writing, "QUICK_S", 60.0)


def decide(engine: Engine, writer: Writer, count: int) -> list[tuple[Any, Exception | None]]:
    """Ask for decisions one after the other; return what came of each."""

    async def ask() -> list[tuple[Any, Exception | None]]:
        writer.start()
        writer._quick.add("tune")
        replies = []
        for _ in range(count):
            answered = asyncio.get_running_loop().create_future()

            def done(*reply: Any, answered: asyncio.Future[Any] = answered) -> None:
                answered.set_result(reply)

            writer.submit(lambda: engine.decide("tune", request({})), done, lambda: "tune")
            replies.append(await answered)
        await writer.stop()
        return replies

    return asyncio.run(ask())


def test_a_single_quick_command_is_committed_on_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(tmp_path, ["tune"])
    monkeypatch.setattr(writing, "SLOW_S", 60.0)
    counted = Counted(engine, monkeypatch)
    decide(engine, Writer(engine), 5)
    assert counted.threads == ["MainThread"] * 5
    assert engine.models["tune"].decisions == 5
    engine.close()


def test_after_a_slow_commit_the_thread_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(tmp_path, ["tune"])
    monkeypatch.setattr(writing, "SLOW_S", 0.0)
    monkeypatch.setattr(writing, "SLOW_FOR_S", 60.0)
    counted = Counted(engine, monkeypatch)
    decide(engine, Writer(engine), 5)
    assert counted.threads == ["MainThread", *["smidgen engine"] * 4]
    engine.close()


def test_a_commit_on_the_event_loop_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(tmp_path, ["tune"])
    monkeypatch.setattr(writing, "SLOW_S", 60.0)
    counted = Counted(engine, monkeypatch, failing=1)
    replies = decide(engine, Writer(engine), 3)
    assert counted.threads == ["MainThread"] * 3
    assert [type(refusal) for _, refusal in replies] == [type(None), StorageFailed, type(None)]
    assert engine.models["tune"].decisions == 2
    assert engine.models["tune"].seq == 3
    engine.close()
