"""Laws of a learner's class, of deciding and of remembering.

Of the class: its arguments, its settings, its versions, its card. Of deciding: predict is pure, decide changes nothing
but its counter, randomness is a function of the seed. Of remembering: saved, loaded, replayed, late, at most once.
"""

from __future__ import annotations

import inspect
import random
import tempfile
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from numpy.random import mtrand

import smidgen
from smidgen.decision import Decision
from smidgen.errors import (
    AlreadyLearnt,
    DecisionMismatch,
    InvalidArgument,
    MissingExtra,
    NotTeachable,
    NoWeights,
    SmidgenError,
)
from smidgen.learners import Learner, cards, learners
from smidgen.learners.pipeline import unwrap
from smidgen.serialization import same
from smidgen.settings import defaults_at
from smidgen.structures import structured
from smidgen.testing.laws import Case, decisions_of, hold, picture, refused, snapshot


def the_class_is_registered(case: Case) -> None:
    """Under its name, with its card."""
    hold(learners.get(case.name) is case.cls, f"put @smidgen.register(Card(…)) on {case.name}")
    hold(cards.get(case.name) is case.cls.card, "its card is not the one that it was registered with")


def arguments_are_keywords(case: Case) -> None:
    """All arguments are keywords, and ``seed`` is one of them, 0 if it is left out."""
    parameters = list(inspect.signature(case.cls).parameters.values())
    stray = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    hold(not stray, f"the arguments {', '.join(stray)} can be given without their names: put a * before them")
    hold(any(p.name == "seed" and p.default == 0 for p in parameters), "there is no argument seed=0")


def a_bad_seed_is_refused(case: Case) -> None:
    """A seed is a whole number of at most 64 bits."""
    bad: tuple[Any, ...] = (-1, 2**64, 1.5, "0", True, None)
    for seed in bad:
        refused(f"the seed {seed!r}", partial(case.make, seed=seed))


def params_make_a_twin(case: Case) -> None:
    """``type(learner)(**learner.params)`` has the same settings."""
    learner = case.make(seed=3)
    twin = type(learner)(**learner.params)
    hold(repr(twin) == repr(learner), f"the twin is {twin!r} and the learner {learner!r}")
    hold(twin._settings == learner._settings, "the twin has other settings")


def settings_are_recorded(case: Case) -> None:
    """Learners of one fingerprint are twins: an argument that makes a difference is in ``params``, and is saved."""
    plain = case.make()
    for name, value in _others(case):
        try:
            changed = case.make(**{name: value})
        except SmidgenError:
            continue
        again = Learner.from_bytes(changed.to_bytes())
        hold(again._settings == changed._settings, f"{name}={value!r} is lost when the learner is saved")
        if changed._settings == plain._settings:
            contexts = case.form.contexts(20, 20)
            logs = [decisions_of(case.play(learner, contexts)) for learner in (case.make(), changed)]
            hold(
                logs[0] == logs[1] and snapshot(changed) == _after(case, contexts),
                f"{name}={value!r} makes a difference, and no setting says so: hand it on in params",
            )


def older_versions_can_be_read(case: Case) -> None:
    """Every older number of the settings has its defaults, every older form of the arrays a way to that of today."""
    cls = case.cls
    for number in range(1, cls.settings_version):
        hold(number in cls.older_settings, f"settings_version is {cls.settings_version} and {number} is not known")
        old = cls.at(number, **{**cls.card.example, **case.settings})
        again = Learner.from_bytes(old.to_bytes())
        kept = (again.built_at, again._settings) == (number, old._settings)
        hold(kept, f"a learner of the settings {number} is another after it was saved")
    for number in range(1, cls.state_version):
        hold(
            number in cls.older_state,
            f"state_version is {cls.state_version} and older_state does not say how to read {number}",
        )
    for name, parameter in inspect.signature(cls).parameters.items():
        known = name in defaults_at(cls, cls.settings_version) or parameter.default is inspect.Parameter.empty
        hold(known, f"the default of {name} is not known")


def weights_are_a_copy(case: Case) -> None:
    """A caller who writes to ``weights`` writes to a copy; a learner without weights names what to inspect instead."""
    learner = case.make()
    case.play(learner, case.form.contexts(16, 5))
    try:
        before = learner.weights
    except NoWeights as error:
        hold(error.hint, "a learner without weights says what to look at instead")
        return
    kept, state = before.copy(), snapshot(learner)
    before[...] = 99.0
    hold(np.array_equal(learner.weights, kept), "writing to weights writes to the learner")
    hold(snapshot(learner) == state, "writing to weights has changed what the learner remembers")


def the_card_tells_the_size(case: Case) -> None:
    """`Card.size` is no less than what a fresh learner holds: the service goes by it."""
    learner = case.make()
    held = sum(array.nbytes for array in learner._state().values())
    promised = case.cls.card.size({**defaults_at(case.cls, case.cls.settings_version), **learner.params})
    hold(promised + 256 >= held, f"the card tells {promised} bytes for {learner!r}, which holds {held}")


def _after(case: Case, contexts: list[Any]) -> dict[str, Any]:
    learner = case.make()
    case.play(learner, contexts)
    return snapshot(learner)


def _others(case: Case) -> list[tuple[str, Any]]:
    """Other values for the arguments that are numbers or flags and have a default."""
    found: list[tuple[str, Any]] = []
    given = {**case.cls.card.example, **case.settings}
    for name, parameter in inspect.signature(case.cls).parameters.items():
        value = given.get(name, parameter.default)
        if isinstance(value, bool):
            found.append((name, not value))
        elif isinstance(value, int):
            found.append((name, value + 1))
        elif isinstance(value, float):
            found += [(name, other) for other in (value / 2, value / 2 + 0.25) if other != value]
    return [(name, value) for name, value in found if name not in ("dim", "n_classes")]


def predict_is_pure(case: Case) -> None:
    """Predictions change nothing, draw nothing, and repeat."""
    contexts = case.form.contexts(1, 12)
    learner, quiet = case.make(), case.make()
    case.play(learner, contexts[:8])
    case.play(quiet, contexts[:8])
    before = snapshot(learner)
    first = [learner.predict(context) for context in contexts]
    second = [learner.predict(context) for context in contexts]
    repeated = all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    hold(repeated, "the same prediction, asked for twice, differs")
    hold(snapshot(learner) == before, "a prediction has changed what the learner remembers")
    hold(
        learner.decide(contexts[9]) == quiet.decide(contexts[9]),
        "a decision after predictions differs from one without them",
    )


def predict_is_the_greedy_part_of_decide(case: Case) -> None:
    """A prediction is the decision without exploration."""
    contexts = case.form.contexts(2, 12)
    learner = case.make()
    case.play(learner, contexts)
    for context in contexts:
        made = learner.decide(context)
        greedy, scores = made.greedy, made.scores
        if case.cls.card.averaged:  # decides by the present weights, predicts by their mean
            hold(
                np.array_equal(greedy, context.argmax(learner.weights)), "decision.greedy is not the best under weights"
            )
            greedy = context.argmax(learner.mean_weights)
        said = learner.predict(context)
        tied = scores is not None and _tied(learner, scores, said, greedy)
        hold(tied or np.array_equal(said, greedy), f"predict gives {said!r} and decision.greedy is {greedy!r}")


#: Scores that differ by no more than this share of the highest are tied.
TIE = 1e-12


def _tied(learner: Learner, scores: Any, said: Any, greedy: Any) -> bool:
    """True if a prediction (the first item of the highest score) and a best guess drawn from the scores are tied."""
    labels = getattr(unwrap(learner), "labels", None)
    if isinstance(said, np.ndarray) or (labels is not None and said not in labels):
        return False
    first, drawn = (labels.index(each) if labels is not None else int(each) for each in (said, greedy))
    return bool(first < drawn and abs(scores[first] - scores[drawn]) <= TIE * abs(scores[drawn]))


def decide_changes_nothing_but_its_counter(case: Case) -> None:
    """Decisions are numbered 1, 2, …, and leave all else as it was."""
    contexts = case.form.contexts(3, 20)
    learner = case.make()
    log = case.play(learner, contexts[:10])
    before = snapshot(learner)
    for i, context in enumerate(contexts, start=11):
        number = learner.decide(context).number
        hold(number == i, f"decision {i} has the number {number}")
    hold(snapshot(learner) == {**before, "decided": 30}, "deciding has changed what the learner remembers")
    hold(learner.rounds == len(log), "decisions without feedback count as rounds")


def the_same_seed_gives_the_same_run(case: Case) -> None:
    """Two learners of one seed make the same decisions and learn the same."""
    contexts = case.form.contexts(4, 15)
    one, two = case.make(seed=7), case.make(seed=7)
    first, second = case.play(one, contexts), case.play(two, contexts)
    hold(decisions_of(first) == decisions_of(second), "two runs with one seed differ in their decisions")
    hold(snapshot(one) == snapshot(two), "two runs with one seed differ in what they have learnt")


def global_randomness_is_left_alone(case: Case) -> None:
    """Draws leave the global generators of NumPy and Python unchanged."""
    before = _generators()
    learner, contexts = case.make(), case.form.contexts(4, 10)
    case.play(learner, contexts)
    for context in contexts:
        learner.predict(context)
    hold(picture(_generators()) == picture(before), "it draws from the generators that all of Python shares")


def another_seed_gives_another_run(case: Case) -> None:
    """Draws depend on the seed, for learners whose metadata declares that they draw."""
    if not case.cls.card.draws:
        return
    contexts = case.form.contexts(4, 40)
    runs = [decisions_of(case.play(case.make(seed=seed), contexts)) for seed in (1, 2, 3)]
    if not any(_drew(decision) for run in runs for decision in run):
        return
    first, *others = [[_chosen(decision) for decision in run] for run in runs]
    hold(not all(same(first, other) for other in others), "it draws, and three seeds give one and the same run")


def what_it_is_given_stays_as_it_was(case: Case) -> None:
    """Contexts, decisions and feedback are read, never written to."""
    for as_csr in (False, True):
        contexts = case.form.contexts(19, 8, as_csr=as_csr)
        learner = case.make()
        for context in contexts:
            before = picture(context)
            learner.predict(context)
            hold(picture(context) == before, "predict has written to its context")
            decision = learner.decide(context)
            hold(picture(context) == before, "decide has written to its context")
            if not case.form.may_learn(learner, decision):
                continue
            feedback = case.form.feedback(learner, decision, 0)
            made, given = picture(decision), picture(feedback)
            learner.learn(decision, feedback)
            hold(picture(decision) == made, "learn has written to the decision")
            hold(picture(feedback) == given, "learn has written to the feedback")
            hold(picture(context) == before, "learn has written to the context")


def _generators() -> Any:
    numpy_state: Any = mtrand.get_bit_generator().state
    return [numpy_state, random.getstate()]


def _drew(decision: Decision) -> bool:
    """True if the decision declares it: exploration by confidence draws nothing."""
    return decision.perturbation is not None or (decision.propensity is not None and decision.propensity < 1.0)


def _chosen(decision: Decision) -> Any:
    return decision.action, decision.perturbation, decision.teams


def save_load_continue_is_bit_identical(case: Case) -> None:
    """A learner that was saved and loaded goes on as if nothing had happened."""
    contexts = case.form.contexts(5, 20)
    for split in (0, 1, 11):
        whole, broken = case.make(), case.make()
        log = case.play(whole, contexts)
        parts = case.play(broken, contexts[:split])
        revived = _saved(broken)
        hold(type(revived) is type(whole), f"what was loaded is a {type(revived).__name__}")
        hold(revived.params.keys() == whole.params.keys(), "what was loaded has other params")
        hold(snapshot(revived) == snapshot(broken), f"what was loaded after {split} rounds is not what was saved")
        parts += case.play(revived, contexts[split:])
        hold(
            decisions_of(log) == decisions_of(parts), f"decisions after loading differ from those without ({split} in)"
        )
        hold(snapshot(revived) == snapshot(whole), f"what is learnt after loading differs ({split} in)")


def replay_equals_live(case: Case) -> None:
    """A second learner that learns the log reaches the same state, whether feedback came at once or late."""
    contexts = case.form.contexts(6, 20)
    for lag in (0, 3):
        live, twin = case.make(), case.make()
        log = case.play(live, contexts, lag=lag)
        for decision, feedback in log:
            twin.learn(decision, feedback)
        hold(
            {**snapshot(twin), "decided": 20} == snapshot(live),
            f"a twin that replays the log differs from the live learner (feedback {lag} decisions late): learning must "
            "depend on the decision, the feedback and what was learnt before, and on nothing that deciding left behind",
        )
        hold(twin.decisions == max(d.number for d, _ in log), "numbering does not go on behind the log")
        if len(log) == len(contexts):  # a filter's drops are in no log of feedback
            hold(live.decide(contexts[0]) == twin.decide(contexts[0]), "after a replay the next decision differs")


def many_at_once_are_each_in_turn(case: Case) -> None:
    """Many decisions learnt by one call leave what the same calls of `learn` leave, up to one that is refused."""
    for as_csr, lag, guarded in ((False, 0, False), (False, 3, True), (True, 1, True)):
        contexts = case.form.contexts(8, 60, as_csr=as_csr)
        live = case.make()
        log = case.play(live, contexts, lag=lag)
        wild = next((i for i in range(30, len(log)) if structured(log[i][0].context) is not None), None)
        if guarded and wild is not None and (known := structured(log[wild][0].context)) is not None:
            with suppress(SmidgenError):  # so that the guard has something to do; plugins may not know how
                log[wild] = (structs.replace(log[wild][0], context=known.scaled(1e4)), log[wild][1])
        recalled = live.from_compact_many([live.to_compact(decision) for decision, _ in log])
        hold(recalled == decisions_of(log), "decisions that were recalled together are others")
        feedbacks = [feedback for _, feedback in log]
        verbs, many = (case.make().guard() if guarded else case.make() for _ in range(2))
        for decision, feedback in zip(recalled, feedbacks, strict=True):
            verbs.learn(decision, feedback)
        cuts = [0, 1, len(log) // 8, len(log)]
        for start, end in pairwise(cuts):
            many.learn_many(recalled[start:end], feedbacks[start:end])
        hold(many.to_bytes() == verbs.to_bytes(), "many decisions learnt at once leave something else than one by one")
        half = len(log) // 2
        for bad, why in ((log[0], "one that was learnt already"), ((recalled[half], object()), "strange feedback")):
            verbs, many = (case.make().guard() if guarded else case.make() for _ in range(2))
            for decision, feedback in log[:half]:
                verbs.learn(decision, feedback)
            some, given = zip(*log[:half], bad, *log[half + 1 :], strict=True)
            refused(f"{why}, among many,", many.learn_many, list(some), list(given))
            hold(many.to_bytes() == verbs.to_bytes(), f"{why} among many does not leave what came before it learnt")


def a_decision_survives_json_and_bytes(case: Case) -> None:
    """A decision that was written and read back is the same, and teaches the same."""
    for as_csr in (False, True):
        contexts = case.form.contexts(7, 10, as_csr=as_csr)
        live, twin = case.make(), case.make()
        for decision, feedback in case.play(live, contexts):
            again = Decision.from_json(decision.to_json())
            hold(again == decision and again.id == decision.id, "a decision read back from JSON is another")
            hold(again.to_json() == decision.to_json(), "a decision read back from JSON is written otherwise")
            hold(Decision.from_bytes(decision.to_bytes()) == again, "a decision read back from bytes is another")
            brief = live.to_compact(decision)
            hold(live.from_compact(brief) == again, "a decision recalled from its brief is another")
            hold(len(brief) < len(decision.to_bytes()) < len(decision.to_json()), "a brief is not the shortest form")
            twin.learn(live.from_compact(brief), feedback)
        hold({**snapshot(twin), "decided": 10} == snapshot(live), "decisions read back teach something else")


def csr_equals_dense(case: Case) -> None:
    """Sparse and dense rows with the same features teach the same to the last bit."""
    dense, csr = case.make(), case.make()
    case.play(dense, case.form.contexts(11, 25))
    log = case.play(csr, case.form.contexts(11, 25, as_csr=True))
    hold(snapshot(dense) == snapshot(csr), "sparse rows teach something else than the same rows dense")
    hold(len(log) > 5, "fewer than six of 25 decisions can be learnt from")


def late_and_permuted_feedback_is_taken(case: Case) -> None:
    """Feedback may come in any order; where the card says so, the order does not matter."""
    contexts = case.form.contexts(12, 20)
    source, straight, permuted = case.make(), case.make(), case.make()
    log = case.play(source, contexts)
    numbers = [permuted.decide(context).number for context in contexts]
    hold(numbers == list(range(1, 21)), f"20 decisions have the numbers {numbers}")
    for i in np.random.default_rng(0).permutation(len(log)):
        permuted.learn(*log[i])
    for entry in log:
        straight.learn(*entry)
    hold(permuted.rounds == len(log), "feedback in another order is not all counted")
    hold(
        permuted._learnt.ranges().tolist() == straight._learnt.ranges().tolist(),
        "feedback in another order leaves other numbers learnt",
    )
    if case.cls.card.order_free:
        hold(
            np.allclose(permuted.weights, straight.weights, rtol=1e-12, atol=1e-12),
            "its card says that the order does not matter, and it does",
        )


def a_decision_is_learnt_at_most_once(case: Case) -> None:
    """A second feedback for one decision is refused, by a loaded learner too."""
    learner = case.make()
    log = case.play(learner, case.form.contexts(13, 6))
    for holder in (learner, _saved(learner)):
        for entry in log:
            refused("a decision that was learnt already", holder.learn, *entry, kind=AlreadyLearnt)
    hold(learner.rounds == len(log), "a refused duplicate counts as a round")


def decisions_of_others_are_refused(case: Case) -> None:
    """A decision of another class, or of other settings, teaches nothing; one of a twin does."""
    context = case.form.contexts(14, 1)[0]
    decision = case.make().decide(context)
    feedback = case.form.feedback(case.make(), decision, 0)
    for name, card in cards.items():
        if name != case.name and set(card.loops) & set(case.cls.card.loops):
            try:
                other = learners[name](**card.example)
            except MissingExtra:  # there is none here to refuse anything
                continue
            refused(f"a decision of {case.name}, by {name},", other.learn, decision, feedback, kind=DecisionMismatch)
    other = case.make(seed=1)
    refused("a decision of another seed", other.learn, decision, feedback, kind=DecisionMismatch)
    if case.form.may_learn(other, decision):
        case.make().learn(decision, feedback)


def unanswered_decisions_cost_nothing(case: Case) -> None:
    """Decisions that are never answered leave nothing behind but a count."""
    contexts = case.form.contexts(15, 3)
    learner = case.make()
    case.play(learner, contexts)
    before, size = snapshot(learner), _held(learner)
    for _ in range(500):
        learner.decide(contexts[0])
    after = snapshot(learner)
    hold(len(repr(after)) <= len(repr(before)) + 2, "500 unanswered decisions have left more than a count")
    hold(vars(learner).keys() == vars(case.make()).keys(), "deciding has given the learner attributes of its own")
    hold(_held(learner) <= size + 2, "500 unanswered decisions have left something in a list or a dict of the learner")


def taught_saved_loaded_and_continued_is_bit_identical(case: Case) -> None:
    """Examples count as rounds, take no numbers, and are saved like everything."""
    contexts = case.form.contexts(17, 24)
    whole, broken = case.make(), case.make()
    if not teach(case, whole, contexts[:6]):
        return
    hold(
        (whole.rounds, whole.decisions) == (6, 0),
        "an example must count as a round and take no decision's number",
    )
    log = case.play(whole, contexts[6:])
    teach(case, whole, contexts[:2])
    teach(case, broken, contexts[:6])
    broken = Learner.from_bytes(broken.to_bytes())
    parts = case.play(broken, contexts[6:])
    broken = Learner.from_bytes(broken.to_bytes())
    teach(case, broken, contexts[:2])
    hold(decisions_of(log) == decisions_of(parts), "decisions after being taught and loaded differ")
    hold(snapshot(broken) == snapshot(whole), "what was taught is not all saved")
    hold(whole.rounds == 8 + len(log), "examples and feedback are not all counted")


def a_newcomer_takes_over_a_start(case: Case) -> None:
    """A learner that shares its start gives what a fresh one begins with, and that one is saved like any other."""
    learner, contexts = case.make(), case.form.contexts(18, 30)
    if learner.shared_start is None:
        refused("a start of a learner that has none", learner.start, kind=InvalidArgument)
        return
    hold(learner.shared_start in ("mean", "pooled"), f"a start is shared by {learner.shared_start!r}")
    fresh = snapshot(learner)
    hold(snapshot(learner.start_from(learner.start())) == fresh, "the start of a fresh learner changes a fresh learner")
    case.play(learner, contexts[:20])
    start = learner.start()
    newcomer = case.make(seed=5).start_from(start)
    again = newcomer.start()
    hold(all(np.allclose(again[name], start[name]) for name in start), "a new learner does not begin with its start")
    hold((newcomer.rounds, newcomer.decisions) == (0, 0), "a start counts as something learnt, or decided")
    revived = _saved(newcomer)
    hold(snapshot(revived) == snapshot(newcomer), "a newcomer with a start is not saved whole")
    log = case.play(newcomer, contexts[20:])
    hold(decisions_of(log) == decisions_of(case.play(revived, contexts[20:])), "a saved newcomer goes on otherwise")
    twin = case.make(seed=5).start_from(start)
    for decision, feedback in log:
        twin.learn(decision, feedback)
    hold({**snapshot(twin), "decided": 10} == snapshot(newcomer), "a newcomer's log replays to something else")
    refused("a start for a learner that has learnt", learner.start_from, start, kind=InvalidArgument)


def teach(case: Case, learner: Any, contexts: list[Any]) -> bool:
    """Teach some examples; say whether the learner can be taught at all."""
    before = snapshot(learner)
    for k, context in enumerate(contexts):
        try:
            where = learner.predict() if context is None and "loss" in learner.card.kinds else context  # of a loss
            learner.teach(where, case.form.answer(learner, context, k))
        except NotTeachable:
            hold(snapshot(learner) == before, "a learner that cannot be taught has changed")
            refused("an example", learner.teach, context, None, kind=NotTeachable)
            return False
    return True


def _saved(learner: Learner) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        learner.save(path)
        return smidgen.load(path)


def _held(learner: Learner) -> int:
    """Number of entries in the learner's own lists, dicts and sets."""
    return sum(len(each) for each in vars(learner).values() if isinstance(each, list | dict | set))
