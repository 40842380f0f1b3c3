"""Whatever a log holds, importing it ends soon, in little memory, with a typed refusal or with a sound model."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from hostile import logs
from service.asgi import Caller
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_file
from smidgen.service.engine import blueprint
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.lifecycle import from_log
from smidgen.service.ope.replay import replay
from smidgen.service.ope.sources import open_log

#: Bytes and CPU seconds that reading one small log may take.
MEMORY, TIME = 32 << 20, 1.0
#: How many of the changed logs are read every time; the long run reads them all.
SOME = 600
NDJSON = {"content-type": "application/x-ndjson"}
#: Reads every log of a folder in a process that may not have much more memory than it has.
PROGRAM = """
import resource, sys, time
from pathlib import Path
from smidgen.errors import SmidgenError
from smidgen.service.engine.lifecycle import from_log
from_log(Path(sys.argv[1], "good.ndjson").read_bytes())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sorted(Path(sys.argv[1]).glob("*.harm")):
    began = time.monotonic()
    try:
        from_log(path.read_bytes())
        print("accepted", path.name)
    except SmidgenError:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def read(what: str, content: bytes) -> SmidgenError | None:
    """Import a log; the refusal, if there is one."""
    began = time.process_time()
    try:
        brought = from_log(content)
        Engine(MemoryStore(CommittedTables()), clock=lambda: 5.0).import_model("imported", brought, "a log")
    except SmidgenError as error:
        refusal: SmidgenError | None = error
    else:
        refusal = None
    assert time.process_time() - began < TIME, what
    return refusal


@pytest.mark.parametrize("name", logs.good())
def test_good_logs_are_read(name: str) -> None:
    assert read(name, logs.good()[name]) is None


@pytest.mark.parametrize("what", logs.harmful())
def test_harmful_logs_are_refused_soon_and_in_little_memory(what: str) -> None:
    content = logs.harmful()[what]
    read(what, content)  # once, so that what is compiled or cached is there
    tracemalloc.start()
    try:
        refusal = read(what, content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refusal is not None
    assert 400 <= refusal.status < 500, refusal
    assert len(str(refusal)) < 2_000
    assert peak < MEMORY + 8 * len(content)


def test_a_setting_that_no_log_of_ours_can_hold_is_refused(tmp_path: Path) -> None:
    with Caller(tmp_path) as caller:
        answer = caller("POST", "/v1/models/long:import", content=logs.long_setting(), headers=NDJSON)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "impossible")
        assert caller.get("/v1/models/long").status_code == 404


def _each(changed: Iterable[tuple[str, bytes]]) -> None:
    refused = count = 0
    tracemalloc.start()
    try:
        for what, content in changed:
            tracemalloc.reset_peak()
            refusal = read(what, content)
            assert tracemalloc.get_traced_memory()[1] < 4 * MEMORY, what
            assert refusal is None or 400 <= refusal.status < 500, what
            refused, count = refused + (refusal is not None), count + 1
    finally:
        tracemalloc.stop()
    assert count / 10 < refused < count


def test_changed_logs_are_refused_or_read() -> None:
    _each(logs.some_changed(SOME))


@pytest.mark.long
def test_all_changed_logs_are_refused_or_read() -> None:
    _each(logs.changed())


def test_harmful_logs_take_no_memory_that_stays(tmp_path: Path) -> None:
    (tmp_path / "good.ndjson").write_bytes(logs.good()["sharing"])
    for number, content in enumerate(logs.harmful().values()):
        (tmp_path / f"{number:03}.harm").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stderr == ""
    assert int(done.stdout) < 48, "megabytes"


def test_harmful_logs_over_http_make_nothing(tmp_path: Path) -> None:
    with Caller(tmp_path) as caller:
        assert caller("POST", "/v1/models/good:import", content=logs.good()["rank"], headers=NDJSON).status_code == 201
        before = caller.get("/v1/models").json()
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for what, content in logs.harmful().items():
            began = time.process_time()
            answer = caller("POST", "/v1/models/harm:import", content=content, headers=NDJSON)
            assert time.process_time() - began < 2 * TIME, what
            assert 400 <= answer.status_code < 500, (what, answer.text[:200])
            assert set(answer.json()["error"]) == {"code", "message", "hint"}
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 128 << 10, "kilobytes"
        assert caller.get("/v1/models").json() == before
        assert caller.get("/v1/models/harm").status_code == 404


@pytest.mark.parametrize("what", logs.harmful())
def test_commands_on_harmful_logs_end_with_a_refusal_or_a_finding(what: str, tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    path.write_bytes(logs.harmful()[what])
    try:
        with open_log(str(path), tmp_path) as recording:
            problems = audit_file(recording).problems
    except SmidgenError as error:
        problems = [str(error)]
    assert problems
    assert max(map(len, problems)) < 2_000
    with suppress(SmidgenError):  # a what-if may have no need of what is wrong
        replay(str(path), (), data=tmp_path)


def test_the_limit_can_be_raised_and_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    large = logs._rank(2 * 10**7)
    refusal = read("160 MB", large)
    assert refusal is not None
    assert all(part in str(refusal) for part in ("dim=20000000", "160.0 MB", "134.2 MB", "SMIDGEN_MAX_LEARNER"))
    monkeypatch.setenv("SMIDGEN_MAX_LEARNER", str(10**9))
    assert read("160 MB", large) is None
    monkeypatch.setattr(blueprint, "_chosen", [10**6])
    assert read("160 MB", large) is not None
    assert read("800 KB", logs._rank(10**5)) is None
    monkeypatch.undo()
    monkeypatch.setenv("SMIDGEN_MAX_LEARNER", "much")
    refusal = read("small", logs._rank(3))
    assert refusal is not None
    assert "SMIDGEN_MAX_LEARNER is 'much'" in str(refusal)
