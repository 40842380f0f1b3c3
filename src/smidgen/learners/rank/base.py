"""Base class of learners that show rankings with some randomness, and learn from clicks.

An answer has one form, be it clicks or a better ranking (`Answer`): every document gets a standing, the lower the
better: clicked documents 0 and the others 1, or its place in the better ranking. An answer speaks of the first places
only: clicks of those down to the one below the last click, which the user will have seen.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import rank, ranking
from smidgen.arrays import writable
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeedback, NotFinite
from smidgen.features import Rows
from smidgen.geometry.space import plain
from smidgen.learners.base import Learner
from smidgen.randomness import COIN, U64, stream_key
from smidgen.structures import Clicks, ExtendedRanking, Ranking


class Answer(NamedTuple):
    """An answer, by document.

    Attributes
    ----------
    standing
        Of each document: the lower, the better.
    places
        How many of the first places it speaks of.
    clicks
        True for clicks: two documents of different feedback are then a preference, whichever was shown above. In a
        preferred ranking only reversed pairs are one.
    """

    standing: IntArray
    places: int
    clicks: bool


def read_answer(context: Ranking, shown: IntArray, feedback: Any) -> Answer:
    """Read the feedback on a shown ranking, or raise."""
    standing = np.empty(len(shown), np.int64)
    if type(feedback) is Clicks:
        places = rank.stand_clicked(shown, feedback.documents, standing)
        if places < 0:
            raise InvalidFeedback(
                f"document {feedback.documents.max()} was clicked and there are {len(shown)}",
                f"give indices of shown documents, 0 … {len(shown) - 1}",
            )
        return Answer(standing, places, True)
    better = context.check(feedback)
    order = better.order if isinstance(better, ExtendedRanking) else better
    rank.stand_placed(order, standing)
    return Answer(standing, len(shown), False)


DEPTH = "give the number of positions to draw and learn from, e.g. depth=10"


DRAWN, FAIR, PERTURBED = range(3)  # kinds of learners in compiled loops


class Drawing(NamedTuple):
    """Settings of a learner, for compiled loops. Each kind reads its own fields."""

    kind: int
    depth: int
    coins: U64
    step: float = 1.0
    swap: float = 0.5
    alternate: bool = True


class RankLearner(Learner):
    """Rank by w, show it with some first positions drawn at random, receive clicks or a preferred ranking, step."""

    keeps_rows = True

    def __init__(self, *, dim: int, depth: int, params: Mapping[str, Any], seed: int) -> None:
        self.dim = checks.dimension(dim)
        self.depth = checks.whole("depth", depth, DEPTH)
        super().__init__(params={"dim": self.dim, **params}, seed=seed)
        self._w: FloatArray = np.zeros(self.dim)
        self._uninformative = 0
        self._coins = stream_key(self._seed, COIN)

    def drawing(self) -> Drawing | None:
        """The learner in compiled loops; None: by the two verbs only."""
        return None

    def seen_features(self, X: FloatArray, starts: IntArray) -> FloatArray:
        """The features of many queries, which begin at ``starts``, as the learner sees them."""
        return X

    def seen_rows(self, context: Any) -> Rows:
        """The candidates of a query as the learner reads them: the score of each is its row times the weights."""
        return self._rows(context)

    def _decide(self, context: Any, number: int) -> Decision:
        rows = self._rows(context)
        scores = rows.scores(self._w)
        greedy: IntArray = np.empty(len(scores), np.int64)
        order: IntArray = np.empty(len(scores), np.int64)
        if not ranking.rank_finite(scores, greedy):
            raise NotFinite("the features lead to scores that are not finite", "scale them down")
        chance, teams = self._draw(scores, greedy, number, order)
        if not math.isfinite(chance):
            raise NotFinite("the scores are beyond floating point", "scale the features down")
        greedy.setflags(write=False)
        order.setflags(write=False)
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=order,
            greedy=greedy,
            context=context,
            explored=order.tobytes() != greedy.tobytes(),
            propensity=math.exp(chance) or None,
            log_propensity=float(chance),
            scores=scores,
            teams=teams,
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        context = decision.context
        if not isinstance(context, Ranking):
            raise DecisionMismatch(
                f"decision {decision.id} holds no ranking problem", "pass the decision as decide returned it"
            )
        shown = context.check(decision.action)
        answer = read_answer(context, shown, feedback)
        self._uninformative += not self._step(decision, shown, answer)

    def _predict(self, context: Any) -> IntArray:
        return self._ranked(context, self._w)

    def _ranked(self, context: Any, w: FloatArray) -> IntArray:
        """The documents by falling score under these weights, equals in the given order."""
        scores = self._rows(context).scores(w)
        order: IntArray = context.best(scores)
        return order

    @abstractmethod
    def _draw(self, scores: FloatArray, greedy: IntArray, number: int, order: IntArray) -> tuple[float, Any]:
        """Write the order to show; return the log of its first places' probability, and the pairs if there are any."""

    @abstractmethod
    def _step(self, decision: Decision, shown: IntArray, answer: Answer) -> bool:
        """Take one step; say whether there was anything to learn."""

    def _rows(self, context: Any) -> Rows:
        """The features of a context that can be ranked here."""
        if not isinstance(context, Ranking):
            raise InvalidArgument(f"the context is a {type(context).__name__}", "give a Ranking(docs)")
        if context.rows.shape[1] != self.dim:
            context.check_dim(self.dim)
        return context.rows

    @property
    def weights(self) -> FloatArray:
        """A copy of the weights w."""
        return self._w.copy()

    @property
    def uninformative(self) -> int:
        """Number of rounds without information: no clicks, or none that prefer one document to another."""
        return self._uninformative

    def presented(self, decision: Decision) -> list[Any]:
        """The rankings that a decision puts before the user: one."""
        return [decision.action]

    def preferred(self, decision: Decision, feedback: Any) -> Any:
        """The ranking that feedback calls better."""
        return feedback.better(decision.action) if isinstance(feedback, Clicks) else feedback

    @property
    def shared_start(self) -> str | None:
        """With the mean of the others' weights."""
        return "mean"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._w = np.array(start["w"], dtype=np.float64)

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"w": self._w, "uninformative": np.array(self._uninformative)}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._w, self._uninformative = plain(state["w"]), int(state["uninformative"])


def kept_pairs(decision: Decision, n: int) -> IntArray:
    """The pairs that a decision says its places belong to, checked."""
    teams = decision.teams
    if teams is None or teams.shape != (n,) or teams.dtype.kind not in "iu":
        raise DecisionMismatch(
            f"decision {decision.id} does not hold its pairs of positions", "pass the decision as decide returned it"
        )
    return writable(np.asarray(teams, dtype=np.int64))
