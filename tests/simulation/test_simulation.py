"""Thousands of short histories of the engine keep all rules; planted defects are found; a seed replays a failure."""

from __future__ import annotations

import os
import threading

import pytest

from simulation import service
from simulation.checker import Checker, Read
from simulation.oracle import Wrong
from simulation.runner import fail, problem_of, run
from simulation.scheduler import history, shrink
from simulation.world import World

#: How many histories `make test` plays on each store: some seconds.
QUICK = {"memory": 120, "shared": 40, "sqlite": 20}
#: How long the nightly run takes, in seconds.
LONG_S = float(os.environ.get("SMIDGEN_SIMULATION_S", "3600"))

#: Histories that once broke a rule, by what was wrong: the seed, and the store.
FOUND: dict[str, tuple[int, str]] = {
    "a full disk within a batch of decisions was reported as a wrong request": (40, "memory"),
    "an export of a filter could not be imported twice": (90, "memory"),
    "an import dropped the labels that were added": (189, "memory"),
    "an import of a keyed model that was rolled back had a learner without a key": (91, "memory"),
    "a state that was folded before a key was forgotten was staged after it": (479, "memory"),
    "fsck compared what keys share before the base was read": (187, "sqlite"),
    "fsck refused decisions that were made after explore was changed": (682, "sqlite"),
    "an id of a decision under a base could not be used again": (4493, "sqlite"),
    "late answers to decisions that a base keeps were counted down twice": (20929, "memory"),
    "a key that was only in a base was counted after it was forgotten": (5563, "memory"),
    "the oracle dropped the calls of a model when a copy forgot the key": (5126, "memory"),
    "the reference looked for a model that was renamed during its retention": (9034, "sqlite"),
    "a held-out request settled what its key begins with": (1261, "memory"),
    "a held-out request settled it until a restart": (2485, "sqlite"),
    "a held-out request settled what others saw of a ranking": (217082, "shared"),
    "a held-out request changed the agreement with a shadow": (217617, "shared"),
    "a decision of a holdout kept a word of a person who was forgotten": (2764, "memory"),
    "a decision of a holdout was not known once its person was forgotten in the same batch": (1108, "memory"),
    "who had decided and not learnt made forgetting fail in an import": (76, "memory"),
    "fsck compared a state that was taken back with a base": (2353, "sqlite"),
    "the oracle kept counting late feedback that was retracted and forgotten": (20251, "memory"),
    "the oracle did not know a name that only the line itself says": (701351, "shared"),
    "the story of a decision missed an expiry that retention had erased": (811410, "shared"),
    "the oracle waited for an archived champion to be taught": (812905, "shared"),
}


@pytest.mark.parametrize("store", QUICK)
def test_histories_keep_all_rules(store: str) -> None:
    count, _ = run(range(QUICK[store]), store)
    assert count == QUICK[store]


@pytest.mark.parametrize("name", FOUND)
def test_histories_that_once_broke_a_rule(name: str) -> None:
    seed, store = FOUND[name]
    assert problem_of(history(seed, store=store)) is None


def test_histories_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a second one, the system decides the order, not the seed; and a reader may wait for itself."""

    def refuse(thread: threading.Thread) -> None:
        raise Wrong(f"the thread {thread.name} is not one that the seed knows")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    for seed in (*range(6), 125):
        assert problem_of(history(seed, store="sqlite")) is None


@pytest.mark.long
def test_histories_for_an_hour() -> None:
    """Other histories every night; a failure says its seed."""
    first = int.from_bytes(os.urandom(4)) if "SMIDGEN_SIMULATION_SEED" not in os.environ else None
    first = int(os.environ["SMIDGEN_SIMULATION_SEED"]) if first is None else first
    count, used = run(range(first, first + 10_000_000), seconds=LONG_S)
    print(f"{count} histories from seed {first} on, {count / used:.0f} a second of processor time")


#: Where the search for a planted defect begins, if many histories do not meet it: shortly before the first that does.
BEGIN = {
    "the learner counts the decisions of a holdout": 355,
    "rewards of some slots are learned as if they were all": 315,
    "windows that are over are not handled": 210,
    "missing feedback is learnt again and again": 210,
    "retention drops open decisions": 70,
    "forgetting skips shadows and challengers": 40,
    "forgetting a unit skips shadows and challengers": 140,
    "a copy does not know where it is from": 40,
    "learners are not pinned within a batch": 30,
}


def _first_found(name: str, most: int) -> tuple[int, str] | None:
    changes, store = service.MUTANTS[name]
    begin = BEGIN.get(name, 0)
    with service.planted(*changes):
        for seed in range(begin, begin + most):
            if (problem := problem_of(history(seed, store=store))) is not None:
                return seed, problem
    return None


@pytest.mark.parametrize("name", service.MUTANTS)
def test_planted_defects_are_found(name: str) -> None:
    assert _first_found(name, 400) is not None


def test_a_seed_plays_the_same_history_again() -> None:
    def lines(seed: int) -> list[str]:
        said: list[str] = []
        World(history(seed), said.append).play()
        return [line.partition(" at 0x")[0] for line in said]

    for seed in range(12):
        assert lines(seed) == lines(seed)


def test_a_failure_is_shrunk_and_says_its_seed() -> None:
    changes, store = service.MUTANTS["a duplicate is written again"]
    with service.planted(*changes):
        failure = next(found for seed in range(50) if (found := fail(seed, store)) is not None)
        assert problem_of(failure.shrunk) is not None
    assert problem_of(failure.shrunk) is None
    assert len(failure.shrunk.steps) < len(history(failure.seed, store=store).steps)
    assert {step.what for step in failure.shrunk.steps} <= {"decide", "batch", "feedback", "several", "wait"}
    assert f"make simulate SEED={failure.seed}" in str(failure)


def test_shrinking_drops_what_is_not_needed() -> None:
    found = history(5, length=40)
    needed = found.steps[7], found.steps[31]
    shrunk = shrink(found, lambda candidate: all(step in candidate.steps for step in needed))
    assert shrunk.steps == needed


def _checker(*reads: Read) -> Checker:
    """A model that had one decision after the first commit, and two after the second."""
    states = [([0], count, 0, 0, 0, []) for count in (0, 1, 2)]
    found = Checker()
    for number, state in enumerate(states, 1):
        found.commit(number, {"m": state})
    found.reads.extend(reads)
    return found


def _read(count: int, asked: int, answered: int, first: int, last: int) -> Read:
    value = {"versions": [0], "decisions": count, "answered": 0, "late": 0, "keys": 0, "open": 0, "pending": 0}
    return Read("m", asked, first, 0.0, answered, last, value)


def test_the_checker_takes_reads_that_can_be_put_in_order() -> None:
    _checker(_read(0, 1, 9, 1, 3), _read(2, 2, 8, 1, 3), _read(1, 3, 7, 1, 3)).check()


@pytest.mark.parametrize(
    "reads",
    [
        (_read(3, 1, 2, 1, 3),),  # a state that never was
        (_read(0, 1, 2, 2, 3),),  # older than a commit that was finished
        (_read(2, 1, 2, 1, 2),),  # of a commit that had not begun
        (_read(2, 1, 2, 1, 3), _read(1, 3, 4, 1, 3)),  # back in time
    ],
)
def test_the_checker_refuses_reads_that_cannot(reads: tuple[Read, ...]) -> None:
    with pytest.raises(Wrong):
        _checker(*reads).check()
