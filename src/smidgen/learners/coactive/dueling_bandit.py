"""The baseline of Section 6.2.6: dueling bandit gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import coactive
from smidgen._core import random as core_random
from smidgen.arrays import writable
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import DecisionMismatch, InvalidFeedback, NotTeachable
from smidgen.geometry.space import plain
from smidgen.learners.base import Learner, register
from smidgen.learners.card import Card
from smidgen.learners.coactive.base import PAPER, better_than, present
from smidgen.optim.rules import moved
from smidgen.randomness import COIN, DIRECTION, U64, stream_key, uniforms
from smidgen.serialization import same
from smidgen.structures import Clicks, ExtendedRanking, Ranking


class Duel(NamedTuple):
    """Settings of a dueling bandit, for compiled loops."""

    plays: bool
    explore: float = 1.0
    step: float = 1.0
    directions: U64 = np.zeros(2, np.uint64)  # keys of its random streams
    coins: U64 = np.zeros(2, np.uint64)


def team_draft(first: IntArray, second: IntArray, coins: FloatArray) -> tuple[IntArray, IntArray]:
    """Two captains pick in turn, a coin per turn decides who begins; each takes its best document that is left."""
    order, teams = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    coactive.team_draft(first, second, coins, order, teams)
    return order, teams


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        draws=True,
        paper=f"{PAPER}, Sec. 6.2.6; Yue & Joachims 2009",
        bound="none here",
        cost="2 argmax + N",
        example={"dim": 4, "explore": 0.5, "step": 0.2},
        shows_pairs=True,
    )
)
class DuelingBandit(Learner):
    """A baseline: try a random direction against the present weights, and move there if it wins.

    Parameters
    ----------
    dim
        The number of features N.
    explore
        How far the perturbed weights lie from the present ones (γ in the paper).
    step
        How far to move when they win (δ in the paper).
    seed
        Seeds directions and coins; both are functions of the decision's number.

    Notes
    -----
    **Update** u uniform on the unit sphere, w′ = w + explore·u; w ← w + step·u if w′ wins, else w stays.
    *Rankings*: the action is the team-draft interleaving of both rankings; the documents in the first ``top`` places
    of the user's ranking count for the team that contributed them, and w′ wins with more than half. Of `Clicks`, the
    clicked documents count.
    *Items and other objects*: the action is the pair (object of w, object of w′); feedback 1 says that the
    second is better, 0 that it is not.
    **Symbols** γ: ``explore``, δ: ``step``, u: ``decision.perturbation``.
    **Assumes** comparisons that agree with a smooth utility more often than not.
    **Bound** none here; see [2] for O(T^{-1/4}) under smoothness.
    **Cost** two argmax and N normals to decide, N to learn. Memory N.
    **Differs** not at all; the paper tunes both parameters in hindsight.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.DuelingBandit(dim=2, explore=1.0, step=0.1)
    >>> d = learner.decide(smidgen.Choice(np.eye(2)))
    >>> d.action
    (0, 1)
    >>> learner.learn(d, 1)
    >>> np.allclose(learner.weights, 0.1 * d.perturbation)
    True

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Section 6.2.6.
    .. [2] Y. Yue, T. Joachims. Interactively optimizing information retrieval systems as a dueling bandits problem.
       ICML 2009.
    .. [3] F. Radlinski, M. Kurup, T. Joachims. How does clickthrough data reflect retrieval quality? CIKM 2008.
    """

    def __init__(self, *, dim: int, explore: float = 1.0, step: float = 0.1, seed: int = 0) -> None:
        self.dim = checks.dimension(dim)
        self._explore = checks.number("explore", explore, "omit it for 1.0", above=0.0)
        self._step = checks.number("step", step, "omit it for 0.1", above=0.0)
        params = {"dim": self.dim, "explore": self._explore, "step": self._step}
        super().__init__(params=params, seed=seed)
        self._w: FloatArray = np.zeros(self.dim)
        self._directions = stream_key(self._seed, DIRECTION)

    def duel(self) -> Duel:
        """The learner in compiled loops."""
        return Duel(True, self._explore, self._step, self._directions, stream_key(self._seed, COIN))

    def _decide(self, context: Any, number: int) -> Decision:
        u, other = np.empty(self.dim), np.empty(self.dim)
        core_random.perturb(self._directions, number, self._w, self._explore, u, other)
        greedy, scores = present(context, self._w)
        rival, _ = present(context, other)
        action: Any = (greedy, rival)
        teams = None
        if isinstance(context, Ranking):
            coins = uniforms(self._seed, number, (len(context) + 1) // 2, stream=COIN)
            action, teams = team_draft(greedy, rival, coins)
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=action,
            greedy=greedy,
            context=context,
            explored=not same(greedy, rival),
            perturbation=u,
            scores=scores,
            teams=teams,
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        u = decision.perturbation
        if u is None or u.shape != (self.dim,):
            raise DecisionMismatch(
                f"decision {decision.id} has no direction of {self.dim} features",
                "pass the decision as decide returned it",
            )
        rival_wins = _duel_won(decision, feedback) if isinstance(decision.context, Ranking) else _second(feedback)
        if rival_wins:
            self._w = moved(self._w, u, self._step)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        raise NotTeachable(
            "a DuelingBandit cannot be taught: it learns only from duels that it drew itself",
            "teach a PreferencePerceptron, or call decide and learn",
        )

    def _predict(self, context: Any) -> Any:
        return present(context, self._w)[0]

    @property
    def weights(self) -> FloatArray:
        """A copy of the weights w."""
        return self._w.copy()

    def presented(self, decision: Decision) -> list[Any]:
        """The objects that a decision puts before the user: one interleaved ranking, or a pair."""
        return [decision.action] if isinstance(decision.context, Ranking) else list(decision.action)

    def preferred(self, decision: Decision, feedback: Any) -> Any:
        """The object that feedback calls better."""
        if not isinstance(decision.context, Ranking):
            return decision.action[feedback]
        return better_than(decision, feedback) if type(feedback) is Clicks else feedback

    @property
    def shared_start(self) -> str | None:
        """With the mean of the others' weights."""
        return "mean"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._w = np.array(start["w"], dtype=np.float64)

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"w": self._w}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._w = plain(state["w"])


def _duel_won(decision: Decision, feedback: Any) -> bool:
    """True if the perturbed ranker contributed more of the user's first ``top`` documents."""
    context, teams = decision.context, decision.teams
    shown = context.check(decision.action)
    if teams is None or teams.shape != shown.shape:
        raise DecisionMismatch(
            f"decision {decision.id} lacks the contributions of the two rankings",
            "pass the decision as decide returned it",
        )
    sides = writable(np.asarray(teams, dtype=np.int64))
    if type(feedback) is Clicks:
        better_than(decision, feedback)  # refuses documents that were not shown
        return coactive.team_clicks(shown, sides, feedback.documents) > 0
    better = context.check(feedback)
    order = better.order if isinstance(better, ExtendedRanking) else better
    return coactive.credit(shown, sides, order, min(context.top, len(order))) > 0


def _second(feedback: Any) -> bool:
    if not isinstance(feedback, (bool, int, np.integer, np.bool_)) or feedback not in (0, 1):
        raise InvalidFeedback(
            f"the feedback on a pair is {feedback!r}", "give 0 (the first is preferred) or 1 (the second)"
        )
    return bool(feedback)
