"""Laws that every history must keep, checked at its end."""

from __future__ import annotations

from typing import Any

from simulation import service
from simulation.catalogue import SECRET
from simulation.oracle import Command, Wrong, read_glance
from simulation.service import SmidgenError
from simulation.world import PERSON, World, _differing

#: What a reply says of the process that gives it, not of the model.
OWN = ("guarded", "kept")


def check_all(world: World) -> None:
    """Check everything."""
    now = world.clock.now
    reads_are_right(world)
    world.checker.check()
    numbers_are_right(world)
    learnt_at_most_once(world)
    live = weights_are_equal(world)
    plain_folds_are_equal(world, live)
    reference_agrees(world, live)
    world.clock.now = now
    nothing_is_left(world)
    folder_is_sound(world, live)


def reads_are_right(world: World) -> None:
    """Every worker tells every model and every story as the oracle does."""
    for worker in world.workers:
        worker.engine.refresh()
        for name, model in world.oracle.models.items():
            steps = service.read_model(worker.reader, worker.engine, name, world.clock.now)
            try:
                while True:
                    next(steps)
            except StopIteration as end:
                expected = read_glance(world.oracle.glance(model), world.clock.now)
                if end.value != expected:
                    raise Wrong(f"{name} is read as {end.value}, expected {expected}") from None
        for id in list(world.oracle.made)[-12:]:
            world.story(worker, id)
        for id in list(world.oracle.forgotten)[-3:]:
            world.story(worker, id)


def numbers_are_right(world: World) -> None:
    """Events are numbered without gaps, the chain is whole, and no number of a decision is given twice."""
    worker = world.workers[0]
    store = worker.engine.store
    for number, shard in world.oracle.shards.items():
        if (problem := service.chain_problem(store, number)) is not None:
            raise Wrong(f"the chain of {shard.model.name}: {problem}")
        for key, numbers in service.numbers_of(store, worker.engine, number).items():
            if numbers != sorted(set(numbers)):
                raise Wrong(f"the decisions of {shard.model.name}, key {key!r}, have the numbers {numbers}")


def learnt_at_most_once(world: World) -> None:
    """Of the versions that count, at most one is about a decision."""
    for made in world.oracle.made.values():
        counting = [version for version in made.versions if version in made.shard.now]
        if len(counting) > 1:
            raise Wrong(f"{made.id} counts {len(counting)} times: versions {counting}")


def weights_are_equal(world: World) -> dict[Any, bytes]:
    """All workers have the weights that the log leads to, bit for bit."""
    live = [_known(world, service.weights(worker.engine)) for worker in world.workers]
    for number, found in enumerate(live[1:], 1):
        if differing := _differing(found, live[0]):
            raise Wrong(f"workers 0 and {number} have different weights of {differing}")
    if world.place.folder is None:
        cold = _known(world, service.weights(world.place.cold(world.clock)))
        if differing := _differing(cold, live[0]):
            raise Wrong(f"the log leads to other weights of {differing}")
    return live[0]


def _known(world: World, weights: dict[Any, bytes]) -> dict[Any, bytes]:
    """Without keys that were forgotten, and whose events under a base are still to be erased."""
    known = {(shard.model.name, shard.part): shard.keys for shard in world.oracle.shards.values()}
    return {place: value for place, value in weights.items() if place[2] is None or place[2] in known[place[:2]]}


def plain_folds_are_equal(world: World, live: dict[Any, bytes]) -> None:
    """For rows that are arrays: a learner that gets only the effective feedback, in order, has the same weights.

    So a rollback, or a retraction, and what came after it, is the same as a log without what was undone.
    """
    engine = world.workers[0].engine
    for number, shard in world.oracle.shards.items():
        if shard.base or shard.promoted or shard.model.leader is not None:
            continue
        expected = service.plain_fold(engine, number, shard.now)
        for key, content in (expected or {}).items():
            found = live[shard.model.name, shard.part, key, "learner"]
            if not service.same_weights(content, found):
                raise Wrong(f"{shard.model.name}, key {key!r}: not what its versions {sorted(shard.now)} lead to")


def reference_agrees(world: World, live: dict[Any, bytes]) -> None:
    """One engine in memory, asked one thing at a time, gives the same replies and weights."""
    engine, ids = service.reference(world.clock), dict[str, str]()
    for note in world.notes:
        world.clock.now = note.at
        if note.decision is not None:
            service.expire(engine, ids[note.decision])
            continue
        command = note.command
        if command is None or command.kind == "stage":
            continue
        if command.kind == "retain" and command.refusal is not None:  # others came in between
            continue
        found, refusal = _again(world, engine, command, ids)
        if world.shared and command.args.get("impossible") and command.refusal is not None and refusal is not None:
            continue  # the worker may report either of two reasons
        if len(command.args.get("bodies", ())) > 1 and command.refusal is not None and refusal is not None:
            continue  # a batch is checked as a whole before anything is decided
        if type(refusal) is not type(command.refusal):
            raise Wrong(f"one by one: {refusal!r} {found}; here: {command}")
        if command.refusal is not None:
            continue
        if command.kind == "decide":
            for mine, theirs in zip(command.reply, found, strict=True):
                ids.setdefault(mine["decision"], theirs["decision"])
                if ids[mine["decision"]] != theirs["decision"]:
                    raise Wrong(f"one by one, another decision is answered: {command}")
            _compare_followers(world, engine, command, ids)
        if any(shard.base for shard in world.oracle.shards.values()):
            for each in (found, command.reply):  # when what is folded leaves the figures depends on when it is erased
                _drop_quality(each)
        if (one := _plain(found)) != (here := _plain(command.reply)):
            raise Wrong(f"one by one: {_difference(one, here)}; here: {command}")
    theirs = _known(world, service.weights(engine))
    if differing := _differing(live, theirs):
        raise Wrong(f"one by one, the weights of {differing} are others")


def _again(world: World, engine: Any, command: Command, ids: dict[str, str]) -> tuple[Any, Exception | None]:
    args = {name: value for name, value in command.args.items() if name not in ("ready", "do")}
    if "decision" in args:
        args["decision"] = ids.get(args["decision"], args["decision"])
    try:
        if command.kind == "decide":
            # One batch, all or none, but each decision by itself.
            each = [{**args, "bodies": [body]} for body in args["bodies"]]
            replies = engine.run(lambda: [service.COMMANDS["decide"](engine, one)[0] for one in each])
            return service.plain(replies), None
        if command.kind == "retain":
            return service.retain_again(engine, *args["place"], args["age"], args["planned_at"], world.clock), None
        return service.plain(service.COMMANDS[command.kind](engine, args)), None
    except SmidgenError as error:
        return None, _unnamed(error, command)


def _unnamed(error: SmidgenError, command: Command) -> Exception:
    """A refusal within a batch is reported with its place, as another type."""
    if command.refusal is not None and getattr(error, "status", 0) == getattr(command.refusal, "status", 1):
        return command.refusal
    return error


def _drop_quality(reply: Any) -> None:
    if isinstance(reply, list | tuple):
        for each in reply:
            _drop_quality(each)
    elif isinstance(reply, dict):
        reply.pop("quality", None)


def _compare_followers(world: World, engine: Any, command: Command, ids: dict[str, str]) -> None:
    """Know the decisions that were made next to those that were shown."""
    for reply in command.reply:
        for id, name in world.besides.get(reply["decision"], ()):
            if id not in ids and (theirs := service.follower_of(engine, ids[reply["decision"]], name)) is not None:
                ids[id] = theirs


def _plain(reply: Any) -> Any:
    """The part of a reply that does not depend on the worker."""
    if isinstance(reply, list):
        return [_plain(each) for each in reply]
    if isinstance(reply, dict):
        return {name: _plain(value) for name, value in reply.items() if name != "decision" and name not in OWN}
    return reply


def _difference(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: (one.get(name), other.get(name)) for name in one if one.get(name) != other.get(name)}
    return one


def nothing_is_left(world: World) -> None:
    """Once all models have forgotten a person, no byte of theirs is kept anywhere."""
    if PERSON not in world.ever_forgotten:
        return
    if any(PERSON in shard.keys or shard.base for shard in world.oracle.shards.values()):
        return
    for _ in range(2):  # in the first round owners hand over, in the second they receive
        for worker in world.workers:
            if worker.engine.leases is not None:
                worker.engine.take_over(worker.engine.leases.renew())
    for worker in world.workers:
        world._close_reads(worker)
        worker.engine.maintain(every=1)
        worker.engine.compact()
    for where, content in world.place.content():
        for mark in (PERSON.encode(), SECRET.encode()):
            if mark in content:
                raise Wrong(f"{mark!r} is left in {where}")


def folder_is_sound(world: World, live: dict[Any, bytes]) -> None:
    """``smidgen fsck --deep`` finds nothing; a start without snapshots leads to the same weights."""
    if world.place.folder is None:
        return
    worker = world.workers[0]
    world._close_reads(worker)
    worker.engine.close()
    if problems := world.place.check():
        raise Wrong(f"fsck: {problems}")
    cold = world.place.cold(world.clock)
    try:
        if differing := _differing(_known(world, service.weights(cold)), live):
            raise Wrong(f"the log leads to other weights of {differing}")
    finally:
        cold.store.close()
