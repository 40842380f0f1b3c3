"""Base class of learners that choose by reward: candidates in, one of them out, a number in [0, 1] as feedback."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import choose
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeatures, InvalidFeedback, NotFinite
from smidgen.features import Rows, as_stream, check_dim
from smidgen.features.rows import DenseRows, SparseRows, check_finite, is_sparse
from smidgen.history import History
from smidgen.learners.base import PricedLearner, as_reward, check_shapes
from smidgen.learners.log_batch import (
    DECIDE,
    BatchArrays,
    BatchLearner,
    LearnerSteps,
    LogBatch,
    LogStep,
    Outcomes,
    make_outcomes,
)
from smidgen.learners.pacing import Budget, Pacer, Quote
from smidgen.randomness import COIN, DIRECTION, SLOT_STREAMS, U64, stream_key
from smidgen.state.sqrt_ridge import (
    FULL,
    LEARNT,
    CandidateArrays,
    ColumnRidge,
    Estimates,
    Slots,
    SqrtRidge,
    candidate_arrays,
)
from smidgen.structures import Choice
from smidgen.structures.slots import Page, slot_feedback

Mask = NDArray[np.bool_]
#: Rules: the highest upper confidence bound, inverse gaps, the argmaxes of posterior samples.
UCB, GAPS, SAMPLES = 0, 1, 2
#: Places in a learner's array of numbers: the rounds learned, then its settings.
ROUNDS, RULE, WIDTH, GAMMA, FLOOR, MIN_SHARE, DRAWS, RIDGE, KEEP, COUNT, NUMBERS = range(11)
#: In place of an action: a number is not finite; the least shares add up to more than 1.
NOT_FINITE, TOO_MUCH = -1, -2
#: The action, the greedy one, and the probability of the action.
Settled: TypeAlias = tuple[int, int, float]
#: What is played: the rows of all candidates; how many rows lie between one round and the next (0: the same again);
#: which candidates are on offer, a row for each round, or one for all, or none; the rewards, a row for each round.
Played: TypeAlias = tuple[CandidateArrays, int, Mask, FloatArray]
#: What was shown in each round, what had the highest estimate, and the probability of what was shown.
Shown: TypeAlias = tuple[IntArray, IntArray, FloatArray]


def candidates(context: Any, dim: int) -> tuple[Rows, Mask]:
    """The rows of the candidates, and which of them are on offer (an empty mask: all)."""
    if type(context) is Choice:
        rows, mask = context.rows, context.mask
    else:
        rows, mask = _other_candidates(context)
    if rows.shape[1] != dim:
        check_dim(rows, dim, "items")
    return rows, mask


def _other_candidates(context: Any) -> tuple[Rows, Mask]:
    """Rows of an object that is like a choice: it has rows, and an availability."""
    rows, mask = getattr(context, "rows", None), getattr(context, "available", None)
    if not isinstance(rows, (DenseRows, SparseRows)) or not isinstance(mask, np.ndarray):
        raise InvalidArgument(
            f"the context is a {type(context).__name__} without rows of candidates",
            "give a Choice: smidgen.Choice(items), one row of features per candidate",
        )
    return rows, np.ascontiguousarray(mask)


def chosen(action: Any, rows: Rows, mask: Mask) -> int:
    """The action as the index of a candidate that was on offer."""
    if (type(action) is not int and not checks.is_whole(action)) or not 0 <= action < rows.shape[0]:
        raise InvalidFeedback(f"the action is {action!r}", f"give one of 0 … {rows.shape[0] - 1}")
    if len(mask) and not mask[action]:
        raise InvalidFeedback(f"candidate {action} was not offered", "name a candidate that was offered")
    return int(action)


def as_played(items: Any, rewards: Any, available: Any, dim: int) -> Played:
    """Input of `RewardLearner.run`: rows, the stride from round to round, masks, rewards."""
    table = _rewards(rewards)
    T, K = table.shape
    rows, n = _sparse(items, dim) if is_sparse(items) else _dense(items, T, K, dim)
    if n not in (K, T * K):
        raise InvalidFeatures(f"items has {n} rows and rewards is {T} × {K}", f"give {K} rows, or {K} rows per round")
    shared = n == K and (T > 1 or np.ndim(items) == 2)
    return rows, 0 if shared else K, _masks(available, T, K), table


def _sparse(items: Any, dim: int) -> tuple[CandidateArrays, int]:
    """The rows of a sparse matrix, and how many there are; not copied, since a stream is over before it can change."""
    rows = as_stream(items, dim, np.float64)
    return rows, len(rows[2]) - 1


def _dense(items: Any, T: int, K: int, dim: int) -> tuple[CandidateArrays, int]:
    """Candidate arrays of a dense array."""
    matrix = np.ascontiguousarray(_matrix(items, T, K))
    if matrix.dtype.kind not in "fiub" or matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidFeatures(
            f"items has shape {matrix.shape} and dtype {matrix.dtype}", "give T × K × dim numbers, or K × dim"
        )
    rows = DenseRows(matrix.astype(np.float64, copy=False))
    check_dim(rows, dim, "items")
    check_finite(rows.array, "items", "give finite numbers")
    return candidate_arrays(rows), rows.shape[0]


def _matrix(items: Any, T: int, K: int) -> Any:
    """The rows of all rounds one under the other."""
    try:
        given = np.asarray(items)
    except (ValueError, TypeError) as error:
        raise InvalidFeatures(f"items is not an array: {error}", "give T × K × dim numbers, or K × dim") from error
    if given.ndim == 3:
        if given.shape[:2] != (T, K):
            raise InvalidFeatures(
                f"items has shape {given.shape} and rewards is {T} × {K}", f"give {T} × {K} × dim numbers, or {K} × dim"
            )
        return given.reshape(T * K, given.shape[2])
    return given


def _rewards(rewards: Any) -> FloatArray:
    hint = "give one row per round, and in it a number in [0, 1] per candidate"
    try:
        table = np.ascontiguousarray(rewards)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"rewards is not a table: {error}", hint) from error
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "fiub":
        raise InvalidArgument(f"rewards has shape {table.shape} and dtype {table.dtype}", hint)
    table = table.astype(np.float64, copy=False)
    if not ((table >= 0.0) & (table <= 1.0)).all():  # NaN too
        wrong = table[~((table >= 0.0) & (table <= 1.0))][0]
        raise InvalidArgument(f"rewards holds {wrong} and must be in [0, 1]", hint)
    return table


def _masks(available: Any, T: int, K: int) -> NDArray[np.bool_]:
    """Masks of the offered candidates: K bools for each round in turn, or K for all rounds, or none."""
    if available is None:
        return np.empty(0, np.bool_)
    hint = f"give {K} bools, or {T} × {K}, at least one of them true in every round"
    try:
        masks = np.atleast_2d(np.ascontiguousarray(available))
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"available is {available!r}", hint) from error
    if masks.dtype.kind != "b" or masks.shape not in ((1, K), (T, K)):
        raise InvalidArgument(f"available has shape {masks.shape} and dtype {masks.dtype}", hint)
    if not masks.any(axis=1).all():
        raise InvalidArgument("available leaves no candidate to choose in some round", hint)
    return masks.astype(np.bool_, copy=False).reshape(-1)


#: Columns in use up to which A is kept in full where that is left to the learner.
LARGE = 256
_NO_SCORES: FloatArray = np.empty(0)
#: Prices and shares of a learner without a budget.
_FREE = (_NO_SCORES, _NO_SCORES)
_NO_MARKS: Slots = np.empty(0, np.int32)
_NO_MASK: Mask = np.empty(0, np.bool_)
_Ridge: TypeAlias = SqrtRidge | ColumnRidge


def bytes_of_state(settings: Mapping[str, Any]) -> int:
    """Bytes of state for given settings: of A in full, as far as it may grow, or of its diagonal."""
    dim, columns = int(settings["dim"]), 3 if settings.get("forgetting", 1.0) < 1.0 else 2
    if settings.get("covariance", "auto") == "diagonal":
        return 8 * columns * dim
    rows = dim if settings.get("covariance") == "full" else min(dim, LARGE)
    wide = -(-(rows + 2) // 8) * 8  # rows are padded to lanes
    return 8 * (rows * wide * (columns - 1) + columns * (dim if dim > rows else 0))


class RewardLearner(PricedLearner, BatchLearner):
    """Base of learners that choose one of several candidates and receive the reward of that one only.

    A ridge regression of rewards on joint features, one weight vector for all candidates. How its estimates lead to a
    choice is up to the rule.
    """

    #: Candidates for several slots are chosen slot by slot.
    fills_slots = True

    def __init__(
        self,
        rule: int,
        *,
        dim: int,
        ridge: float,
        covariance: str,
        forgetting: float,
        floor: float,
        min_share: float,
        params: Mapping[str, Any],
        seed: int,
        width: float = 1.0,
        gamma: float = 0.0,
        draw: bool = True,
        samples: int = 0,
        fixed: tuple[str, ...] = (),
        budget: Budget | None = None,
    ) -> None:
        self.dim = checks.dimension(dim)
        ridge = checks.number("ridge", ridge, "give a number > 0, e.g. ridge=1.0", above=0.0)
        hint = "give a number in (0, 1]; 1 forgets nothing"
        keep = checks.number("forgetting", forgetting, hint, above=0.0, at_most=1.0)
        hint = "give the share of the choices that is spread evenly, in [0, 1]"
        floor = checks.number("floor", floor, hint, at_least=0.0, at_most=1.0)
        hint = "give the least probability of each candidate, in [0, 1]"
        min_share = checks.number("min_share", min_share, hint, at_least=0.0, at_most=1.0)
        checks.one_of("covariance", covariance, ("auto", "full", "diagonal"))
        settings = {"dim": self.dim, "ridge": ridge, **params, "covariance": covariance, "forgetting": keep}
        for name in fixed:  # no arguments of its constructor
            del settings[name]
        settings |= {"floor": floor, "min_share": min_share}
        if budget is not None:
            if not isinstance(budget, Budget):
                raise InvalidArgument(f"budget is {checks.shown(budget)}", 'give smidgen.Budget({"usd": 0.001})')
            settings["budget"] = budget
        super().__init__(params=settings, seed=seed)
        self._pacer = None if budget is None else Pacer(budget.limits, self.dim)
        self._quote: Quote | None = None  # of the decision that is being made
        self._numbers = np.zeros(NUMBERS)
        self._numbers[RULE:] = rule, width, gamma, floor, min_share, draw, ridge, keep, samples
        self._keys = self._keys_of(0)
        self._ridge: _Ridge
        if covariance == "diagonal":
            self._ridge = ColumnRidge(self.dim, ridge, keep)
        else:
            claimed = covariance == "auto" and self.dim > LARGE
            self._ridge = SqrtRidge(self.dim, ridge, keep, LARGE if claimed else None)
        self._samples = rule == SAMPLES
        self._alone = not self._samples  #: whether its ridge and a bound are all that there is to a choice
        self._marks = np.full(self.dim, -1, np.int32) if self._samples else _NO_MARKS

    def _keys_of(self, slot: int) -> U64:
        """The keys by which is drawn for a slot; those of the first are those of decisions without slots."""
        streams = COIN + SLOT_STREAMS * slot, DIRECTION + SLOT_STREAMS * slot
        return np.concatenate([stream_key(self._seed, stream) for stream in streams])

    @property
    def weights(self) -> FloatArray:
        """A copy of the weights w: the estimate of a reward is w·x."""
        ridge = self._ridge
        return ridge.weights if isinstance(ridge, SqrtRidge) else ridge.faded(self._numbers[ROUNDS])[0]

    @property
    def covariance(self) -> str:
        """The form of A in force: "full" or "diagonal"."""
        return self._ridge.covariance

    def run(self, items: Any, rewards: Any, *, available: Any = None) -> History:
        """Play a stream in which the reward of every candidate is known: round for round what the two verbs would do.

        The learner receives the reward of the chosen item only. It is updated in place; call again to continue.

        Parameters
        ----------
        items
            The features of the candidates: an array of T × K × dim; or, if they are the same in every round, K × dim;
            or a CSR matrix of T·K rows (those of the first round first), or of K.
        rewards
            The rewards, T × K numbers in [0, 1].
        available
            Which candidates may be chosen: K bools, or T × K; all of them if left out.

        Examples
        --------
        >>> import numpy as np, smidgen
        >>> learner = smidgen.LinUCB(dim=2, floor=0.0)
        >>> learner.run(np.eye(2), np.tile([0.2, 0.8], (100, 1))).actions[-3:]
        array([1, 1, 1])
        """
        if self._pacer is not None:
            raise InvalidArgument("run takes no costs, and this learner has a budget", "call decide and learn instead")
        played = as_played(items, rewards, available, self.dim)
        table, first = played[3], self._decided + 1
        T = len(table)
        shown: Shown = (np.empty(T, np.int64), np.empty(T, np.int64), np.empty(T))
        before = self._kept()
        try:
            self._play(played, first, shown)
        except BaseException:
            self._put_back(before)
            raise
        self._learnt_next(T)
        actions, greedy, p = shown
        masks = played[2].reshape(-1, table.shape[1]) if len(played[2]) else np.ones((1, 1), np.bool_)
        best = np.where(masks, table, -np.inf).max(axis=1)
        return History(
            actions,
            greedy,
            learner=self._kind,
            loop="choose",
            rewards=table[np.arange(T), actions],
            best=best,
            propensities=p,
        )

    def _kept(self) -> Any:
        """All that a stream changes, for `_put_back`."""
        return deepcopy(self._ridge), self._numbers.copy()

    def _put_back(self, kept: Any) -> None:
        self._ridge, self._numbers = kept

    def _play(self, played: Played, first: int, shown: Shown) -> None:
        """Play the rounds; where the state must change its form, do so and go on."""
        t, T = 0, len(played[3])
        while t < T:
            ridge, place = self._ridge, (first, t)
            if isinstance(ridge, SqrtRidge):
                parts = ridge.R, ridge.slots, ridge.used, ridge.F
                t, why = choose.play_root(*parts, self._numbers, self._keys, played, place, shown)
            else:
                t, why = choose.play_columns(ridge.D, self._marks, self._numbers, self._keys, played, place, shown)
            if t < T and why == FULL:
                self._make_space(played[0], t * played[1] + int(shown[0][t]))
            elif t < T:
                refuse(why)

    def _decide(self, context: Any, number: int) -> Decision:
        if type(context) is Page:
            return self._decide_page(context, number)
        rows, mask = candidates(context, self.dim)
        K, (idx, val, starts), ridge = rows.shape[0], rows.offer or candidate_arrays(rows), self._ridge
        scores, widths, p = np.empty(K), np.empty(K), np.empty(K)
        prices: dict[str, float] | None = None
        costs: dict[str, FloatArray] | None = None
        if self._pacer is not None:
            settled, quoted = self._settle_priced(self._pacer, context, number, rows, mask, (scores, widths, p))
            prices, costs = self._pacer.prices, quoted.costs
        elif self._alone and type(ridge) is SqrtRidge:  # the usual case, without another call
            R, slots, numbers, keys = ridge.R, ridge.slots, self._numbers, self._keys
            settled = choose.decide_root(R, slots, idx, val, starts, 0, mask, numbers, keys, number, scores, widths, p)
        else:
            settled = self._choose(rows, mask, number, (scores, widths, p))
        action, greedy, propensity = settled
        if action < 0:
            refuse(action)
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=action,
            greedy=greedy,
            context=context,
            explored=action != greedy,
            propensity=propensity,
            propensities=p,
            scores=scores,
            widths=widths,
            price=prices,
            costs=costs,
        )

    def _decide_page(self, page: Page, number: int) -> Decision:
        """A choice for each slot, among the candidates that are left."""
        n, K = len(page), len(page.choices[0])
        table = np.empty((n, K)), np.empty((n, K)), np.empty((n, K))
        actions, explored, chance = np.empty(n, np.int64), False, 1.0
        costs: dict[str, list[FloatArray]] = {}
        for i, choice in enumerate(page.choices):
            mask = page.layout.open(i, actions[:i].tolist())
            settled, quoted = self._settle_slot(choice, mask, number, i, (table[0][i], table[1][i], table[2][i]))
            actions[i] = settled[0]
            explored = explored or settled[0] != settled[1]
            chance *= settled[2]
            for name, each in (quoted or {}).items():
                costs.setdefault(name, []).append(each)
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=actions,
            greedy=self._predict_page(page) if explored else actions,
            context=page,
            explored=explored,
            propensity=chance,
            propensities=table[2],
            scores=table[0],
            widths=table[1],
            price=None if self._pacer is None else self._pacer.prices,
            costs={name: np.array(each) for name, each in costs.items()} if self._pacer is not None else None,
        )

    def _settle_slot(
        self, choice: Choice, mask: Mask, number: int, slot: int, out: Estimates
    ) -> tuple[Settled, dict[str, FloatArray] | None]:
        """The choice for one slot, and what the candidates cost there."""
        rows, keys, quoted = candidates(choice, self.dim)[0], self._keys_of(slot), None
        if self._pacer is None:
            settled = self._choose(rows, mask, number, out, keys)
        else:
            settled, quote = self._settle_priced(self._pacer, choice, number, rows, mask, out, keys)
            quoted = quote.costs
        if settled[0] < 0:
            refuse(settled[0])
        return settled, quoted

    def _settle_priced(
        self,
        pacer: Pacer,
        context: Any,
        number: int,
        rows: Rows,
        mask: Mask,
        out: Estimates,
        keys: U64 | None = None,
    ) -> tuple[Settled, Quote]:
        """Compute estimates as without a budget, then choose with prices."""
        keys = self._keys if keys is None else keys
        self._quote = quoted = pacer.quote(rows, mask, getattr(context, "costs", None))
        try:
            settled = self._choose(rows, mask, number, out, keys)
        finally:
            self._quote = None
        if not self._samples and settled[0] != NOT_FINITE:
            pricing = quoted.penalty, quoted.shares
            settled = choose.choose_priced(mask, self._numbers, keys, number, *out, pricing)
        return settled, quoted

    def _priced_rows(self, decision: Decision) -> Rows:
        if type(decision.context) is Page:
            return decision.context.all_rows()
        return candidates(decision.context, self.dim)[0]

    def _choose(self, given: Rows, mask: Mask, number: int, out: Estimates, keys: U64 | None = None) -> Settled:
        """The action, the greedy one and the action's propensity."""
        rows, ridge, numbers = candidate_arrays(given), self._ridge, self._numbers
        keys = self._keys if keys is None else keys
        pricing = _FREE if self._quote is None else (self._quote.penalty, self._quote.shares)
        if isinstance(ridge, SqrtRidge):
            R, slots = ridge.R, ridge.slots
            if self._samples:
                return choose.sample_root(R, slots, ridge.used, *rows, 0, mask, numbers, keys, number, *out, pricing)
            return choose.decide_root(R, slots, *rows, 0, mask, numbers, keys, number, *out)
        if self._samples:
            return choose.sample_columns(ridge.D, self._marks, *rows, 0, mask, numbers, keys, number, *out, pricing)
        return choose.decide_columns(ridge.D, *rows, 0, mask, numbers, keys, number, *out)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        if type(decision.context) is Page:
            self._learn_page(decision, feedback)
            return
        reward = as_reward(feedback)
        try:
            rows, mask = candidates(decision.context, self.dim)
        except InvalidArgument as error:
            raise DecisionMismatch(
                f"decision {decision.id}: {error.problem}", "pass the decision as decide returned it"
            ) from error
        self._learn_row(rows, chosen(decision.action, rows, mask), reward, decision.number)

    def _learn_page(self, decision: Decision, feedback: Any) -> None:
        """Learn the rewards of the slots that have one, in the order of the slots."""
        page, actions = decision.context, np.asarray(decision.action)
        if actions.shape != (len(page),):
            raise InvalidFeedback(f"the action is {decision.action!r}", f"give an index for each of {len(page)} slots")
        rewards = [(i, as_reward(reward)) for i, reward in slot_feedback(page.slot_ids, feedback)]
        self._learn_slots(page, {i: (int(actions[i]), reward) for i, reward in rewards}, decision.number)

    def _learn_slots(self, page: Page, answers: Mapping[int, tuple[int, float]], number: int | None = None) -> None:
        """Learn the actions and rewards of slots; all of them, or none."""
        steps = []
        for i, (action, reward) in answers.items():
            rows = candidates(page.choices[i], self.dim)[0]
            steps.append((rows, chosen(action, rows, _NO_MASK), reward))
        before = self._kept() if len(steps) > 1 else None
        try:
            for step in steps:
                self._learn_row(*step, number)
        except BaseException:
            if before is not None:
                self._put_back(before)
            raise

    def teach_along(self, batch: LogBatch) -> list[FloatArray]:
        """Teach the answers of a batch, and predict its decisions, which take no number.

        Returns
        -------
        By step: the estimates of all candidates, each knowing what was taught before it, brought into [0, 1]; of
        answers nothing that means anything.
        """
        if (arrays := self._takes(batch)) is None:
            return [self._taught_by(step) for step in batch.steps]
        outcomes, total, done = make_outcomes(batch), len(batch.steps), 0
        own = LearnerSteps(np.zeros(total, np.int64), np.arange(total))
        by_verbs: dict[int, FloatArray] = {}
        while done < total:
            reached = self._ahead(arrays, own, done, total, outcomes)
            self._taught += int((arrays.actions[done:reached] >= 0).sum())
            if reached < total:
                by_verbs[reached] = self._taught_by(batch.steps[reached])
            done = reached + 1
        scores, rows = (
            np.clip(outcomes.scores, 0.0, 1.0),
            zip(arrays.first.tolist(), arrays.counts.tolist(), strict=True),
        )
        return [by_verbs.get(t, scores[first : first + count]) for t, (first, count) in enumerate(rows)]

    def _taught_by(self, step: LogStep) -> FloatArray:
        """Learn one step of `teach_along`."""
        if step.action == DECIDE:
            scores = self._decide(step.context, 0).scores
            return _NO_SCORES if scores is None else np.clip(scores, 0.0, 1.0)
        self.teach(step.context, (step.action, step.feedback))
        return _NO_SCORES

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        fades = isinstance(self._ridge, SqrtRidge) and self._ridge.keep < 1.0
        if fades or self._pacer is not None or batch.labels or bool in batch.feedback_types:
            return None
        return super()._takes(batch)

    def _ahead(self, arrays: BatchArrays, own: LearnerSteps, begin: int, end: int, outcomes: Outcomes) -> int:
        ridge, numbers, keys = self._ridge, self._numbers, self._keys
        if isinstance(ridge, SqrtRidge):
            return choose.follow_root(
                ridge.R, ridge.slots, ridge.used, numbers, keys, arrays, own, begin, end, outcomes
            )
        return choose.follow_columns(ridge.D, self._marks, numbers, keys, arrays, own, begin, end, outcomes)

    def _note(self, decision: Decision) -> tuple[int, int]:
        if type(decision.action) is not int:
            raise InvalidFeedback(f"the action is {decision.action!r}, not an index", "give the index of a candidate")
        return decision.action, decision.action  # its rewards are learnt without the greedy one

    def _as_decided(self, context: Any, number: int, action: int, greedy: int, chance: float | None) -> Decision:
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=action,
            greedy=greedy,
            context=context,
            propensity=chance,
        )

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """Learn the reward of a known example: the answer is (action, reward), or such a pair for each slot."""
        if type(context) is Page:
            self._teach_page(context, answer)
            return
        rows, mask = candidates(context, self.dim)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise InvalidFeedback(
                f"the answer is {answer!r}", "give (action, reward): the candidate that was shown, and its reward"
            )
        reward = as_reward(answer[1])
        self._learn_row(rows, chosen(answer[0], rows, mask), reward)

    def _teach_page(self, page: Page, answer: Any) -> None:
        hint = 'give (action, reward) by slot, e.g. {"hero": (0, 1.0)}'
        if not isinstance(answer, Mapping):
            raise InvalidFeedback(f"the answer is {answer!r}", hint)
        answers: dict[int, tuple[int, float]] = {}
        for i, pair in slot_feedback(page.slot_ids, answer):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise InvalidFeedback(f"the answer of slot {page.slot_ids[i]!r} is {pair!r}", hint)
            answers[i] = pair[0], as_reward(pair[1])
        self._learn_slots(page, answers)

    def _learn_row(self, rows: Rows, action: int, reward: float, number: int | None = None) -> None:
        """Learn the reward of one row, of the decision of that number if it was one."""
        ridge, given = self._ridge, rows.offer or candidate_arrays(rows)
        if isinstance(ridge, SqrtRidge):
            if ridge.keep == 1.0:
                R, slots, (idx, val, starts) = ridge.R, ridge.slots, given
                why = choose.hear_root(R, slots, ridge.used, idx, val, starts, action, reward, self._numbers)
                if why == LEARNT:
                    return
            else:
                why = ridge.fade(given, action, reward)
            if why == FULL:
                self._make_space(given, action)
                self._learn_row(rows, action, reward)
                return
        else:
            why = ridge.hear(given, action, reward, self._numbers[ROUNDS])
        if why != LEARNT:
            refuse(-1)
        self._numbers[ROUNDS] += 1.0

    def _make_space(self, given: CandidateArrays, row: int) -> None:
        """More rows for columns that come into use; beyond the most that there may be, A becomes its diagonal."""
        ridge = self._ridge
        if isinstance(ridge, SqrtRidge):
            wanted = int(ridge.used[0]) + ridge.missing(given, row)
            if wanted <= LARGE:
                ridge.grow(min(LARGE, max(wanted, 2 * len(ridge.R))))
            else:
                now = self._numbers[ROUNDS]
                self._ridge = ColumnRidge.of(ridge.weights, ridge.diagonal, ridge.ridge, ridge.keep, now)

    @property
    def shared_start(self) -> str | None:
        """With the weights of one that was taught everything; A begins at a·I unless the rule shares it."""
        return "pooled"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        ridge = self._ridge
        w, now = np.array(start["w"], dtype=np.float64), float(start["t"][0]) if "t" in start else 0.0
        a = np.maximum(start["a"], ridge.ridge) if "a" in start else np.full(self.dim, ridge.ridge)
        self._numbers[ROUNDS] = max(0.0, now)
        if isinstance(ridge, SqrtRidge) and ridge.begin(w, a):
            return
        if isinstance(ridge, SqrtRidge):
            self._ridge = ColumnRidge.of(w, a, ridge.ridge, ridge.keep, self._numbers[ROUNDS])
        else:
            ridge.begin(w, a, self._numbers[ROUNDS])

    def _diagonal(self) -> FloatArray:
        """The diagonal of A as it is now."""
        ridge = self._ridge
        return ridge.diagonal if isinstance(ridge, SqrtRidge) else ridge.faded(self._numbers[ROUNDS])[1]

    def _predict(self, context: Any) -> Any:
        if type(context) is Page:
            return self._predict_page(context)
        rows, mask = candidates(context, self.dim)
        K = rows.shape[0]
        out = np.empty(K), np.empty(K), np.empty(K)
        if self._pacer is not None:
            action, greedy, _ = self._settle_priced(self._pacer, context, 0, rows, mask, out)[0]
        else:
            action, greedy, _ = self._choose(rows, mask, 0, out)
        return greedy if action >= 0 else refuse(action)

    def _predict_page(self, page: Page) -> IntArray:
        """The best candidate of each slot, given the best of those before it."""
        K, best = len(page.choices[0]), list[int]()
        for i, choice in enumerate(page.choices):
            out = np.empty(K), np.empty(K), np.empty(K)
            best.append(self._settle_slot(choice, page.layout.open(i, best), 0, i, out)[0][1])
        return np.array(best, np.int64)

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"rounds": self._numbers[: ROUNDS + 1], **self._ridge.arrays()}

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """A must have one of the forms that these settings can lead to: rows by need, or its diagonal."""
        ridge, like = self._ridge, {**RewardLearner._state(self)}
        claimed = isinstance(ridge, SqrtRidge) and ridge.most is not None
        if claimed and "D" in state:
            like = {"rounds": like["rounds"], **ColumnRidge(self.dim, ridge.ridge, ridge.keep).arrays()}
        elif claimed and isinstance(ridge, SqrtRidge):
            like |= ridge.of_rows(len(state["R"]) if "R" in state else 0)
            ridge.check_slots(state)
        check_shapes(like, state)

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._numbers[ROUNDS] = state["rounds"][0]
        if "D" in state and isinstance(self._ridge, SqrtRidge):
            self._ridge = ColumnRidge(self.dim, self._ridge.ridge, self._ridge.keep)
        self._ridge.restore(state)


def refuse(why: int) -> NoReturn:
    """Say why a decision or a reward cannot be taken."""
    if why == TOO_MUCH:
        raise InvalidArgument("min_share times the number of candidates is above 1", "offer fewer, or lower min_share")
    raise NotFinite("the features lead to estimates that are not finite", "scale them down")
