"""LabelBank: two models of the probability that a label is correct, both trained on every answer.

The more accurate one decides.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from msgspec import structs
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import bank
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidRecord, NotFinite
from smidgen.features import LONGEST, Row, as_row
from smidgen.learners.bank import COSINES, CURVED, LARGE, LEADERS, Book, Restart, unit_entries
from smidgen.learners.base import as_bit_or_reward, check_shapes, kept_row, register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.label.base import Csr, LabelLearner, Shown, Stream
from smidgen.learners.label.hinge_confidit import HingeConfidit
from smidgen.learners.log_batch import BatchArrays, LogBatch
from smidgen.state.second_order import ActiveColumns, Block, FullClasses, padded

_PREFIX = "curved_"


def _size(settings: Mapping[str, Any]) -> int:
    """Bytes of both models in their largest form, and of the book."""
    dim, book = int(settings["dim"]), 8 * 511
    columns = padded(int(settings.get("n_classes") or len(settings.get("labels") or "12")))
    diagonal = 16 * columns * dim
    if settings.get("covariance", "auto") == "diagonal":
        return diagonal + book
    rows, more = min(dim, LARGE), min(dim + COSINES, LARGE)
    full = sum(8 * columns * n * (n + 1) for n in (rows, more)) + 8 * (dim + COSINES)
    return max(full, diagonal) + book


@register(
    Card(
        loop="label",
        feedback=("bit", "reward"),
        draws=True,
        paper="this library; after Crammer & Gentile 2013, Rahimi & Recht 2007",
        cost="K·(N+100)² (full), K·nnz (diagonal)",
        example={"dim": 4, "n_classes": 3},
        recommended=(Recommended(feedback="bit", strength=3), Recommended(feedback="reward", strength=2)),
        size=_size,
        unit_rows=lambda _: True,
    )
)
class LabelBank(LabelLearner):
    """Show the label of highest score plus uncertainty, by the model that has been closer to the answers so far.

    Parameters
    ----------
    dim
        The number of features d.
    n_classes
        K; labels are 0 … K−1 unless ``labels`` names them.
    covariance
        ``"auto"``: full over the columns in use until a learnt row brings the 257th, diagonal from then on;
        ``"diagonal"``: from the start, and without the curved model.
    floor
        The share of rounds that show a label drawn uniformly from all: then ``decision.propensity`` is known.
    labels
        Names of the labels: any hashable values.
    seed
        Seeds the draws and the directions of the cosines; a draw is a function of the decision's number.

    Notes
    -----
    **Update** x is scaled to unit length. Two models score every label, and learn how right the one shown was, each
    by the rule of `HingeConfidit`: *plain* on x, *curved* on [x, √(2/D)·cos(2π(Ωx + b))] at unit length, D = 100, as
    long as both have full covariances. For the squared errors e of their scores for the label shown (clipped to
    [wrong, 1], against the target), discounted by .999 per answer, the curved one decides if
    Σ(e_plain − e_curved) > √Σ(e_plain − e_curved)². If the mean of the last 100 rewards (a right answer is 1) lies
    below that of the (up to 400) before them by five standard errors, both start from scratch, and `restarts` records
    it.
    **Symbols** x: ``context``, argmax of score plus width: ``decision.action``, scores of the leader:
    ``decision.scores``, κ√(xᵀA⁻¹x): ``decision.widths``.
    **Assumes** nothing that is needed to run; numbers do best at comparable sizes, as a `Pipeline` brings them.
    **Bound** none is known for following one of several models that all learn from what one of them has shown.
    **Cost** the leader's to decide: K·d² (plain), K·(d+100)² (curved); to learn, both for the label shown: d² and
    (d+100)². Diagonal: K·nnz. Memory K·d² + K·(d+100)², d counting the columns in use.
    **Differs** from `HingeConfidit`: a second model that sees curvature; what changes is found and forgotten.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.LabelBank(dim=2, labels=["in", "out"])
    >>> for t in range(400):  # a ring: no plane separates it
    ...     x = np.array([np.cos(t), np.sin(t)]) * (0.5 if t % 2 else 2.0)
    ...     d = learner.decide(x)
    ...     learner.learn(d, d.action == ("in" if t % 2 else "out"))
    >>> learner.restarts
    []

    References
    ----------
    .. [1] K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive regularization.
       Machine Learning 90, 2013.
    .. [2] A. Rahimi, B. Recht. Random features for large-scale kernel machines. NIPS 20, 2007.
    .. [3] A. P. Dawid. Statistical theory: the prequential approach. JRSS A 147, 1984.
    """

    feedback = "one-bit"

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None = None,
        covariance: str = "auto",
        floor: float = 0.0,
        labels: Sequence[Hashable] | None = None,
        seed: int = 0,
    ) -> None:
        self._form = checks.one_of("covariance", covariance, ("auto", "diagonal"))
        self._floor = checks.number("floor", floor, "give a share of the rounds in [0, 1]", at_least=0.0, at_most=1.0)
        params = {"covariance": covariance, "floor": self._floor}
        super().__init__(dim=dim, n_classes=n_classes, labels=labels, dtype=None, params=params, seed=seed)
        self._book = Book()
        self._begin()

    def _begin(self) -> None:
        """Let both models begin."""
        self._plain = self._model(self.dim, self._form)
        self._curved = None if self._form == "diagonal" else self._model(self.dim + COSINES, "auto")

    def _model(self, dim: int, covariance: str) -> HingeConfidit:
        settings: dict[str, Any] = {"labels": self.labels} if self._classes.named else {"n_classes": self.n_classes}
        settings |= {"floor": self._floor, "seed": self._seed}
        return HingeConfidit(dim=dim, covariance=covariance, normalize=False, **settings)

    @property
    def leader(self) -> str:
        """The model that decides: "plain" or "curved"."""
        return LEADERS[CURVED if self._curved_leads else 0]

    @property
    def restarts(self) -> list[Restart]:
        """The latest fresh starts, as (round, reason, decision)."""
        return self._book.restarts

    @property
    def covariance(self) -> str:
        """The covariance of the plain model in force: "full" or "diagonal"."""
        return self._plain.covariance

    @property
    def _curved_leads(self) -> bool:
        return self._curved is not None and self._book.leader == CURVED

    @property
    def weights(self) -> FloatArray:
        """The weights of the leader for rows of unit length, one row per class."""
        return self.seen_weights[:, : self.dim].copy()

    @property
    def seen_weights(self) -> FloatArray:
        """Weights for the row of `seen_row`, with those of the cosine columns if they count."""
        curved = self._curved
        return curved.weights if curved is not None and self._curved_leads else self._plain.weights

    def seen_row(self, row: Row) -> Row:
        """A row as the leader reads it: of unit length, with its cosines if they count."""
        made = self._row(row)
        return self._lifted(made) if self._curved_leads else made

    def _row(self, context: Any) -> Row:
        return as_row(context, self.dim, self._dtype, LONGEST, True)

    def _lifted(self, row: Row) -> Row:
        where, what = unit_entries(row.indices, row.values, self.dim, self._seed, True)
        return Row(where, what, self.dim + COSINES)

    def _decide(self, context: Any, number: int) -> Decision:
        row, curved = self._row(context), self._curved
        if curved is not None and self._curved_leads:
            made = curved._decide(self._lifted(row), number)
        else:
            made = self._plain._decide(row, number)
        return structs.replace(made, kind=self._kind, settings=self._settings, context=row)

    def _predict(self, context: Any) -> Any:
        row, curved = self._row(context), self._curved
        if curved is not None and self._curved_leads:
            return curved._predict(self._lifted(row))
        return self._plain._predict(row)

    def _learn(self, decision: Decision, feedback: Any, taught: bool = False) -> None:
        reward, row = as_bit_or_reward(feedback), kept_row(decision, self.dim, self._dtype)
        c, curved = self._classes.index(decision.action), self._curved
        wrong = self._plain._in_force(self._plain.covariance)[1]
        target = wrong + (1.0 - wrong) * reward
        plain = _learn_model(self._plain, row, c, reward, wrong)
        other = None
        if curved is not None:
            other = (_clipped(_learn_model(curved, self._lifted(row), c, reward, wrong), wrong) - target) ** 2
            if "diagonal" in (curved.covariance, self._plain.covariance):
                self._curved = None
        book, number = self._book, decision.number
        book.follow((_clipped(plain, wrong) - target) ** 2, other)
        if taught:
            return
        if book.is_next(number):
            book.take_turn(number)
            fallen = book.count(reward)
        else:
            fallen = book.count_late(number, reward)
        if fallen:
            book.start_again(self.rounds + 1, number)
            self._begin()

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        self._classes.index(answer)
        self._learn(structs.replace(self._decide(context, number), action=answer), True, taught=True)

    def _score_rows(self, rows: Csr, out: Block) -> None:
        indices, values, starts = rows
        for t in range(len(starts) - 1):
            part = slice(starts[t], starts[t + 1])
            row = self.seen_row(Row(indices[part], values[part], self.dim))
            out[t, : self.n_classes] = self.seen_weights[:, row.indices] @ row.values

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        return None  # by the verbs

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        self._play_by_verbs(stream, first, shown)

    @property
    def _columns(self) -> int:
        return self._plain._columns

    def add_classes(self, *labels: Hashable) -> None:
        """Announce labels that were not known before, to each model."""
        super().add_classes(*labels)
        for model in (self._plain, self._curved):
            if model is not None and model.n_classes < self.n_classes:
                model.add_classes(*self.labels[model.n_classes :])

    def _widen(self, columns: int) -> None:
        """Leave it to the models: `add_classes` passes labels on."""

    @property
    def shared_start(self) -> str | None:
        """With the weights of the plain model of one that was taught everything."""
        return "pooled"

    def _start(self) -> dict[str, NDArray[Any]]:
        return {"w": self._plain.weights}

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._plain._start_from(start)
        if self._plain.covariance == "diagonal":
            self._curved = None

    def _state(self) -> dict[str, NDArray[Any]]:
        curved = {} if self._curved is None else self._curved._state()
        return self._plain._state() | self._book.arrays() | {_PREFIX + name: each for name, each in curved.items()}

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        plain, curved, book = _apart(state)
        check_shapes(Book().arrays(), book)
        Book.check(book)
        self._plain._check_state(plain)
        if curved and (self._curved is None or "S" in plain or "S" in curved):
            raise InvalidRecord("it has a curved model next to a diagonal one", "give what Learner.save wrote")
        if curved and self._curved is not None:
            self._curved._check_state(curved)

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        plain, curved, book = _apart(state)
        self._begin()
        self._plain._restore(plain)
        if curved and self._curved is not None:
            self._curved._restore(curved)
        else:
            self._curved = None
        self._book.restore(book)


def _apart(state: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], ...]:
    """The arrays of the plain model, of the curved one, of the book."""
    book = {name: state[name] for name in Book.KEYS if name in state}
    curved = {name.removeprefix(_PREFIX): each for name, each in state.items() if name.startswith(_PREFIX)}
    plain = {name: each for name, each in state.items() if name not in book and not name.startswith(_PREFIX)}
    return plain, curved, book


def _clipped(score: float, wrong: float) -> float:
    return min(max(score, wrong), 1.0)


def _learn_model(model: HingeConfidit, row: Row, c: int, reward: float, wrong: float) -> float:
    """Let one model learn how right class c was; its score of before."""
    state, idx, val = model._state_of, row.indices, row.values
    new = 0
    if isinstance(state, ActiveColumns):
        idx, val, new, _ = state.part(idx, val)
        full: FullClasses | None = state.full
    else:
        full = state if isinstance(state, FullClasses) else None
    if full is not None and not new:
        score = bank.learn_class(full.W, full.B, idx, val, c, reward, wrong)
    else:
        score = math.nan
        if model._step(row, c, reward, -1):  # no decision whose moments stand ready
            now = model._state_of
            score = float((now.full if isinstance(now, ActiveColumns) else now).moments[0, c])
    if math.isnan(score):
        raise NotFinite("the features lead to scores that are not finite", "scale them down")
    return score
