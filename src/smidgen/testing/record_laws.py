"""Laws of records: a learner behind a vectorizer is the same learner on the rows that the vectorizer makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.errors import NotTeachable
from smidgen.features import Vectorizer
from smidgen.learners import Learner
from smidgen.learners.pipeline import OFFERS, SINGLES, Pipeline
from smidgen.structures import Candidates
from smidgen.testing.case import Case, picture
from smidgen.testing.forms import CoactiveForm
from smidgen.testing.laws import hold, refused
from smidgen.testing.record_forms import made
from smidgen.testing.row_forms import Filtering, Labelling, labels_of

#: How many rounds are played.
ROUNDS = 12
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
        for record in _records(case, 41, ROUNDS):
            rows = pipeline.context_within(record)
            hold(
                picture(pipeline.predict(record)) == picture(bare.predict(rows)),
                f"predict answers otherwise on records than on their rows (scale={scale})",
            )
            ours, theirs = pipeline.decide(record), bare.decide(rows)
            _same_decision(ours, theirs, scale)
            if case.form.may_learn(bare, theirs):
                told = case.form.feedback(bare, theirs, 0)
                pipeline.learn(ours, told)
                bare.learn(theirs, told)
            _same_state(pipeline, bare, f"learn moves it elsewhere on records than on their rows (scale={scale})")
        for seed, record in enumerate(_records(case, 42, ROUNDS)):
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
    records = _records(case, 43, ROUNDS)
    for record in records:
        pipeline.note(record)  # so that names have their columns, and rows stay as they were decided on
    rows = [pipeline.context_within(record) for record in records]
    pairs = [(pipeline.decide(record), bare.decide(row)) for record, row in zip(records, rows, strict=True)]
    pairs = [pair for pair in reversed(pairs) if case.form.may_learn(bare, pair[1])]
    told = [case.form.feedback(bare, theirs, 1) for _, theirs in pairs]
    for (ours, _), feedback in zip(pairs, told, strict=True):
        pipeline.learn(Decision.from_json(ours.to_json()), feedback)
    bare.learn_many([theirs for _, theirs in pairs], told)
    _same_state(pipeline, bare, "late answers move it elsewhere on records than on their rows")


def a_stream_of_records_is_the_stream_of_their_rows(case: Case) -> None:
    """Labelled records by the verbs, and their rows in compiled code; then the scores of every class."""
    bare: Any
    if not isinstance(case.form, Labelling) or not _reads_rows(case):
        return
    pipeline, bare = _pair(case, scale=False)
    if not hasattr(bare, "run") or not getattr(bare, "exact_stream", True):
        return
    rng, records = np.random.default_rng(44), _records(case, 44, ROUNDS)
    for record in records:
        pipeline.note(record)
    rows = pipeline.features.sparse_rows(records)
    filters = isinstance(case.form, Filtering)
    truth = (rng.random(ROUNDS) < 0.4).tolist() if filters else rng.choice(labels_of(bare), ROUNDS).tolist()
    ours, theirs = pipeline.run(records, truth), bare.run(rows, truth)
    hold(picture(ours.actions) == picture(theirs.actions), "a stream of records shows something else than its rows")
    _same_state(pipeline, bare, "a stream of records moves it elsewhere than its rows")
    if not filters:
        same = picture(pipeline.scores(records)) == picture(bare.scores(rows))
        hold(same, "the scores of records are not those of their rows")


def _reads_rows(case: Case) -> bool:
    """Whether a vectorizer can stand in front of the learner, in this form of its loop."""
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
