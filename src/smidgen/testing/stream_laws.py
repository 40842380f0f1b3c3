"""Laws of streams: a played stream is what the two verbs do in turn, to the last bit, and its history says so.

A learner behind a vectorizer is the same learner on the rows that the vectorizer makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.errors import NotTeachable
from smidgen.evaluate import losses, play
from smidgen.features import Vectorizer
from smidgen.geometry import Space
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.learners.pipeline import Pipeline, unwrap
from smidgen.learners.record_adapter import OFFERS, SINGLES
from smidgen.serialization import same
from smidgen.structures import Candidates, Choice
from smidgen.testing.inputs import CoactiveForm, Filtering, Labelling, Rewarded, Single, Tuning, labels_of, made
from smidgen.testing.laws import Case, hold, picture, refused, snapshot

#: Number of rounds that are played.
ROUNDS = 16


def a_played_user_is_the_two_verbs(case: Case) -> None:
    """Contexts and a user who answers."""
    contexts = case.form.contexts(31, ROUNDS)
    verbs, played = case.make(), case.make()

    def answer(decision: Decision, t: int) -> Any:
        return case.form.feedback(verbs, decision, 0) if case.form.may_learn(verbs, decision) else None

    decisions, answers = _by_verbs(verbs, contexts, answer)
    script = iter(answers)
    history = play(played, iter(contexts), lambda context, action: next(script))
    _alike(verbs, played, decisions, history)
    hold(same(history.feedback, answers), "the history has other feedback than the user gave")


def a_played_stream_of_answers_is_the_two_verbs(case: Case) -> None:
    """Examples with their labels, items with their relevance, candidates with their rewards."""
    verbs, played = case.make(), case.make()
    for stream, contexts, answer in _answered(case, verbs):
        decisions, _ = _by_verbs(verbs, contexts, answer)
        history = play(played, stream)
        _alike(verbs, played, decisions, history)
        again, _ = _by_verbs(verbs, contexts, answer)
        _alike(verbs, played, again, play(played, stream))


def a_played_stream_of_losses_is_the_two_verbs(case: Case) -> None:
    """Points and what they cost, or the gradient there."""
    verbs, played = case.make(), case.make()
    space = getattr(verbs, "space", None)
    if not isinstance(case.form, Tuning) or not isinstance(space, Space) or getattr(verbs, "knobs", None) is not None:
        return
    middle = space.centre
    bowl = losses.Repeated(lambda x: float(((x - middle) ** 2).sum()), lambda x: 2.0 * (x - middle), rounds=ROUNDS)
    by_gradient = "gradient" in case.cls.card.kinds

    def answer(decision: Decision, t: int) -> Any:
        return bowl.gradient(t, decision.action) if by_gradient else bowl(t, decision.action)

    decisions, _ = _by_verbs(verbs, [None] * ROUNDS, answer)
    history = play(played, bowl)
    _alike(verbs, played, decisions, history)
    cost = [bowl(t, decision.action) for t, decision in enumerate(decisions)]
    hold(same(history.losses, np.array(cost)), "the history has other losses than the points cost")


Answerer = Callable[[Decision, int], Any]


def _by_verbs(learner: Learner, contexts: list[Any], answer: Answerer) -> tuple[list[Decision], list[Any]]:
    """Decide, receive feedback and learn, in turn."""
    decisions, answers = [], []
    for t, context in enumerate(contexts):
        decisions.append(learner.decide(context))
        answers.append(answer(decisions[-1], t))
        if answers[-1] is not None:
            learner.learn(decisions[-1], answers[-1])
    return decisions, answers


def _alike(verbs: Learner, played: Learner, decisions: list[Decision], history: History) -> None:
    hold(snapshot(verbs) == snapshot(played), "the played learner has learnt something else than the two verbs")
    hold(verbs.rounds == played.rounds, "the played learner has learnt other rounds than the two verbs")
    hold(len(history) == len(decisions), "the history has another number of rounds")
    expected = History(
        [decision.action for decision in decisions],
        [decision.greedy for decision in decisions],
        explored=np.array([decision.explored for decision in decisions], np.bool_),
        propensities=np.array([decision.propensity for decision in decisions]),
    ).columns
    for column in ("action", "greedy", "explored", "propensity"):
        if column in history.columns and column in expected:
            columns = [list(history.columns[column]), list(expected[column])]
            hold(columns[0] == columns[1], f"the history's column {column!r} is not what the decisions say")


def _answered(case: Case, learner: Any) -> Iterator[tuple[Any, list[Any], Answerer]]:
    """Labeled streams, if the learner's loop has any: the stream, the contexts, the feedback."""
    rng, form, card = np.random.default_rng(32), case.form, unwrap(learner).card
    if isinstance(form, Rewarded) and "reward" in card.kinds:
        items, rewards = rng.normal(size=(ROUNDS, 3, form.dim)), rng.random((ROUNDS, 3))
        masks = rng.random((ROUNDS, 3)) < 0.7
        masks[:, 1] = True
        contexts = [Choice(rows, mask) for rows, mask in zip(items, masks, strict=True)]
        yield (items, rewards, masks), contexts, lambda decision, t: float(rewards[t, decision.action])
    elif isinstance(form, Filtering) or (isinstance(form, Single) and "relevance" in card.kinds):
        contexts, truth = form.contexts(33, ROUNDS), (rng.random(ROUNDS) < 0.4).tolist()
        given = np.array(contexts) if isinstance(form, Filtering) else contexts
        yield (given, truth), contexts, lambda d, t: truth[t] if form.may_learn(learner, d) else None
    elif isinstance(form, (Labelling, Single)):
        labels = labels_of(unwrap(learner))
        contexts, truth = form.contexts(33, ROUNDS), [labels[i] for i in rng.integers(len(labels), size=ROUNDS)]
        bits = card.kinds[0] == "bit"
        given = np.array(contexts) if isinstance(form, Labelling) else contexts
        yield (given, truth), contexts, lambda d, t: bool(d.action == truth[t]) if bits else truth[t]


#: Number of rounds that are played.
RECORD_ROUNDS = 12
#: Fields of a decision in which a pipeline differs from its inner learner by construction.
_OWN = ("kind", "settings", "context")


def a_pipeline_is_the_bare_learner_on_the_same_rows(case: Case) -> None:
    """Decide, learn, predict and teach on records, and on the rows that were made of them: the same bits.

    Numbers reach the rows as they are, or scaled by statistics that are known before the first round.
    """
    if not _reads_rows(case):
        return
    for scale in (False, True):
        pipeline, bare = _pair(case, scale)
        if scale:
            for record in _records(case, 40, 8):
                pipeline.note(record)
                for each in record.records if isinstance(record, Candidates) else [record]:
                    pipeline.features.learn(each)
        for record in _records(case, 41, RECORD_ROUNDS):
            rows = pipeline.context_within(record)
            hold(
                picture(pipeline.predict(record)) == picture(bare.predict(rows)),
                f"predict answers otherwise on records than on their rows (scale={scale})",
            )
            ours, theirs = pipeline.decide(record), bare.decide(rows)
            _same_decision(ours, theirs, scale)
            if case.form.may_learn(bare, theirs):
                feedback = case.form.feedback(bare, theirs, 0)
                pipeline.learn(ours, feedback)
                bare.learn(theirs, feedback)
            _same_state(pipeline, bare, f"learn moves it elsewhere on records than on their rows (scale={scale})")
        for seed, record in enumerate(_records(case, 42, RECORD_ROUNDS)):
            rows = pipeline.context_within(record)
            answer = case.form.answer(bare, rows, seed)
            try:
                bare.teach(rows, answer)
            except NotTeachable:
                refused("an example for a learner that cannot be taught", pipeline.teach, record, answer)
            else:
                pipeline.teach(record, answer)
        _same_state(pipeline, bare, f"teach moves it elsewhere on records than on their rows (scale={scale})")


def late_answers_on_records_are_those_on_their_rows(case: Case) -> None:
    """All decisions first, then all answers, last first: one by one behind the vectorizer, all at once without it."""
    if not _reads_rows(case):
        return
    pipeline, bare = _pair(case, scale=False)
    records = _records(case, 43, RECORD_ROUNDS)
    for record in records:
        pipeline.note(record)  # so that names have their columns, and rows stay as they were decided on
    rows = [pipeline.context_within(record) for record in records]
    pairs = [(pipeline.decide(record), bare.decide(row)) for record, row in zip(records, rows, strict=True)]
    pairs = [pair for pair in reversed(pairs) if case.form.may_learn(bare, pair[1])]
    answers = [case.form.feedback(bare, theirs, 1) for _, theirs in pairs]
    for (ours, _), feedback in zip(pairs, answers, strict=True):
        pipeline.learn(Decision.from_json(ours.to_json()), feedback)
    bare.learn_many([theirs for _, theirs in pairs], answers)
    _same_state(pipeline, bare, "late answers move it elsewhere on records than on their rows")


def a_stream_of_records_is_the_stream_of_their_rows(case: Case) -> None:
    """Labelled records by the verbs, and their rows in compiled code; then the scores of every class."""
    bare: Any
    if not isinstance(case.form, Labelling) or not _reads_rows(case):
        return
    pipeline, bare = _pair(case, scale=False)
    if not hasattr(bare, "run") or not getattr(bare, "exact_stream", True):
        return
    rng, records = np.random.default_rng(44), _records(case, 44, RECORD_ROUNDS)
    for record in records:
        pipeline.note(record)
    rows = pipeline.features.sparse_rows(records)
    filters = isinstance(case.form, Filtering)
    truth = (
        (rng.random(RECORD_ROUNDS) < 0.4).tolist() if filters else rng.choice(labels_of(bare), RECORD_ROUNDS).tolist()
    )
    ours, theirs = pipeline.run(records, truth), bare.run(rows, truth)
    hold(picture(ours.actions) == picture(theirs.actions), "a stream of records shows something else than its rows")
    _same_state(pipeline, bare, "a stream of records moves it elsewhere than its rows")
    if not filters:
        same = picture(pipeline.scores(records)) == picture(bare.scores(rows))
        hold(same, "the scores of records are not those of their rows")


def _reads_rows(case: Case) -> bool:
    """True if a vectorizer can precede the learner, in this form of its loop."""
    if isinstance(case.form, Labelling):
        fits = bool(SINGLES & {*case.cls.card.loops})
    else:
        fits = isinstance(case.form, CoactiveForm) and case.form.name in ("choice", "ranking")
        fits = fits and bool(OFFERS & {*case.cls.card.loops})
    dim = getattr(case.make(), "dim", None)
    return fits and isinstance(dim, int) and dim >= 2 and not issubclass(case.cls, Pipeline)


def _pair(case: Case, scale: bool) -> tuple[Pipeline, Learner]:
    """The learner behind a vectorizer, and the same learner alone."""
    learner = case.make()
    features = Vectorizer(dim=learner.dim, scale=scale, crosses=())
    pipeline = Pipeline(features=features, learner=learner)
    return pipeline, pipeline.learner.fresh()


def _records(case: Case, seed: int, n: int) -> list[Any]:
    """Records, or candidates, as the loop has them; numbers of any size among them."""
    rng = np.random.default_rng(seed)
    if isinstance(case.form, Labelling):
        return [made(rng) for _ in range(n)]
    top = None if case.form.name == "choice" else 2
    return [Candidates([made(rng) for _ in range(int(rng.integers(2, 5)))], top=top) for _ in range(n)]


def _same_decision(ours: Decision, theirs: Decision, scale: bool) -> None:
    names: Sequence[str] = [name for name in Decision.__struct_fields__ if name not in _OWN]
    for name in names:
        same = picture(getattr(ours, name)) == picture(getattr(theirs, name))
        hold(same, f"a decision on records has another {name!r} than one on their rows (scale={scale})")


def _same_state(pipeline: Pipeline, bare: Learner, sentence: str) -> None:
    hold(picture(pipeline.learner._state()) == picture(bare._state()), sentence)
