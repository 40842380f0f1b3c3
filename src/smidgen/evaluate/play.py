"""Play a stream in any loop: decide, receive feedback from the stream or the user, learn, and measure.

Compiled code plays a stream instead of the two verbs only where it comes out the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np

from smidgen import checks
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, MissingExtra, NoWeights
from smidgen.evaluate.losses import PointLosses
from smidgen.evaluate.rankings import QueryTable, play_rankings
from smidgen.features.frames import frame_records, is_frame
from smidgen.features.rows import is_sparse
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.learners.coactive import Coactive, DuelingBandit
from smidgen.learners.filter.base import as_relevance
from smidgen.learners.pipeline import unwrap, vectorizer_of
from smidgen.learners.rank import RankLearner
from smidgen.learners.tune import Tuner
from smidgen.learners.tune.base import GradientTuner
from smidgen.optim.rules import as_direction
from smidgen.structures import Choice
from smidgen.theory import Measured, Verdict, bound_for
from smidgen.theory.base import Loss
from smidgen.users.strict_alpha import as_alpha, as_utility

#: Learners whose decisions put objects with a utility before the user.
Presenting = Coactive | DuelingBandit | RankLearner


class RegretMeter:
    """Utilities and feature norms of the rounds of a run, under weights that the learner never sees."""

    def __init__(self, w_star: Any, learner: Presenting) -> None:
        self.w_star: FloatArray = as_utility(w_star)
        if len(self.w_star) != learner.dim:
            raise InvalidArgument(
                f"the utility has {len(self.w_star)} weights and the learner has dim={learner.dim}",
                "give one per feature",
            )
        self._learner = learner
        self._rows: list[tuple[float, float, float, float, float]] = []

    def read(self, decision: Decision, feedback: Any) -> None:
        """Measure one more round."""
        context, dim = decision.context, len(self.w_star)
        presented = [as_direction(context.phi(y), dim) for y in self._learner.presented(decision)]
        better = presented[0]  # who says nothing has nothing better
        if feedback is not None:
            better = as_direction(context.phi(self._learner.preferred(decision, feedback)), dim)
        best = as_direction(context.phi(context.argmax(self.w_star)), dim)
        shown = float(np.mean([self.w_star @ phi for phi in presented]))
        phis = np.array([*presented, better])
        norms = (float(np.sqrt((phis**2).sum(axis=1).max())), float(np.abs(phis).max()))
        self._rows.append((shown, float(self.w_star @ better), float(self.w_star @ best), *norms))

    def measured(self, history: History, loss: Loss | None, learnt_before: int) -> History:
        """The history with its utilities, and with the bound that the learner's rule has, if it has one."""
        shown, better, best, norms, largest = np.array(self._rows).reshape(-1, 5).T
        history = replace(history, utility=shown, better_utility=better, best_utility=best)
        learner = self._learner
        if not len(history):
            verdict = Verdict(None, "no rounds were played")
        elif not isinstance(learner, Coactive):
            verdict = Verdict(None, f"no theorem for a {type(learner).__name__}")
        elif learnt_before:
            why = f"the theorems require a fresh learner, and this one had already learned {learnt_before} rounds"
            verdict = Verdict(None, why)
        else:
            measured = Measured(
                T=np.arange(1.0, len(history) + 1.0),
                R=np.maximum.accumulate(norms),
                S=np.maximum.accumulate(largest),
                w_star=self.w_star,
                alpha=history.alpha,
                slacks=history.slacks,
                gains=better - shown,
                loss=loss,
            )
            verdict = bound_for(learner.rule, measured)
        return replace(history, bound=verdict.bound, bound_on=verdict.on, bound_note=verdict.note)


def as_compiled(learner: Learner) -> bool:
    """True if a compiled kernel exists for this learner.

    It does not if a guard stands before its steps, if its stream is quicker than exact, nor for a class of others that
    changes how one of ours decides or learns, unless that class brings its own stream.
    """
    if learner.guarded is not None or not getattr(learner, "exact_stream", True):
        return False
    for cls in type(learner).__mro__:
        if cls.__module__.startswith("smidgen.") or "run" in vars(cls) or "_play" in vars(cls):
            return True
        if any(callable(value) and not name.startswith("__") for name, value in vars(cls).items()):
            return False
    return False


def compiled_rankings(
    learner: Presenting, queries: QueryTable, user: Any, measure: Measure, rounds: int | None
) -> History | None:
    """A table of queries in compiled code; None if only the two verbs can play it."""
    if not as_compiled(learner) or callable(measure.utility):
        return None
    sizes, decided = np.diff(queries.starts)[:rounds], learner.decisions
    try:
        run = play_rankings(
            learner,
            queries,
            user,
            order=np.arange(len(sizes)),
            w_star=measure.utility,
            alpha=measure.alpha,
            loss=measure.loss,
            shown=int(sizes.max()),
        )
    except InvalidArgument:  # a user or a rule without a compiled form, labels that are used up in order
        if learner.decisions != decided:
            raise
        return None
    return replace(run, actions=[shown[:size] for shown, size in zip(run.actions, sizes, strict=True)])


T = TypeVar("T")


def tracked(rounds: Iterable[T], progress: bool | Callable[[int], None]) -> Iterable[T]:
    """The rounds, behind a progress bar if ``progress`` is True (a function is for the caller to call)."""
    if progress is not True:
        return rounds
    try:
        from rich.progress import track
    except ImportError as error:
        raise MissingExtra("a progress bar needs rich", 'pip install "smidgen[cli]"') from error
    return track(rounds, description="learning")


Progress = bool | Callable[[int], None]


class Measure(NamedTuple):
    """Measure of the rounds."""

    utility: Any = None
    alpha: Any = None
    loss: Loss | None = None

    def known(self, user: Any, stream: Any) -> Measure:
        """The requested measure, or the one that the user and the stream support."""
        utility, alpha = self.utility, self.alpha
        if utility is None:
            utility = getattr(user, "w_star", None)
        if utility is None:
            utility = getattr(stream, "w_star", None)
        return Measure(utility, as_alpha(getattr(user, "alpha", 1.0) if alpha is None else alpha), self.loss)


def contexts_of(stream: Any) -> Iterable[Any]:
    """The contexts of a stream, one per round."""
    given = getattr(stream, "contexts", stream)
    if is_frame(given):
        return frame_records(given)
    if is_sparse(given):
        rows = given.tocsr()
        return (rows[[i]] for i in range(rows.shape[0]))
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise InvalidArgument(
            f"the stream is a {type(stream).__name__}", "give the contexts, one per round: a list, a frame, a matrix"
        )
    return given


def play_user(
    learner: Learner, stream: Any, user: Any, measure: Measure, rounds: int | None, progress: Progress
) -> History:
    """Decide, ask the user, learn; and measure, if there is a utility."""
    if rounds is not None:
        checks.whole("rounds", rounds, "omit it for all")
    if not isinstance(learner, Presenting):
        return _history(learner, _asked(learner, islice(contexts_of(stream), rounds), user, progress))
    known = measure.known(user, stream)
    if not isinstance(stream, QueryTable):
        return _presented(learner, islice(contexts_of(stream), rounds), user, known, progress)
    history = None if progress else compiled_rankings(learner, stream, user, known, rounds)
    if history is None:
        history = _presented(learner, islice(stream.contexts, rounds), user, known, progress)
    return of_table(history)


def of_table(history: History) -> History:
    """Results of playing a table of queries, compiled or not: what was shown and its utility."""
    return replace(
        history,
        greedy=None,
        explored=np.empty(0, np.bool_),
        propensities=None,
        feedback=None,
        bound=None,
        bound_on="average_regret",
        bound_note="of a table only actions and utilities are kept: play its contexts for a bound",
    )


def _asked(
    learner: Learner,
    contexts: Iterable[Any],
    user: Any,
    progress: Progress,
    seen: Callable[[Decision, Any], None] | None = None,
    keep: bool = False,
) -> list[tuple[Decision, Any]]:
    """The decisions of all rounds with the user's feedback; without features unless they are kept."""
    asked: list[tuple[Decision, Any]] = []
    for context in tracked(contexts, progress):
        decision = learner.decide(context)
        feedback = user(context, decision.action)
        if feedback is not None:
            learner.learn(decision, feedback)
        if seen is not None:
            seen(decision, feedback)
        asked.append((decision if keep else msgspec.structs.replace(decision, context=None), feedback))
        if callable(progress):
            progress(len(asked))
    return asked


def _presented(
    learner: Presenting, contexts: Iterable[Any], user: Any, measure: Measure, progress: Progress
) -> History:
    """Rounds whose utility can be measured: at once, or after the last one if the utility is known only then."""
    late, learnt, silent = callable(measure.utility), learner.rounds, getattr(learner, "uninformative", 0)
    meter = None if measure.utility is None or late else RegretMeter(measure.utility, learner)
    asked = _asked(learner, contexts, user, progress, meter.read if meter else None, keep=late)
    if late:
        meter = RegretMeter(measure.utility(), learner)
        for decision, feedback in asked:
            meter.read(decision, feedback)
    history = replace(
        _history(learner, asked),
        alpha=measure.alpha,
        loss=measure.loss,
        uninformative=getattr(learner, "uninformative", 0) - silent,
        bound_note="no utility was given",
    )
    return history if meter is None else meter.measured(history, measure.loss, learnt)


def _history(learner: Learner, asked: list[tuple[Decision, Any]]) -> History:
    within = unwrap(learner)
    card = getattr(within, "card", None)
    actions, feedback = [decision.action for decision, _ in asked], [given for _, given in asked]
    loop = _loop(card.loops if card else ("",), actions)
    arrays = _feedback_arrays(loop, card.kinds, feedback) if card else {}
    propensities = [decision.propensity for decision, _ in asked]
    return History(
        actions,
        [decision.greedy for decision, _ in asked],
        learner=type(within).__name__,
        loop=loop,
        feedback=feedback,
        explored=np.array([decision.explored for decision, _ in asked], np.bool_),
        propensities=_numbers(propensities) if asked and None not in propensities else None,
        **arrays,
        bound_note="regret is measured where objects are ranked or chosen and a utility is known",
    )


def _feedback_arrays(loop: str, kinds: tuple[str, ...], feedback: list[Any]) -> dict[str, Any]:
    """Feedback that is a number, under its name: rewards, or losses. Right counts as 1 next to rewards, wrong as 0."""
    if loop == "tune" and "loss" in kinds:
        return {"losses": _numbers(feedback)}
    if "reward" not in kinds or loop not in ("choose", "label"):
        return {}
    bits = [isinstance(given, (bool, np.bool_)) for given in feedback]
    if all(bit or given is None for bit, given in zip(bits, feedback, strict=True)):
        return {}
    return {"rewards": _numbers([float(given) if bit else given for bit, given in zip(bits, feedback, strict=True)])}


def _loop(loops: tuple[str, ...], actions: list[Any]) -> str:
    """The loop that was played: of learners that rank and choose, what they did."""
    if actions and {"rank", "choose"} <= set(loops):
        return "rank" if isinstance(actions[0], (np.ndarray, list)) else "choose"
    return loops[0]


def _numbers(values: list[Any]) -> FloatArray | None:
    """Values as numbers, if they are; what is missing is not a number."""
    kinds = (int, float, np.integer, np.floating)
    if not values or not all(v is None or (isinstance(v, kinds) and not isinstance(v, bool)) for v in values):
        return None
    return np.array([np.nan if v is None else float(v) for v in values])


def play_labelled(learner: Learner, stream: Any) -> History:
    """Play what the protocol of the learner's loop reveals of the answers."""
    card = getattr(unwrap(learner), "card", None)
    loops, kinds = (card.loops, card.kinds) if card else ((), ())
    if "choose" in loops and "reward" in kinds:
        items, rewards, available = _offers(stream)
        if as_compiled(learner) and hasattr(learner, "run") and vectorizer_of(learner) is None:
            ran: History = learner.run(items, rewards, available=available)
            return ran
        return _rewarded(learner, items, np.asarray(rewards, dtype=np.float64), available)
    if not {"label", "filter"} & set(loops):
        raise InvalidArgument(
            f"a {type(learner).__name__} needs feedback, and no user was given",
            "give play(learner, contexts, user), e.g. a user of smidgen.users; or for the tune loop smidgen.losses",
        )
    X, y = _examples(stream, vectorizer_of(learner) is not None)
    if hasattr(learner, "run") and (as_compiled(learner) or vectorizer_of(learner) is not None):
        history: History = learner.run(X, y)
        return history
    return _labels(learner, X, y) if "label" in loops else _filtered(learner, X, y)


def _examples(stream: Any, records: bool) -> tuple[Any, Any]:
    """X and y of a labelled stream: a pair, something that has both, or a frame with the name of a column."""
    X, y = (stream.X, stream.y) if hasattr(stream, "X") and hasattr(stream, "y") else _parts(stream, (2,), "(X, y)")[:2]
    if is_frame(X):
        if isinstance(y, str):
            if y not in list(X.columns):
                raise InvalidArgument(f"the frame has no column {y!r}", "name one of its columns, or give the labels")
            X, y = X[[name for name in X.columns if name != y]], X[y]
        if not records:
            X = X.to_numpy()
    return X, y.to_list() if hasattr(y, "to_list") else y


def _offers(stream: Any) -> tuple[Any, Any, Any]:
    items, rewards, *rest = _parts(stream, (2, 3), "(items, rewards) or (items, rewards, available)")
    return items, rewards, rest[0] if rest else None


def _parts(stream: Any, sizes: tuple[int, ...], form: str) -> tuple[Any, ...]:
    if not isinstance(stream, (tuple, list)) or len(stream) not in sizes:
        raise InvalidArgument(f"the stream is a {type(stream).__name__} and no user was given", f"give {form}")
    return tuple(stream)


def _labels(learner: Learner, X: Any, y: Any) -> History:
    """Labels by the two verbs."""
    hears_bits = "bit" in learner.card.kinds
    truth = [label.item() if isinstance(label, np.generic) else label for label in y]
    shown, greedy = [], []
    for context, true in _together(X, truth):
        decision = learner.decide(context)
        shown.append(decision.action)
        greedy.append(decision.greedy)
        learner.learn(decision, bool(decision.action == true) if hears_bits else true)
    names = list(getattr(learner, "labels", dict.fromkeys([*shown, *greedy, *truth])))
    number = {name: i for i, name in enumerate(names)}
    a, g, y = (np.array([number[label] for label in column], np.int64) for column in (shown, greedy, truth))
    return History(a, g, y, names, learner=type(learner).__name__, loop="label")


def _filtered(learner: Learner, X: Any, y: Any) -> History:
    """Relevance by the two verbs."""
    truth, hears_all = as_relevance(y), getattr(learner, "sees_everything", False)
    shown, greedy = np.empty(len(truth), np.bool_), np.empty(len(truth), np.bool_)
    for t, (context, true) in enumerate(_together(X, truth.tolist())):
        decision = learner.decide(context)
        shown[t], greedy[t] = decision.action, decision.greedy
        if decision.action or hears_all:
            learner.learn(decision, true)
    return History(shown, greedy, truth, learner=type(learner).__name__, loop="filter")


def _rewarded(learner: Learner, items: Any, rewards: Any, available: Any) -> History:
    """Rewards by the two verbs; items are candidates of records, or rows: the same in every round, or again in each."""
    if rewards.ndim != 2:
        raise InvalidArgument(f"rewards has shape {rewards.shape}", "give a row per round, a number per candidate")
    T, K = rewards.shape
    masks = np.ones((T, K), np.bool_) if available is None else np.broadcast_to(np.asarray(available, np.bool_), (T, K))
    offered = isinstance(items, (list, tuple)) and not np.isscalar(items[0]) and hasattr(items[0], "records")
    decisions = []
    for t, mask in enumerate(masks):
        context = items[t] if offered else Choice(_rows(items, t, T, K), mask)
        decisions.append(learner.decide(context))
        learner.learn(decisions[-1], float(rewards[t, decisions[-1].action]))
    actions = np.array([decision.action for decision in decisions], np.int64)
    return History(
        actions,
        np.array([decision.greedy for decision in decisions], np.int64),
        learner=type(unwrap(learner)).__name__,
        loop="choose",
        rewards=rewards[np.arange(T), actions],
        best=np.where(masks, rewards, -np.inf).max(axis=1),
        propensities=np.array([decision.propensity for decision in decisions], np.float64),
    )


def _rows(items: Any, t: int, T: int, K: int) -> Any:
    """The candidates of one round."""
    if not hasattr(items, "tocsr"):
        given = np.asarray(items)
        return given[t] if given.ndim == 3 else given
    rows = items.tocsr()
    return rows if rows.shape[0] == K else rows[t * K : (t + 1) * K]


def _together(X: Any, y: list[Any]) -> list[tuple[Any, Any]]:
    contexts = list(contexts_of(X))
    if len(contexts) != len(y):
        raise InvalidArgument(f"X has {len(contexts)} rows and y has {len(y)} labels", "give one label per row")
    return list(zip(contexts, y, strict=True))


def play_losses(
    learner: Learner, loss: PointLosses, rounds: int | None, progress: bool | Callable[[int], None]
) -> History:
    """A point is returned, its loss (or the gradient there) comes back; measured against the best fixed point."""
    if not isinstance(learner, Tuner):
        raise InvalidArgument(
            f"tune was given a {type(learner).__name__}", "give a learner of the tune loop, e.g. OGDEG"
        )
    if learner.knobs:
        raise InvalidArgument(
            "the learner has Knobs, and losses here are of arrays", "give it a Box, or play it with a user"
        )
    T = len(loss) if rounds is None else checks.whole("rounds", rounds, "omit it for all")
    loss.check(learner.space, T)
    N = learner.space.dim
    points, base = np.empty((T, N)), np.empty((T, N))
    losses, base_losses, explored = np.empty(T), np.empty(T), np.empty(T, np.bool_)
    hears_gradient = isinstance(learner, GradientTuner)
    for t in tracked(range(T), progress):
        decision = learner.decide()
        x, y = decision.action, decision.greedy
        value = loss(t, x)
        learner.learn(decision, loss.gradient(t, x) if hears_gradient else value)
        points[t], base[t], losses[t], explored[t] = x, y, value, decision.explored
        base_losses[t] = value if hears_gradient else loss(t, y)
        if callable(progress):
            progress(t + 1)
    best = np.asarray(loss.best(learner.space, T))
    return History(
        points,
        base,
        learner=type(learner).__name__,
        loop="tune",
        explored=explored,
        losses=losses,
        base_losses=base_losses,
        best=best,
        best_losses=loss.values(best, T),
    )


class User(Protocol):
    """Anything that answers a decision."""

    def __call__(self, context: Any, action: Any, /) -> Any:
        """The feedback."""
        ...


def play(
    learner: Learner,
    stream: Any,
    user: User | None = None,
    *,
    utility: Any = None,
    alpha: float | None = None,
    loss: Loss | None = None,
    rounds: int | None = None,
    progress: Progress = False,
) -> History:
    """Play a stream, whatever the loop, and measure.

    Round for round it is what the two verbs would do, to the last bit; streams that compiled code can read are played
    by it. The learner keeps what it learns; call it again to go on.

    Parameters
    ----------
    learner
        Any learner, with or without a `Pipeline` around it.
    stream
        With a user: the contexts, one per round; a list, a generator, a stream of `smidgen.data`, a frame or a matrix
        with one row per round, or a `QueryTable`. Without one, a stream that knows its own answers: ``(X, y)`` for the
        label and the filter loop (``X`` an array, a CSR matrix, or for a pipeline records or a frame);
        ``(items, rewards)`` or ``(items, rewards, available)`` for learners that choose by reward (see
        `RewardLearner.run`); for the tune loop one of `smidgen.losses`.
    user
        A callable ``user(context, action) -> feedback``, e.g. one of `smidgen.users`. None as feedback means that none
        came (of an item that a filter dropped, say).
    utility
        With a user who corrects or clicks: the true weights w* for measuring regret; the learner never sees them. By
        default the user's own ``w_star``, else that of the stream, if they have one. A function without arguments is
        called after the last round (for an adversary that makes w* up as it goes).
    alpha
        The level that slacks are measured at; by default the user's own ``alpha``, else 1. Any level gives a valid
        bound, since slacks make up for what feedback lacks.
    loss
        A convex loss of the utility gap, for `History.loss_regret` and the theorems on it.
    rounds
        How many rounds, of contexts and of losses; all of them if left out.
    progress
        True shows a progress bar (needs the extra ``cli``); a function is called with the number of each finished
        round. A compiled stream has no bar, and calls the function once, when it is over.

    Returns
    -------
    History

    Examples
    --------
    A user who corrects rankings:

    >>> import numpy as np, smidgen
    >>> stream = smidgen.data.ranking_stream(queries=100, docs=20, dim=5, seed=1)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=1.0)
    >>> smidgen.play(smidgen.PreferencePerceptron(dim=5), stream, user)
    History(PreferencePerceptron, 100 rounds, average regret 0.0442, bound 0.653, explored 0)

    Examples whose labels are known:

    >>> labels = smidgen.data.label_stream(rounds=1000)
    >>> smidgen.play(smidgen.Confidit(dim=6, n_classes=3), (labels.X, labels.y)).error_rate < 0.6
    True

    A function to be made small:

    >>> bowl = smidgen.losses.Repeated(lambda x: float((x[0] - 0.25) ** 2), rounds=300)
    >>> tuner = smidgen.QuadraticTuner(space=smidgen.Box(low=[0.0], high=[1.0]))
    >>> bool(smidgen.play(tuner, bowl).losses[-10:].max() < 0.01)
    True
    """
    if not isinstance(learner, Learner):
        raise InvalidArgument(f"the first argument of play is a {type(learner).__name__}", "give a learner")
    if isinstance(stream, PointLosses):
        _refuse(user, "a user was given with losses", "omit it: the losses answer")
        _refuse_measures(learner, utility, alpha, loss)
        history = play_losses(learner, stream, rounds, progress)
    elif user is not None:
        if not callable(user):
            raise InvalidArgument(f"the user is {user!r}", "give a callable user(context, action) -> feedback")
        measure = Measure(utility, alpha, loss)
        if not isinstance(learner, Presenting):
            _refuse_measures(learner, utility, alpha, loss)
        history = play_user(learner, stream, user, measure, rounds, progress)
    else:
        _refuse_measures(learner, utility, alpha, loss)
        _refuse(rounds, "rounds was given with a labelled stream", "cut the stream itself: (X[:n], y[:n])")
        history = play_labelled(learner, stream)
        if callable(progress):
            progress(len(history))
    return replace(history, weights=_weights(learner))


def _refuse(value: Any, problem: str, hint: str) -> None:
    if value is not None:
        raise InvalidArgument(problem, hint)


def _refuse_measures(learner: Learner, *measures: Any) -> None:
    if any(each is not None for each in measures):
        raise InvalidArgument(
            f"utility, alpha or loss was given with a {type(learner).__name__}", "they belong to coactive learners"
        )


def _weights(learner: Learner) -> FloatArray:
    try:
        return learner.weights
    except NoWeights:
        return np.empty(0)
