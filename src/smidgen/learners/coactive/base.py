"""Algorithm 3: the template of every coactive learner, and batches of a log in compiled code.

A batch (`RankingBatch`) is many decisions and answers about rankings, one after the other. It is read once and followed
by any number of learners. Each piece is the one that the verbs go by: the structure's argmax and difference, the rule's
step. Whatever a batch has no form for goes by the verbs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core import coactive, ranking, written_for
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeatures, InvalidFeedback, NotFinite, SmidgenError
from smidgen.features import DenseRows
from smidgen.features.rows import longest_of_each
from smidgen.geometry.space import BALL
from smidgen.learners.base import Learner, register
from smidgen.learners.card import Card
from smidgen.learners.coactive.taste import StyleShift, Taste
from smidgen.learners.log_batch import FEWEST, take_steps
from smidgen.optim import Additive, Rule
from smidgen.optim.rules import RETRAINED, Program, as_direction, is_finite, memory_of, program_of, state_of
from smidgen.structures import Choice, Clicks, Ranking, structured

_WHOLE = np.dtype(np.int64)


class RankingStep(NamedTuple):
    """A ranking to be decided on, or an answer: what is better than what was shown.

    Attributes
    ----------
    context
        What is ranked.
    answered
        Whether it is an answer.
    better, shown
        Of an answer: the two rankings.
    decision
        Of an answer: the decision that is learnt from; None makes one.
    """

    context: Any
    answered: bool = False
    better: Any = None
    shown: Any = None
    decision: Decision | None = None


class RankingOutcomes(NamedTuple):
    """Result of a batch for one learner.

    Attributes
    ----------
    orders
        Its ranking at each step that is none of an answer, in order.
    weights
        Its weights before each answer, one row each.
    """

    orders: list[IntArray]
    weights: list[FloatArray]


class RankingArrays(NamedTuple):
    """A batch as kernels read it."""

    X: FloatArray  # the documents of all steps, below one another
    starts: IntArray  # where those of each step begin, and where the last end
    answers: IntArray  # the number of each step's answer, −1 of decisions
    deltas: FloatArray  # φ(better) − φ(shown), by answer


class RankingBatch:
    """Steps in their order.

    Parameters
    ----------
    steps
        The steps.

    Attributes
    ----------
    steps
        The steps.
    arrays
        The same for kernels; None if they have no such form: rankings of dense rows, and answers that are rankings of
        all documents.
    deltas
        How the two rankings of each answer differ in their features, if there is a form for kernels.
    lengths
        The length of the longest row of each answer, if there is a form for kernels.
    """

    def __init__(self, steps: Sequence[RankingStep]) -> None:
        self.steps = steps
        self.arrays = _arrays(steps) if len(steps) >= FEWEST else None
        self.deltas: FloatArray = np.empty((0, 0)) if self.arrays is None else self.arrays.deltas
        self.lengths: FloatArray = np.empty(0)
        if self.arrays is not None:
            self.lengths = longest_of_each(self.arrays.X, self.arrays.starts)[self.arrays.answers >= 0]


def follow(learner: Coactive, batch: RankingBatch, numbers: Sequence[int], trace: bool = True) -> RankingOutcomes:
    """Let a learner decide and learn along a batch: what the verbs do, bit for bit.

    Parameters
    ----------
    learner, batch
        Who, along what.
    numbers
        The numbers of the decisions that the answers are about, in order.
    trace
        Whether orders and weights are wanted.
    """
    outcomes, steps = RankingOutcomes([], []), batch.steps
    answered = np.array([step.answered for step in steps], bool)
    every = np.empty(len(steps), np.int64)
    every[answered] = numbers
    every[~answered] = learner.decisions + np.arange(1, len(steps) - len(numbers) + 1)

    def verb(t: int) -> None:
        step = steps[t]
        if not step.answered:
            outcomes.orders.append(learner.decide(step.context).action)
            return
        outcomes.weights.append(learner.weights)
        learner.learn(step.decision or decision_of(learner, step.context, step.shown, int(every[t])), step.better)

    arrays = batch.arrays
    program = None if arrays is None or arrays.X.shape[1] != learner.dim else form_of(learner)
    if arrays is None or program is None:
        take_steps(learner, answered, every, None, lambda: batch.lengths, verb)
    else:
        kernel = _Kernel(learner, program, arrays, outcomes if trace else None)
        take_steps(learner, answered, every, kernel.ahead, lambda: batch.lengths, verb)
    return outcomes


def form_of(learner: Coactive) -> Program | None:
    """The program of a learner whose steps are those of its rule; None: it goes by the verbs."""
    if not written_for(learner, "follow", "_learn") or not written_for(learner, "follow", "_decide"):
        return None
    program = program_of(learner.rule)
    return None if program is None or program.kind == RETRAINED or program.region.kind != BALL else program


class _Kernel:
    """The steps of a batch in compiled code: several at once, or, after one that failed, none."""

    def __init__(
        self, learner: Coactive, program: Program, arrays: RankingArrays, outcomes: RankingOutcomes | None
    ) -> None:
        self._learner, self._arrays, self._outcomes = learner, arrays, outcomes
        self._program: Program | None = program

    def ahead(self, start: int, end: int) -> int:
        """Take the steps start … end − 1; returns the end, or the start, where nothing has changed."""
        if self._program is None or end - start < FEWEST:
            return start
        learner, arrays, out = self._learner, self._arrays, self._outcomes
        answers = arrays.answers[start:end]
        state = learner._state()
        m = memory_of(state, learner.weights, learner.decisions)
        places = arrays.starts[start : end + 1]
        orders = np.empty(places[-1] - places[0] if out is not None else 0, np.int64)
        weights = np.empty((int((answers >= 0).sum()) if out is not None else 0, learner.dim))
        if coactive.follow(arrays, start, end, self._program, m, orders, weights) < end or not is_finite(m):
            self._program = None
            return start
        learner._restore(state_of(m, state))
        if out is not None:
            orders.setflags(write=False)
            cuts = (places - places[0]).tolist()
            out.orders.extend(orders[cuts[i] : cuts[i + 1]] for i in np.flatnonzero(answers < 0).tolist())
            out.weights.extend(weights)
        return end


def decision_of(learner: Coactive, context: Any, order: Any, number: int) -> Decision:
    """A decision as far as learning needs it."""
    return Decision(
        kind=learner._kind, settings=learner._settings, number=number, action=order, greedy=order, context=context
    )


def _arrays(steps: Sequence[RankingStep]) -> RankingArrays | None:
    contexts = [step.context for step in steps]
    if set(map(type, contexts)) != {Ranking}:
        return None
    rows = [each.rows for each in contexts]
    if set(map(type, rows)) != {DenseRows} or len({each.shape[1] for each in rows}) > 1:
        return None
    answered = [step for step in steps if step.answered]
    for orders in ([step.better for step in answered], [step.shown for step in answered]):
        if set(map(type, orders)) - {np.ndarray} or {order.dtype for order in orders} - {_WHOLE}:
            return None
        if [order.shape for order in orders] != [step.context.rows.shape[:1] for step in answered]:
            return None
    arrays = [each.array for each in rows]
    X, starts = np.concatenate(arrays), _starts(arrays)
    answers = np.array([0 if step.answered else -1 for step in steps])
    answers[answers == 0] = np.arange(len(answered))
    deltas = np.empty((len(answered), X.shape[1]))
    if answered:
        discounts = [step.context.discounts for step in answered]
        better = np.concatenate([step.better for step in answered])
        shown = np.concatenate([step.shown for step in answered])
        where = np.flatnonzero(answers >= 0)
        if not coactive.write_differences(
            X, starts, where, np.concatenate(discounts), _starts(discounts), better, shown, deltas
        ):
            return None
    return RankingArrays(X, starts, answers, deltas)


def _starts(arrays: Sequence[Any]) -> IntArray:
    out: IntArray = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(each) for each in arrays], out=out[1:])
    return out


PAPER = "Shivaswamy & Joachims 2015"
_NOT_FINITE = ("the features lead to scores that are not finite", "scale them down")


class Coactive(Learner):
    """Algorithm 3: present the best object under w, receive a preferred one, step along the difference."""

    def __init__(self, rule: Rule, *, params: Mapping[str, Any], seed: int) -> None:
        super().__init__(params=params, seed=seed)
        self._rule = rule
        self._uninformative = 0
        self._taste = Taste()

    def _decide(self, context: Any, number: int) -> Decision:
        action, scores = present(context, self._rule.weights)
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=action,
            greedy=action,
            context=context,
            scores=scores,
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        better = better_than(decision, feedback) if type(feedback) is Clicks else feedback
        context, shown = decision.context, decision.action
        delta = difference(context, better, shown, self.dim)
        kind = type(context)
        if kind is Ranking or kind is Choice or (known := structured(context)) is None:
            self._rule.step(delta)
        else:
            weight, before, after = known.weight(better, shown), known.traits(shown), known.traits(better)
            if weight == 1.0:
                self._rule.step(delta)
            else:
                self._rule.weighted_step(delta, weight)
            self._taste.take(before, after)
        self._uninformative += ranking.vanishes(delta)

    def learn_many(self, decisions: Sequence[Decision], feedback: Sequence[Any]) -> None:
        """Learn from each decision in turn, as `learn` does, bit for bit; rankings of dense rows in compiled code."""
        numbers = [decision.number for decision in decisions if self._admissible(decision)]
        if len(numbers) == len(decisions) == len(feedback) == len(set(numbers)):
            pairs = zip(decisions, feedback, strict=True)
            self.follow(RankingBatch([_step(decision, better) for decision, better in pairs]), numbers, trace=False)
        else:  # one of them is refused
            super().learn_many(decisions, feedback)

    @property
    def compiled(self) -> bool:
        """True if `follow` uses kernels, where the batch has a form for them."""
        return form_of(self) is not None

    def follow(self, batch: RankingBatch, numbers: Sequence[int], *, trace: bool = True) -> RankingOutcomes:
        """Decide and learn along a batch of a log (`smidgen.learners.coactive.base`).

        ``numbers`` are those of the decisions that the answers are about; ``trace``: whether orders and weights are
        wanted.
        """
        return follow(self, batch, numbers, trace=trace)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        self._learn(self._decide(context, number), answer)

    def _predict(self, context: Any) -> Any:
        return present(context, self._rule.weights)[0]

    @property
    def rule(self) -> Rule:
        """The update rule with its present state."""
        return self._rule

    @property
    def dim(self) -> int:
        """The number of features."""
        return self._rule.dim

    @property
    def weights(self) -> FloatArray:
        """A copy of the weights w."""
        return self._rule.weights.copy()

    @property
    def uninformative(self) -> int:
        """Number of rounds without information: ȳ = y, or a difference that the features do not show (Δ = 0)."""
        return self._uninformative

    def in_words(self) -> list[str]:
        """The users' taste, estimated from their corrections, one sentence each, ready to be put into a prompt.

        Only what enough corrections agree on is said; nothing where structures tell no traits. Of drafts, the traits
        are those of style: length, greeting, exclamation marks, hedges, ….

        Examples
        --------
        >>> import smidgen
        >>> learner = smidgen.SoftPreferencePerceptron()
        >>> for day in ("Monday", "Tuesday", "Friday"):
        ...     d = learner.decide(smidgen.Drafts([f"Great news! It will be ready on {day}! Thank you so much!"]))
        ...     learner.learn(d, smidgen.Edit(f"It will be ready on {day}."))
        >>> learner.in_words()[0]
        'shorter: 0.5 of the length'
        """
        return self._taste.in_words()

    @property
    def taste(self) -> list[StyleShift]:
        """Every trait that a correction has moved: its mean as shown, as wanted, and how many corrections moved it."""
        return self._taste.wishes()

    def presented(self, decision: Decision) -> list[Any]:
        """The objects that a decision puts before the user."""
        return [decision.action]

    def preferred(self, decision: Decision, feedback: Any) -> Any:
        """The object that feedback calls better."""
        return better_than(decision, feedback) if type(feedback) is Clicks else feedback

    @property
    def shared_start(self) -> str | None:
        """With the mean of the others' weights, where the rule has such."""
        return "mean" if self._start() else None

    def _start(self) -> dict[str, NDArray[Any]]:
        state = self._rule.state()
        return {name: np.array(state[name], dtype=np.float64) for name in ("w", "theta") if name in state}

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._rule.restore({**self._rule.state(), **{name: np.array(array) for name, array in start.items()}})

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"uninformative": np.array(self._uninformative), **self._rule.state()}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._uninformative = int(state["uninformative"])
        self._rule.restore(state)

    def _notes(self) -> dict[str, Any]:
        return self._taste.notes()

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        self._taste.take_notes(notes)


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        not_served="it takes an update rule, which is Python code and cannot be sent",
        paper=f"{PAPER}, Alg. 3",
        bound="that of the rule",
        cost="argmax + one step of the rule",
        example={"rule": Additive(dim=4)},
    )
)
class CoactiveLearner(Coactive):
    """Generic template: present the best object under w, receive a better one, step towards it (Algorithm 3).

    Make a coactive learner from any update rule of `smidgen.optim`, or from one of yours. The named algorithms of
    the paper are this template with a rule filled in.

    Parameters
    ----------
    rule
        How the weights move along Δ. Its settings count; the learner starts a fresh one of its own.
    seed
        Kept for twins and fingerprints; the template draws no randomness.

    Notes
    -----
    **Update** y = argmax w·φ(x, y); Δ = φ(x, ȳ) − φ(x, y); the rule steps along Δ.
    **Symbols** x: ``context``, y: ``decision.action``, ȳ: ``feedback``, φ: ``context.phi``, w: ``weights``.
    **Assumes** utility w*·φ(x, y), linear in a joint feature map.
    **Bound** that of the rule.
    **Cost** one argmax to decide; two φ and one step of the rule to learn.
    **Differs** feedback may come late and in any order; the paper's rounds are strictly in turn.

    Examples
    --------
    Any object with ``phi`` and ``argmax`` will do, and any rule:

    >>> import numpy as np, smidgen
    >>> from smidgen.optim import Batched, Newton
    >>> rule = Batched(rule=Newton(space=smidgen.Ball(dim=2, radius=1.0)), size=2)
    >>> learner = smidgen.CoactiveLearner(rule=rule)
    >>> menu = smidgen.Choice(np.eye(2))
    >>> for _ in range(2):
    ...     d = learner.decide(menu)
    ...     learner.learn(d, 1)
    >>> learner.predict(menu)
    1

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Algorithm 3.
    """

    def __init__(self, *, rule: Rule, seed: int = 0) -> None:
        if not isinstance(rule, Rule):
            raise InvalidArgument(f"rule is {rule!r}", "give a rule of smidgen.optim, e.g. Additive(dim=3)")
        super().__init__(rule.fresh(), params={"rule": rule.fresh()}, seed=seed)


def _step(decision: Decision, feedback: Any) -> RankingStep:
    """An answer as a step of a batch; what the verb refuses stays as it is."""
    better = feedback
    if type(feedback) is Clicks:
        with suppress(SmidgenError):
            better = better_than(decision, feedback)
    return RankingStep(decision.context, True, better, decision.action, decision)


def better_than(decision: Decision, clicks: Clicks) -> Any:
    """The better ranking that clicks on a decision stand for."""
    if not isinstance(decision.context, Ranking):
        raise InvalidFeedback(
            f"the feedback is {clicks!r} and the decision is not a ranking",
            "give the preferred object; clicks need rankings",
        )
    return clicks.better(decision.action)


def present(context: Any, w: FloatArray) -> tuple[Any, FloatArray | None]:
    """Argmax over y of w·φ(x, y), and the scores it went by where the structure has them."""
    kind = type(context)
    if kind is Ranking or kind is Choice:  # as below, without a view of the weights
        if context.rows.shape[1] != len(w):
            context.check_dim(len(w))
        scores = context.scores(w)
        if not ranking.all_finite(scores):
            raise NotFinite(*_NOT_FINITE)
        return context.best(scores), scores
    known = structured(context)
    if known is None:
        raise InvalidArgument(
            f"the context is a {kind.__name__} without phi and argmax",
            "give a Ranking, a Choice, or an object with the methods phi(y) and argmax(w)",
        )
    known.check_dim(len(w))
    view = w.view()
    view.flags.writeable = False
    action, unchecked = known.present(view)
    return action, None if unchecked is None else _as_scores(unchecked, kind.__name__)


def difference(context: Any, better: Any, shown: Any, dim: int) -> FloatArray:
    """Δ = φ(x, ȳ) − φ(x, y), checked."""
    kind = type(context)
    if kind is Ranking or kind is Choice:
        if context.rows.shape[1] != dim:
            context.check_dim(dim)
        delta: FloatArray = context.difference(better, shown)
        return delta
    known = structured(context)
    if known is None:
        raise DecisionMismatch(
            f"the decision's context is a {kind.__name__} without phi",
            "pass the decision as decide returned it",
        )
    known.check_dim(dim)
    return as_direction(known.difference(better, shown), dim)


def _as_scores(scores: Any, kind: str) -> FloatArray:
    """The scores that a structure of others gives, as a decision holds them."""
    try:
        array = np.array(scores, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidFeatures(f"{kind}.scores gave a {type(scores).__name__}", "return a 1-D array, or None") from error
    if array.ndim != 1:
        raise InvalidFeatures(f"{kind}.scores gave an array of shape {array.shape}", "return a 1-D array, or None")
    if not np.isfinite(array).all():
        raise NotFinite(*_NOT_FINITE)
    return array
