"""Snapshots and states of keys: whatever happens to them, recovery gives the same bits."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.asgi import Caller
from service.bodies import MODELS, engine_with, model, play, request
from smidgen.errors import SmidgenError
from smidgen.learners import Learner, saving
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.snapshot_writer import LOOKED, TOGETHER
from smidgen.service.errors import StorageFailed
from smidgen.service.storage.snapshots import Snapshots
from smidgen.service.storage.sqlite_schema import storage_error

KEYS = ("user0", "user1", "user2", "user3")


def bits(engine: Engine, name: str, key: str | None = None) -> bytes:
    return engine.learners.get(engine.models[name], key).learner.to_bytes()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str | None, bytes]]:
    """A folder with three snapshots of tune, states of four keys, and events after them; the bits by key."""
    folder = tmp_path_factory.mktemp("played") / "data"
    engine = engine_with(folder, ["tune", "keyed"], snapshot_every=1)
    for seed in range(5):
        play(engine, ["tune", "keyed"], 25, seed)
        engine.maintain()
    play(engine, ["tune", "keyed"], 20, seed=9)
    known: dict[str | None, bytes] = {key: bits(engine, "keyed", key) for key in KEYS}
    known[None] = bits(engine, "tune")
    engine.store.close()
    assert len(list((folder / "snapshots" / "1").iterdir())) == 3
    return folder, known


def recovered(folder: Path) -> dict[str | None, bytes]:
    engine = Engine(folder)
    try:
        found: dict[str | None, bytes] = {key: bits(engine, "keyed", key) for key in KEYS}
        found[None] = bits(engine, "tune")
        return found
    finally:
        engine.store.close()


#: Cut off at a share of the length, or turn a bit at a share of the length.
damages = st.one_of(
    st.floats(0, 1, exclude_max=True).map(lambda share: lambda raw: raw[: int(share * len(raw))]),
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)).map(lambda at: lambda raw: _flipped(raw, *at)),
    st.tuples(st.integers(0, 90), st.integers(0, 7)).map(lambda at: lambda raw: _flipped(raw, at[0] / len(raw), at[1])),
    st.binary(max_size=200).map(lambda junk: lambda raw: junk),
)
Damage = Callable[[bytes], bytes]


def _flipped(raw: bytes, share: float, bit: int) -> bytes:
    place = int(share * len(raw))
    return raw[:place] + bytes([raw[place] ^ (1 << bit)]) + raw[place + 1 :]


quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True
)


@quick
@given(damage=damages)
def test_damaged_bytes_are_never_taken_for_a_learner(
    damage: Damage, played: tuple[Path, dict[str | None, bytes]]
) -> None:
    content = played[1][None]
    damaged = damage(content)
    if damaged == content:
        return
    with pytest.raises(SmidgenError):
        Learner.from_bytes(damaged)


@settings(quick, max_examples=25)
@given(hit=st.lists(damages, min_size=1, max_size=3), key=st.sampled_from(KEYS), on_key=damages)
def test_recovery_skips_what_is_damaged(
    hit: list[Damage], key: str, on_key: Damage, played: tuple[Path, dict[str | None, bytes]], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(played[0], folder)
    for damage, snapshot in zip(hit, Snapshots(folder).of(1), strict=False):
        snapshot.path.write_bytes(damage(snapshot.path.read_bytes()))
    database = sqlite3.connect(folder / "smidgen.db")
    (state,) = database.execute("SELECT state FROM key_states WHERE shard = 2 AND key = ?", (key,)).fetchone()
    database.execute("UPDATE key_states SET state = ? WHERE shard = 2 AND key = ?", (on_key(state), key))
    database.commit()
    database.close()
    assert recovered(folder) == played[1]


def test_states_of_another_arithmetic_are_not_used(
    played: tuple[Path, dict[str | None, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of bits: the log leads elsewhere now, so it is replayed, and what was written before says nothing."""
    folder = Path(shutil.copytree(played[0], tmp_path / "data"))
    monkeypatch.setattr(saving, "ARITHMETIC", saving.ARITHMETIC + 1)
    read: list[str] = []
    monkeypatch.setattr("smidgen.service.engine.recovery.Learner.from_bytes", lambda _, place: read.append(place))
    after = recovered(folder)
    assert read == []
    head = 64  # it tells the arithmetic; what follows is the learner
    assert {key: found[head:] for key, found in after.items()} == {key: each[head:] for key, each in played[1].items()}
    monkeypatch.undo()
    monkeypatch.setattr(saving, "ARITHMETIC", saving.ARITHMETIC + 1)
    report = fsck(folder, deep=True)
    assert report.sound
    assert sum("older arithmetic" in note for note in report.notes) == 2
    engine = Engine(folder)
    assert engine.models["tune"].saved == 0
    play(engine, ["tune"], 5, seed=3)
    engine.maintain()
    engine.close()
    with Inspection(folder) as seen:
        assert audit_model(seen, seen.model("tune")).compared != [], "there is a state of this arithmetic again"


def test_without_any_snapshot_or_state_the_log_is_enough(
    played: tuple[Path, dict[str | None, bytes]], tmp_path: Path
) -> None:
    shutil.copytree(played[0], tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "snapshots")
    database = sqlite3.connect(tmp_path / "data" / "smidgen.db")
    database.execute("DELETE FROM key_states")
    database.commit()
    database.close()
    assert recovered(tmp_path / "data") == played[1]


def test_good_snapshots_are_used(played: tuple[Path, dict[str | None, bytes]], tmp_path: Path) -> None:
    """Otherwise the tests above would show nothing: with the earlier events gone, the snapshot still recovers."""
    shutil.copytree(played[0], tmp_path / "data")
    newest = next(Snapshots(tmp_path / "data").of(1))
    database = sqlite3.connect(tmp_path / "data" / "smidgen.db")
    database.execute("UPDATE events SET made = NULL WHERE shard = 1 AND seq < ?", (newest.seq,))
    database.commit()
    database.close()
    assert recovered(tmp_path / "data")[None] == played[1][None]


def restored(folder: Path, copy: Path) -> None:
    """Put the older copy of the database back, and leave the snapshots as they are."""
    for file in folder.glob("smidgen.db*"):
        file.unlink()
    for file in copy.glob("smidgen.db*"):
        shutil.copy(file, folder)


def test_snapshots_that_prove_a_loss_keep_it_from_starting_even_when_the_log_overtakes_them(tmp_path: Path) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    engine = engine_with(folder, ["rank"], snapshot_every=10)
    play(engine, ["rank"], 10, seed=1)
    engine.store.close()
    shutil.copytree(folder, copy)
    engine = Engine(folder, snapshot_every=10, synchronous="OFF")
    for seed in (2, 3, 4, 5):
        play(engine, ["rank"], 12, seed)
        engine.maintain()
    lost = [snapshot.seq for snapshot in engine.store.snapshots.of(1)]
    engine.store.close()
    restored(folder, copy)
    files = sorted(folder.rglob("*"))
    with pytest.raises(StorageFailed, match=rf"event {max(lost)} of the model 'rank' is missing") as caught:
        Engine(folder)
    assert sorted(folder.rglob("*")) == files, "what proves it is still there"
    assert str(folder / "snapshots") in caught.value.hint

    (folder / "snapshots").rename(tmp_path / "kept")  # the remedy for operators who accept the loss
    engine = Engine(folder, snapshot_every=10_000, synchronous="OFF")
    assert engine.models["rank"].seq < min(lost)
    play(engine, ["rank"], 70, seed=6)  # runs past all of the old snapshots
    assert engine.models["rank"].seq > max(lost)
    known = bits(engine, "rank")
    engine.store.close()
    shutil.rmtree(folder / "snapshots", ignore_errors=True)
    shutil.copytree(tmp_path / "kept", folder / "snapshots")
    with pytest.raises(StorageFailed, match=rf"event {max(lost)} of the model 'rank' is another one"):
        Engine(folder)
    shutil.rmtree(folder / "snapshots")
    again = Engine(folder, snapshot_every=10)
    assert bits(again, "rank") == known
    again.close()
    assert bits(Engine(folder), "rank") == known


def test_three_are_kept_and_files_of_another_past_do_not_crowd_them_out(tmp_path: Path) -> None:
    folder, other = tmp_path / "data", tmp_path / "other"
    engine = engine_with(other, ["rank"], snapshot_every=10)
    play(engine, ["rank"], 200, seed=2)
    engine.maintain()
    engine.store.close()
    engine = engine_with(folder, ["rank"], snapshot_every=10)
    shutil.copytree(other / "snapshots", folder / "snapshots")  # while it runs
    taken = []
    for seed in range(3, 9):
        play(engine, ["rank"], 10, seed)
        engine.maintain()
        taken.append(engine.models["rank"].seq)
        assert [snapshot.seq for snapshot in engine.store.snapshots.of(1)] == taken[::-1][:3]
    assert sorted(path.name for path in (folder / "snapshots" / "1").iterdir()) == sorted(
        snapshot.path.name for snapshot in engine.store.snapshots.of(1)
    )
    engine.store.close()


def test_a_snapshot_that_cannot_be_written_costs_nobody_his_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "snapshots").write_text("in the way")
    with Caller(tmp_path, snapshot_every=3) as call:
        call.put("/v1/models/tune", MODELS["tune"])
        for version in range(1, 7):
            id = call.post("/v1/models/tune/decisions", {}).json()["decision"]
            heard = call.post(f"/v1/decisions/{id}/feedback", {"loss": 0.25})
            assert (heard.status_code, heard.json()) == (200, {"status": "learnt", "model_version": version})
        assert "no snapshot of model tune" in caplog.text
        assert "smidgen_failed_snapshots_total 4\n" in call.get("/metrics").text
        (tmp_path / "snapshots").unlink()
        for _ in range(3):
            call.post("/v1/models/tune/decisions", {})
        assert [snapshot.seq for snapshot in call.app.state.service.engine.store.snapshots.of(1)] == [15]
        known = bits(call.app.state.service.engine, "tune")
    assert bits(Engine(tmp_path), "tune") == known


def test_the_snapshots_of_many_models_are_written_together(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(tmp_path / "data")
    names = ["keyed", *(f"model {number}" for number in range(3 * TOGETHER + 1))]
    for name in names:
        engine.create(name, model(MODELS["keyed" if name == "keyed" else "tune"]))
        if name == "keyed":
            play(engine, ["keyed"], 8, seed=1)
        else:
            engine.decide(name, request({}))
    broken = engine.models[names[TOGETHER + 3]]
    (tmp_path / "data" / "snapshots").mkdir()
    (tmp_path / "data" / "snapshots" / str(broken.shard)).write_text("in the way")
    engine.maintain(every=1)
    known = {each.name: each.seq for each in engine.shards.values() if not each.keyed and each is not broken}
    states = {each.name: [state.seq for state in engine.store.states(each.shard)] for each in engine.shards.values()}
    assert {name: states[name] for name in known} == {name: [seq] for name, seq in known.items()}
    assert len(known) == len(names) - 2
    assert "user1" in engine.store.state_keys(engine.models["keyed"].shard)
    assert engine.snapshots.failed == 1
    assert caplog.text.count("no snapshot of model") == 1
    assert f"no snapshot of model {broken.name}" in caplog.text
    engine.close()
    again = Engine(tmp_path / "data")
    assert [each.saved for each in again.shards.values() if each.name in known] == list(known.values())
    again.close()


def test_one_of_thousands_of_models_is_due_soon(tmp_path: Path) -> None:
    engine = Engine(tmp_path, snapshot_every=5)
    for number in range(2 * LOOKED + 1):
        engine.create(f"model {number}", model(MODELS["tune"]))
    assert not any(engine.snapshots.is_due() for _ in range(6))
    for _ in range(4):
        engine.decide("model 0", request({}))
    assert [engine.snapshots.is_due() for _ in range(3)].count(True) == 1
    engine.store.close()


def test_states_of_keys_that_cannot_be_written_are_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_with(tmp_path, ["keyed"], snapshot_every=5)
    play(engine, ["keyed"], 20, seed=1)

    def full() -> None:
        raise storage_error(sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(engine.store, "commit", full)
    engine.maintain()
    assert engine.snapshots.failed == 1
    assert engine.store.state_keys(1) == []
    monkeypatch.undo()
    engine.maintain(every=0)
    assert engine.store.state_keys(1) == list(KEYS)
    play(engine, ["keyed"], 20, seed=2)  # no transaction was left open
    known = {key: bits(engine, "keyed", key) for key in KEYS}
    engine.maintain()
    assert engine.store.state_keys(1) == list(KEYS)
    engine.store.close()
    again = Engine(tmp_path)
    assert {key: bits(again, "keyed", key) for key in KEYS} == known
