"""Several engines over one store, in any order: they answer as one engine would, and the log's order alone decides."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.bodies import Clock, feedback_body, model, request
from service.engine.test_live_settings import amend
from service.engine.test_teach import examples
from service.memory import CommittedTables, MemoryStore
from service.memory.shared import Exchange, SharedMemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.lifecycle import keys_of
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.rollback import refold
from smidgen.service.errors import Outdated, Taken
from smidgen.service.log.events import Chain
from smidgen.service.schemas import CopyBody

WINDOW = 100.0
MODELS: dict[str, dict[str, Any]] = {
    "lists": {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}},
    "banners": {"loop": "choose", "default_reward": 0.25, "budget": {"usd": 2.0}},
    "people": {"loop": "choose", "keyed": True},
    "friends": {"loop": "choose", "keyed": True, "feedback": "better"},
    "mail": {"loop": "label", "labels": ["x", "y"], "learner": "HingeConfidit"},
    "words": {"loop": "filter", "features": {"hashed": 16}, "learner": "RidgeFil", "keyed": True},
    "knobs": {"loop": "tune", "params": {"space": {"type": "Box", "low": [0, 0], "high": [1, 1]}}},
    "letters": {"loop": "draft"},
    "crowd": {"loop": "choose", "keyed": True, "shards": 3},
    "callers": {"loop": "choose", "keyed": True, "default_reward": 0.25},
    "shops": {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}, "keyed": True, "shards": 2},
}
CHOSEN: dict[str, Any] = {"rank": "b", "label": "y", "filter": True}
RIVALS = {"banners": "LinUCB", "mail": "AROW", "people": None, "lists": None}


def asked(name: str, a: int, b: int) -> dict[str, Any]:
    """A request of a model."""
    loop, body = MODELS[name]["loop"], dict[str, Any]()
    if MODELS[name].get("keyed"):
        body["key"] = f"k{b % 3}"
    rng = random.Random(a)
    if loop == "rank":
        body["candidates"] = [{"id": id, "features": [rng.random(), rng.random()]} for id in "abc"]
    elif loop == "choose":
        body["candidates"] = [{"id": id} for id in rng.sample("abcd", 3)]
        if "budget" in MODELS[name]:
            body["candidates"][0]["costs"] = {"usd": float(a % 4)}
        body["context"] = {"device": rng.choice(["ios", "web", f"d{a}"])}
    elif loop == "label":
        body["features"] = {"from": rng.choice("abc"), "size": rng.random()}
    elif loop == "filter":
        body["features"] = {f"w{rng.randrange(6)}": 1.0, "bias": 1.0}
    elif loop == "draft":
        body["drafts"] = [{"id": id, "text": "Dear all, " * rng.randrange(3) + id} for id in "ab"]
    return body


def said(name: str, reply: dict[str, Any], a: int) -> dict[str, Any]:
    """A possible feedback."""
    loop = MODELS[name]["loop"]
    if loop == "rank":
        return {"clicked": [reply["ranking"][a % 3]]}
    if name == "friends":
        return {"better": sorted(reply["propensities"])[a % 3] if "propensities" in reply else reply["choice"]}
    if loop == "choose":
        return {"reward": (a % 5) / 4} | ({"costs": {"usd": float(a % 7)}} if "budget" in MODELS[name] else {})
    return {
        "label": {"label": "xy"[a % 2]},
        "filter": {"relevant": bool(a % 2)},
        "tune": {"loss": (a % 7) / 7},
        "draft": {"edited": "Dear all, so be it." if a % 2 else "No."},
    }[loop]


class Play:
    """Some engines over one store, and one engine alone that receives the same commands in the same order."""

    def __init__(self, names: list[str], workers: int = 3, keyed_in_memory: int = 2) -> None:
        self.clock, self.exchange, self.keyed_in_memory = Clock(), Exchange(), keyed_in_memory
        self.shared = workers > 1
        self.workers = [self.fresh() for _ in range(workers)]
        self.alone = Engine(MemoryStore(), clock=self.clock)
        self.names = names
        self.made: list[tuple[str, str, dict[str, Any], str]] = []
        self.done: list[tuple[Callable[[Engine, bool], Any], Any, float]] = []
        self.open: Engine | None = None
        for place, name in enumerate(names):
            self.do(place, lambda engine, twin, name=name: engine.create(name, model(MODELS[name]))[0])

    def fresh(self) -> Engine:
        store = SharedMemoryStore(self.exchange) if self.shared else MemoryStore(self.exchange)
        size = self.keyed_in_memory
        return Engine(store, clock=self.clock, keyed_in_memory=size, snapshot_every=7)

    def do(self, worker: int, command: Callable[[Engine, bool], Any]) -> Any:
        """A command of a worker, and of the one alone, compared: if its batch is open, once that is committed."""
        engine = self.workers[worker % len(self.workers)]
        try:
            answer = (
                engine.run_in_savepoint(lambda: command(engine, False))
                if engine is self.open
                else command(engine, False)
            )
        except Taken:
            return None
        except Outdated:  # the batch trusted memory that another worker has overtaken: all of it is undone
            self.abandon(engine)
            return None
        except SmidgenError as error:
            if error.problem.startswith("other workers are writing"):
                return None
            answer = type(error)
        if engine is self.open:
            self.done.append((command, answer, self.clock.now))
        else:
            self.done = [each for each in self.done if not isinstance(each[1], type)]  # a refusal holds nothing
            self.same(command, answer)
        return answer

    def abandon(self, engine: Engine) -> None:
        """Undo the open batch of a worker."""
        self.open = None
        engine.rollback()
        self.done.clear()

    def same(self, command: Callable[[Engine, bool], Any], answer: Any) -> None:
        """Let the one alone do what was done: it is answered alike."""
        try:
            expected = command(self.alone, True)
        except SmidgenError as error:
            expected = type(error)
        assert _plain(answer) == _plain(expected), (answer, expected)

    def settle(self) -> None:
        """Finish the open batch as of its time."""
        now = self.clock.now
        for command, answer, then in self.done:
            self.clock.now = then
            self.same(command, answer)
        self.clock.now = now
        self.done.clear()

    def decided(self, name: str, reply: dict[str, Any], twin: dict[str, Any]) -> None:
        self.made.append((name, reply["decision"], reply, twin["decision"]))


def _plain(answer: Any) -> Any:
    """The part of a reply that does not depend on the worker."""
    if isinstance(answer, list):
        return [_plain(each) for each in answer]
    if isinstance(answer, dict):
        return {name: value for name, value in answer.items() if name != "decision"}
    return answer


def decide(play: Play, worker: int, a: int, b: int) -> None:
    """One request, or several in one command; the reference engine gets them one by one."""
    name, replies = play.names[a % len(play.names)], dict[bool, list[Any]]()
    bodies = [asked(name, a, b) | ({"id": f"r{a % 5}"} if b % 4 == 0 else {})]
    bodies += [asked(name, a + more, b + more) for more in range(1, 1 + a % 6)] if b % 5 == 0 else []
    if b % 7 == 0 and (chosen := CHOSEN.get(MODELS[name]["loop"])) is not None:
        bodies[0]["chosen"] = chosen
    requests = [request(each) for each in bodies]

    def command(engine: Engine, twin: bool) -> Any:
        if twin:
            replies[twin] = engine.run(lambda: [engine.decide(name, each) for each in requests])
        else:
            replies[twin] = engine.decide_all(name, requests)
        if twin and len(replies) == 2:
            for mine, theirs in zip(replies[False], replies[True], strict=True):
                play.decided(name, mine, theirs)
        return replies[twin]

    play.do(worker, command)


def feedback(play: Play, worker: int, a: int, b: int) -> None:
    if not play.made:
        return
    name, id, reply, other = play.made[-1 - a % min(len(play.made), 6)]
    body = feedback_body(**said(name, reply, b))
    play.do(worker, lambda engine, twin: engine.feedback(other if twin else id, body))


def show(play: Play, worker: int, a: int, b: int) -> None:
    if play.made:
        _, id, _, other = play.made[a % len(play.made)]
        play.do(worker, lambda engine, twin: engine.mark_shown(other if twin else id))


def teach(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    answers = {"choose": "a", "label": "x", "filter": True, "rank": ["b"], "draft": "So be it.", "tune": [0.5, 0.5]}
    example = asked(name, a, b) | {"answer": answers[MODELS[name]["loop"]]}
    call = {} if b % 2 else {"id": f"t{a % 3}"}
    body = examples({"examples": [example], **call})
    play.do(worker, lambda engine, twin: engine.teach(name, body))


def change(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    more: dict[str, Any] = (
        {"window_s": WINDOW + b} if b % 2 or MODELS[name]["loop"] != "label" else {"add_labels": [f"l{b % 2}"]}
    )
    play.do(worker, lambda engine, twin: amend(engine, name, **more))


def retract(play: Play, worker: int, a: int, b: int) -> None:
    if play.made:
        _, id, _, other = play.made[-1 - a % min(len(play.made), 9)]
        play.do(worker, lambda engine, twin: engine.retract(other if twin else id))


def roll_back(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    if MODELS[name].get("shards", 1) > 1:
        play.do(worker, lambda engine, twin: engine.roll_back(name, then=play.clock.now - 20.0 * (a % 9)))
        return

    def command(engine: Engine, twin: bool) -> Any:
        ready = None
        if b % 2 and not engine.store.in_batch:
            known = engine.run(lambda: engine.locked_model(name))
            ready = refold(engine.store.reader(), known, ("rolled_back", max(0, a % 9)))
        return engine.roll_back(name, a % 9, ready)

    play.do(worker, command)


def forget(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    play.do(worker, lambda engine, twin: engine.forget(name, f"k{b % 3}", drop_base=bool(b % 2)))


def archive(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    if b % 3 == 0:
        play.do(worker, lambda engine, twin: engine.archive(name).archived_at)
    elif b % 3 == 1:
        play.do(worker, lambda engine, twin: engine.revive(name).archived_at)
    else:
        play.do(worker, lambda engine, twin: engine.rename(name, f"{name}-{a % 2}").name)


def rival(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    how = ("shadow_of", "challenger_of")[b % 2]
    body: dict[str, Any] = {"loop": MODELS[name]["loop"], how: {"model": name, "share": 0.5}}
    body |= {"learner": RIVALS[name]} if RIVALS.get(name) else {}
    play.do(worker, lambda engine, twin: engine.create(f"{name}-{how}", model(body))[0])


def promote(play: Play, worker: int, a: int, b: int) -> None:
    name = f"{play.names[a % len(play.names)]}-{('shadow_of', 'challenger_of')[b % 2]}"
    if b % 5 == 0:
        play.do(worker, lambda engine, twin: engine.archive(name).archived_at)
    else:
        play.do(worker, lambda engine, twin: engine.promote(name))


def copy(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    play.do(worker, lambda engine, twin: engine.copy(name, CopyBody(to=f"copy{b % 2}", learnt=True)).decisions)


def wait(play: Play, worker: int, a: int, b: int) -> None:
    """Time passes, and the owner learns the silence; everybody else leaves it."""
    play.clock.now += (0.5, 30.0, WINDOW)[a % 3]
    if play.open is None:
        owners = [engine for engine in play.workers if engine.leases is None or engine.leases.renew() is not None]
        for engine in owners:
            engine.sweep_all()
        play.alone.sweep_all()


def retain(play: Play, worker: int, a: int, b: int) -> None:
    name = play.names[a % len(play.names)]
    if play.open is None:
        play.do(worker, lambda engine, twin: engine.retain(name, 20.0 + a).base)


def keep(play: Play, worker: int, a: int, b: int) -> None:
    engine = play.workers[worker % len(play.workers)]
    if play.open is None:
        if engine.leases is not None:
            engine.leases.renew()
        engine.maintain(every=1 + a % 3)


def restart(play: Play, worker: int, a: int, b: int) -> None:
    place = worker % len(play.workers)
    if play.workers[place] is not play.open:
        if a % 2:
            play.workers[place].store.close()  # as a crash would leave it
        else:
            play.workers[place].close()
        play.workers[place] = play.fresh()


def begin(play: Play, worker: int, a: int, b: int) -> None:
    if play.open is None:
        play.open = play.workers[worker % len(play.workers)]
        play.open.begin()


def end(play: Play, worker: int, a: int, b: int) -> None:
    if (engine := play.open) is not None:
        play.open = None
        try:
            if a % 4:
                engine.commit()
                play.settle()
                return
        except Outdated:  # another worker wrote to a shard that this one trusted its memory of: nothing was answered
            pass
        play.abandon(engine)


USUAL = (decide, decide, decide, feedback, feedback, feedback, feedback, begin, end, wait, show)
SELDOM = (teach, change, retract, roll_back, forget, archive, rival, promote, copy, retain, keep, restart)


def learnt(engine: Engine, served: ServedModel, key: str | None) -> bytes:
    return engine.run(lambda: engine.learners.get(entered(engine, served), key).learner.to_bytes())


def entered(engine: Engine, served: ServedModel) -> ServedModel:
    return engine.locked_model(served.name).parts[served.part]


def shared(engine: Engine, served: ServedModel) -> bytes | None:
    group = engine.run(lambda: engine.learners.shared_state(entered(engine, served)))
    return group.to_bytes() if group is not None else None


def compare(play: Play) -> None:
    """Logs without gaps, a sound chain, numbers once; and every learner in every engine a fold of the log."""
    tables = play.exchange.tables.fork()
    tables.states = {}
    reopened = Engine(MemoryStore(CommittedTables(tables)), clock=play.clock)
    given = dict[tuple[int, str | None], list[int]]()
    for row in tables.models.values():
        events = tables.events[row.shard]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert Chain().check_all(events) is None
        versions = [event.made for event in events if event.made is not None]
        assert versions == list(range(1, len(versions) + 1)) == list(range(1, tables.counts[row.shard].version + 1))
        kept = {each.seq for each in tables.carried.get(row.shard, ())}
        for event in events:
            if event.seq <= tables.floor(row.shard) and event.seq not in kept:
                continue  # it is erased by the next upkeep, and nobody reads it
            if event.type == "decision" and event.decision in tables.given:
                given.setdefault((row.shard, event.key), []).append(tables.given[event.decision])
    for numbers in given.values():
        assert numbers == sorted(set(numbers))
    for served in reopened.shards.values():
        twin = play.alone.models[served.name].parts[served.part]
        assert (served.version, served.seq, served.decisions) == (twin.version, twin.seq, twin.decisions)
        for key in keys_of(reopened.store, served):
            expected = reopened.learners.get(served, key).learner.to_bytes()
            for engine in play.workers:
                assert learnt(engine, served, key) == expected, (served.name, key)
        group = reopened.learners.shared_state(served)
        for engine in play.workers:
            assert shared(engine, served) == (group.to_bytes() if group is not None else None), served.name
            own = engine.models[served.name].parts[served.part]
            assert (own.archived_at, own.blueprint.record()) == (served.archived_at, served.blueprint.record())


steps = st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))


Deed = Callable[[Play, int, int, int], None]


def run(names: list[str], script: list[tuple[int, int, int, int]], keyed_in_memory: int, workers: int = 3) -> None:
    deeds = [
        USUAL[which % len(USUAL)] if which < 33 else SELDOM[(which + a + b) % len(SELDOM)] for _, which, a, b in script
    ]
    made = [(worker, deed, a, b) for deed, (worker, _, a, b) in zip(deeds, script, strict=True)]
    act(names, made, keyed_in_memory, workers)


def act(names: list[str], script: list[tuple[int, Deed, int, int]], keyed_in_memory: int = 2, workers: int = 3) -> None:
    play = Play(names, workers, keyed_in_memory)
    for worker, deed, a, b in script:
        deed(play, worker, a, b)
    if play.open is not None:
        end(play, 0, 1, 0)
    compare(play)


@pytest.mark.parametrize(
    "names",
    [
        ["lists", "banners"],
        ["people"],
        ["friends"],
        ["mail", "words"],
        ["knobs", "letters"],
        ["crowd"],
        ["callers"],
        ["shops", "people"],
    ],
    ids=str,
)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(script=st.lists(steps, min_size=20, max_size=60), keyed_in_memory=st.sampled_from([1, 2, 3]))
def test_in_any_order_they_answer_as_one(
    names: list[str], script: list[tuple[int, int, int, int]], keyed_in_memory: int
) -> None:
    run(names, script, keyed_in_memory)


FOUND: dict[str, list[tuple[int, Deed, int, int]]] = {
    "what was looked through in a batch that is abandoned is not known": [
        (0, decide, 0, 0),
        (2, begin, 0, 0),
        (2, decide, 0, 0),
        (2, decide, 0, 35),
        (0, end, 0, 0),
        (0, feedback, 0, 0),
    ],
    "numbers of decisions in a batch that is abandoned are given out again": [
        (0, decide, 0, 11),
        (0, decide, 0, 11),
        (0, decide, 0, 5),
        (0, rival, 1, 15),
        (1, begin, 0, 0),
        (1, decide, 0, 20),
        (1, teach, 35, 38),
        (0, end, 0, 0),
        (1, decide, 0, 26),
        (0, decide, 0, 5),
    ],
    "a key that was read after a promotion is read again if that is abandoned": [
        (1, rival, 17, 1),
        (1, decide, 0, 0),
        (1, feedback, 0, 0),
        (0, begin, 0, 0),
        (0, promote, 2, 29),
        (0, decide, 0, 6),
        (0, end, 0, 0),
    ],
    "who learns which is before --since again begins with nothing": [
        (0, decide, 0, 11),
        (0, feedback, 0, 0),
        (0, decide, 0, 0),
        (0, decide, 0, 1),
        (0, roll_back, 0, 28),
        (0, decide, 0, 38),
        (0, feedback, 0, 1),
        (0, feedback, 1, 0),
        (1, decide, 0, 0),
    ],
    "a lesson that teaches nothing needs no names": [
        (0, decide, 0, 0),
        (0, rival, 19, 22),
        (0, promote, 0, 28),
        (0, feedback, 0, 0),
    ],
    "a lesson has its own names, not those of its decision": [
        (0, decide, 0, 0),
        (0, decide, 0, 10),
        (0, feedback, 0, 0),
        (0, rival, 15, 5),
        (0, decide, 1, 8),
        (0, decide, 0, 23),
        (0, promote, 33, 1),
        (0, decide, 8, 0),
        (0, decide, 0, 0),
        (0, feedback, 9, 0),
        (1, feedback, 38, 0),
    ],
}


@pytest.mark.parametrize("law", FOUND)
@pytest.mark.parametrize("learner", [None, "LinUCB"])
def test_scripts_that_once_made_them_differ(learner: str | None, law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RIVALS, "people", learner)
    act(["people"], FOUND[law])
