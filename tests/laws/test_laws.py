"""Laws that hold for every registered learner, unasked."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from laws.loops import CASES, LOOPS, RECORDS, WRITABLE, Case, may_learn, play
from smidgen import Decision, Learner
from smidgen.errors import (
    AlreadyLearnt,
    CorruptFile,
    DecisionMismatch,
    NotSaveable,
    NotTeachable,
    NoWeights,
    SmidgenError,
)
from smidgen.learners import cards, learners, storage

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_writable = pytest.mark.parametrize("case", WRITABLE, ids=str)
every_learner = pytest.mark.parametrize("name", sorted(cards))


def snapshot(learner: Learner) -> dict[str, Any]:
    """All that a learner remembers, byte for byte."""
    state = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in learner._state().items()}
    counted = {"learnt": learner._learnt.ranges().tolist(), "decided": learner.decisions, "taught": learner._taught}
    return {**state, **counted}


def same_decisions(log: list[tuple[Decision, Any]], other: list[tuple[Decision, Any]]) -> bool:
    return [decision for decision, _ in log] == [decision for decision, _ in other]


def test_every_registered_loop_has_laws() -> None:
    plain = [card for name, card in cards.items() if name not in RECORDS]
    assert {(loop, card.kinds[0]) for card in plain for loop in card.loops} <= LOOPS.keys()


@every_case
def test_predict_is_pure_and_draws_nothing(case: Case) -> None:
    contexts = case.loop.contexts(1, 12)
    learner, quiet = case.make(), case.make()
    play(case, learner, contexts[:8])
    play(case, quiet, contexts[:8])
    before = snapshot(learner)
    first = [learner.predict(context) for context in contexts]
    second = [learner.predict(context) for context in contexts]
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert snapshot(learner) == before
    assert learner.decide(contexts[9]) == quiet.decide(contexts[9])


@every_case
def test_predict_is_the_greedy_part_of_decide(case: Case) -> None:
    contexts = case.loop.contexts(2, 12)
    learner = case.make()
    play(case, learner, contexts)
    averaged = cards[case.name].averaged
    for context in contexts:
        greedy = learner.decide(context).greedy
        if averaged:  # decides by the present weights, predicts by their mean
            np.testing.assert_array_equal(greedy, context.argmax(learner.weights))
            greedy = context.argmax(learner.mean_weights)
        assert np.array_equal(learner.predict(context), greedy)


@every_case
def test_decide_changes_nothing_but_its_counter(case: Case) -> None:
    contexts = case.loop.contexts(3, 20)
    learner = case.make()
    log = play(case, learner, contexts[:10])
    before = snapshot(learner)
    for i, context in enumerate(contexts, start=11):
        assert learner.decide(context).number == i
    assert snapshot(learner) == {**before, "decided": 30}
    assert learner.rounds == len(log)


@every_case
def test_the_same_seed_gives_the_same_run(case: Case) -> None:
    contexts = case.loop.contexts(4, 15)
    one, two = case.make(seed=7), case.make(seed=7)
    assert same_decisions(play(case, one, contexts), play(case, two, contexts))
    assert snapshot(one) == snapshot(two)


@every_case
@pytest.mark.parametrize("split", [0, 1, 11])
def test_save_load_continue_is_bit_identical(case: Case, split: int, tmp_path: Path) -> None:
    contexts = case.loop.contexts(5, 20)
    whole, broken = case.make(), case.make()
    log = play(case, whole, contexts)
    parts = play(case, broken, contexts[:split])
    broken.save(tmp_path / "learner")
    revived = smidgen.load(tmp_path / "learner")
    assert type(revived) is type(whole)
    assert revived.params.keys() == whole.params.keys()
    assert snapshot(revived) == snapshot(broken)
    parts += play(case, revived, contexts[split:])
    assert same_decisions(log, parts)
    assert snapshot(revived) == snapshot(whole)


@every_case
def test_replaying_the_log_gives_identical_weights(case: Case) -> None:
    contexts = case.loop.contexts(6, 20)
    live, twin = case.make(), case.make()
    log = play(case, live, contexts)
    for decision, feedback in log:
        twin.learn(decision, feedback)
    assert {**snapshot(twin), "decided": 20} == snapshot(live)
    assert twin.decisions == log[-1][0].number, "numbering goes on behind the log"
    if len(log) == len(contexts):  # a filter's drops are in no log of feedback
        assert live.decide(contexts[0]) == twin.decide(contexts[0])


@every_writable
@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
def test_a_decision_survives_json_and_bytes(case: Case, as_csr: bool) -> None:
    contexts = case.loop.contexts(7, 10, as_csr=as_csr)
    live, twin = case.make(), case.make()
    for decision, feedback in play(case, live, contexts):
        again = Decision.from_json(decision.to_json())
        assert again == decision
        assert again.id == decision.id
        assert again.to_json() == decision.to_json()
        assert Decision.from_bytes(decision.to_bytes()) == again
        assert live.recall(live.brief(decision)) == again
        assert len(live.brief(decision)) < len(decision.to_bytes()) < len(decision.to_json())
        twin.learn(live.recall(live.brief(again)), feedback)
    assert {**snapshot(twin), "decided": 10} == snapshot(live)


@every_case
def test_a_refused_call_changes_nothing(case: Case) -> None:
    contexts = case.loop.contexts(8, 14)
    learner = case.make()
    log = play(case, learner, contexts[:10])
    waiting = [learner.decide(context) for context in contexts[10:]]
    before = snapshot(learner)
    with pytest.raises(AlreadyLearnt):
        learner.learn(*log[3])
    with pytest.raises(SmidgenError):
        learner.learn(learner.predict(contexts[0]), 0)
    for context in case.loop.unusable():
        with pytest.raises(SmidgenError):
            learner.decide(context)
        with pytest.raises(SmidgenError):
            learner.predict(context)
    refused = 0
    for decision in waiting:
        for feedback in case.loop.impossible(decision):
            with pytest.raises(SmidgenError):
                learner.learn(decision, feedback)
            refused += 1
    assert refused >= 5
    assert snapshot(learner) == before
    answered = [decision for decision in waiting if may_learn(case, learner, decision)]
    for decision in waiting:
        if decision not in answered:
            with pytest.raises(SmidgenError, match="a dropped item has no label"):
                learner.learn(decision, True)
    assert snapshot(learner) == before
    for decision in answered:
        learner.learn(decision, case.loop.feedback(learner, decision, 0))
    assert learner.rounds == len(log) + len(answered)


@every_writable
def test_a_step_beyond_floating_point_is_refused_whole(case: Case) -> None:
    learner = case.make()
    play(case, learner, case.loop.contexts(9, 5))
    for context in case.loop.huge():
        before = snapshot(learner)
        try:
            decision = learner.decide(context)
            before = snapshot(learner)
            learner.learn(decision, case.loop.feedback(learner, decision, 1))
        except SmidgenError:
            assert snapshot(learner) == before
        assert all(np.isfinite(array).all() for array in learner._state().values())


@every_writable
def test_csr_equals_dense(case: Case) -> None:
    dense, csr = case.make(), case.make()
    play(case, dense, case.loop.contexts(11, 25))
    log = play(case, csr, case.loop.contexts(11, 25, as_csr=True))
    assert snapshot(dense) == snapshot(csr)
    assert len(log) > 5


@every_case
def test_late_and_permuted_feedback_is_taken(case: Case) -> None:
    contexts = case.loop.contexts(12, 20)
    source, straight, permuted = case.make(), case.make(), case.make()
    log = play(case, source, contexts)
    decisions = [permuted.decide(context) for context in contexts]
    assert [d.number for d in decisions] == list(range(1, 21))
    for i in np.random.default_rng(0).permutation(len(log)):
        permuted.learn(*log[i])
    for entry in log:
        straight.learn(*entry)
    assert permuted.rounds == len(log)
    assert permuted._learnt.ranges().tolist() == straight._learnt.ranges().tolist()
    if cards[case.name].order_free:
        np.testing.assert_allclose(permuted.weights, straight.weights, rtol=1e-12, atol=1e-12)


@every_case
def test_a_decision_is_learnt_at_most_once(case: Case, tmp_path: Path) -> None:
    learner = case.make()
    log = play(case, learner, case.loop.contexts(13, 6))
    learner.save(tmp_path / "learner")
    for holder in (learner, smidgen.load(tmp_path / "learner")):
        for decision, feedback in log:
            with pytest.raises(AlreadyLearnt, match="once"):
                holder.learn(decision, feedback)
    assert learner.rounds == len(log)


@every_case
def test_decisions_of_others_are_refused(case: Case) -> None:
    context = case.loop.contexts(14, 1)[0]
    decision = case.make().decide(context)
    feedback = case.loop.feedback(case.make(), decision, 0)
    for name in cards:
        if name != case.name and set(cards[name].loops) & set(cards[case.name].loops):
            with pytest.raises(DecisionMismatch):
                learners[name](**cards[name].example).learn(decision, feedback)
    with pytest.raises(DecisionMismatch, match="other settings"):
        case.make(seed=1).learn(decision, feedback)
    case.make().learn(decision, feedback)


@every_case
def test_unanswered_decisions_cost_nothing(case: Case) -> None:
    contexts = case.loop.contexts(15, 3)
    learner = case.make()
    play(case, learner, contexts)
    before = snapshot(learner)
    for _ in range(500):
        learner.decide(contexts[0])
    after = snapshot(learner)
    assert len(repr(after)) <= len(repr(before)) + 2, "only the counter grew, by two digits"
    assert vars(learner).keys() == vars(case.make()).keys()


def teach(case: Case, learner: Learner, contexts: list[Any]) -> bool:
    """Teach some examples; say whether the learner can be taught at all."""
    before = snapshot(learner)
    for k, context in enumerate(contexts):
        try:
            where = learner.predict() if context is None and "loss" in learner.card.kinds else context  # of a loss
            learner.teach(where, case.loop.answer(learner, context, k))
        except NotTeachable:
            assert snapshot(learner) == before
            with pytest.raises(NotTeachable, match="cannot be taught"):
                learner.teach(context, None)
            return False
    return True


@every_case
def test_taught_saved_loaded_and_continued_is_bit_identical(case: Case) -> None:
    contexts = case.loop.contexts(17, 24)
    whole, broken = case.make(), case.make()
    if not teach(case, whole, contexts[:6]):
        return
    assert (whole.rounds, whole.decisions) == (6, 0), "an example counts as a round and takes no decision number"
    log = play(case, whole, contexts[6:])
    teach(case, whole, contexts[:2])
    teach(case, broken, contexts[:6])
    broken = Learner.from_bytes(broken.to_bytes())
    parts = play(case, broken, contexts[6:])
    broken = Learner.from_bytes(broken.to_bytes())
    teach(case, broken, contexts[:2])
    assert same_decisions(log, parts)
    assert snapshot(broken) == snapshot(whole)
    assert whole.rounds == 8 + len(log)


@every_case
def test_a_refused_example_changes_nothing(case: Case) -> None:
    contexts = case.loop.contexts(18, 6)
    learner = case.make()
    teach(case, learner, contexts)
    before = snapshot(learner)
    for context in case.loop.unusable():
        with pytest.raises(SmidgenError):
            learner.teach(context, case.loop.answer(learner, contexts[0], 0))
    for answer in (None, float("nan"), [[0]], {"rank": 1}):
        if case.loop.form != "structure":
            with pytest.raises(SmidgenError):
                learner.teach(contexts[0], answer)
    assert snapshot(learner) == before


@every_case
def test_weights_are_a_copy(case: Case) -> None:
    learner = case.make()
    play(case, learner, case.loop.contexts(16, 5))
    if case.variant.startswith("kernel") or case.name == "SimpleFil":
        with pytest.raises(NoWeights, match=r"support|estimate"):
            _ = learner.weights
        return
    before = learner.weights
    learner.weights[:] = 99.0
    np.testing.assert_array_equal(learner.weights, before)


@every_learner
def test_params_make_a_twin(name: str) -> None:
    learner = learners[name](**cards[name].example, seed=3)
    twin = type(learner)(**learner.params)
    assert repr(twin) == repr(learner)
    assert twin._settings == learner._settings


@every_learner
def test_arguments_are_keywords(name: str) -> None:
    parameters = list(inspect.signature(learners[name]).parameters.values())
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters)
    assert any(p.name == "seed" and p.default == 0 for p in parameters)


@every_learner
@pytest.mark.parametrize("bad", [-1, 2**64, 1.5, "0", True, None])
def test_a_bad_seed_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(SmidgenError, match="seed"):
        learners[name](**{**cards[name].example, "seed": bad})


@every_learner
def test_damaged_files_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "learner"
    learners[name](**cards[name].example).save(path)
    good = path.read_bytes()
    damaged = [good[:cut] for cut in (0, 1, len(good) // 2, len(good) - 1)]
    for where in (0, 16, 20, *np.random.default_rng(0).integers(len(good), size=20)):
        damaged += [good[:where] + bytes([good[where] ^ 0xFF]) + good[where + 1 :]]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(CorruptFile, match="saved learner"):
            smidgen.load(path)
    path.write_bytes(good)
    assert type(smidgen.load(path)).__name__ == name


@every_learner
def test_a_save_that_fails_leaves_the_old_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "learner"
    learner = learners[name](**cards[name].example)
    learner.save(path)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        learner.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_unregistered_rule_works_but_is_not_saved(tmp_path: Path) -> None:
    class Mine(smidgen.optim.Additive):
        pass

    learner = smidgen.CoactiveLearner(rule=Mine(dim=2))
    decision = learner.decide(smidgen.Choice(np.eye(2)))
    learner.learn(decision, 1)
    np.testing.assert_array_equal(learner.weights, [-1.0, 1.0])
    with pytest.raises(NotSaveable, match=r"@smidgen\.structure"):
        learner.save(tmp_path / "learner")
    assert not list(tmp_path.iterdir())
