"""Candidates from the wire, and the evaluator of all loops where something better comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, InvalidFeatures, InvalidRecord
from smidgen.features import Vectorizer
from smidgen.features.rows import DenseRows
from smidgen.learners import Card, Feedback, cards
from smidgen.service.faults import in_record
from smidgen.service.insight.estimates import Estimate, share
from smidgen.service.loops.evaluator import Evaluator
from smidgen.service.loops.vectors import Vectors
from smidgen.service.messages import CANDIDATES, Candidate, CompactCandidates
from smidgen.service.refusals import Impossible
from smidgen.structures import Candidates as Offer
from smidgen.structures import Choice, Clicks, Ranking, structured

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint
    from smidgen.service.store.lines import Line

Candidates = Annotated[list[Candidate], Meta(min_length=1, max_length=CANDIDATES)] | CompactCandidates

#: What a reader of what-if must know of such a log.
CAVEATS = (
    "a learner without exploration showed what it thought best, so in its own log the better object stands above "
    "that almost never (only when feedback was late): compare other learners with one another, not with it",
    "all pairs come from where the log's learner was corrected; a learner that resembles it is at a disadvantage",
)


def read(given: list[Candidate] | CompactCandidates, vectors: Vectors) -> tuple[list[Any], Any]:
    """The candidates' ids and their features, row by row."""
    if isinstance(given, CompactCandidates):
        ids, rows = given.ids, vectors.matrix(given.features)
        if len(ids) != len(rows):
            raise Impossible(f"there are {len(ids)} ids and {len(rows)} rows of features", "give one row for each id")
    else:
        ids = [candidate.id for candidate in given]
        features: list[Any] = [candidate.features for candidate in given]
        if None in features and not vectors.records:
            raise Impossible(f"candidates[{features.index(None)}].features is missing", f"give {vectors.dim} numbers")
        rows = vectors.rows(features)
    if len(set(map(str, ids))) < len(ids):
        (twice, _), *_ = Counter(map(str, ids)).most_common(1)
        raise Impossible(f"the candidate id {twice!r} stands there twice", "give each candidate an id of its own")
    return ids, rows


def without(ids: list[Any], rows: Any, excluded: Sequence[Any]) -> tuple[list[Any], Any]:
    """The candidates but for some that must not be shown."""
    out = set(places(list(dict.fromkeys(map(str, excluded))), ids, "exclude"))
    kept = [place for place in range(len(ids)) if place not in out]
    if not kept:
        raise Impossible("exclude names all candidates", "leave at least one that may be shown")
    return [ids[place] for place in kept], [rows[place] for place in kept] if isinstance(rows, list) else rows[kept]


def offer(ids: Sequence[Any], rows: Any, context: Any, vectors: Vectors, top: int | None = None) -> Any:
    """What the learner decides on: records with their context, or rows of numbers; with ``top``, to rank."""
    if vectors.records:
        return Offer(dict(zip(ids, rows, strict=True)), context=context, top=top)
    if context is not None:
        raise Impossible(
            "context stands beside the candidates, and this model takes rows of numbers",
            'make a model without "features": its candidates are crossed with the context',
        )
    if type(rows) is np.ndarray and not rows.flags.writeable:  # as `vectors` makes them: checked, and nobody else's
        rows = DenseRows(rows)
    return Choice(rows) if top is None else Ranking(rows, top=top)


def located(error: InvalidFeatures, context: Any, features: Vectorizer) -> Impossible:
    """The refusal of a record with the place where it stands in the request; ``features`` reads the records anew."""
    if isinstance(context, Offer):
        for index, each in enumerate(context.records):
            try:
                features.encode(each)
            except InvalidFeatures as its:
                return in_record(its, f"candidates[{index}].features")
        return in_record(error, "context")
    return in_record(error, "features")


def places(named: Sequence[Any], ids: Sequence[Any], field: str) -> list[int]:
    """Where the named candidates stand among all; 7 and "7" are one name."""
    if len(named) == 1 and named[0] in ids:
        return [ids.index(named[0])]
    index = {str(id): i for i, id in enumerate(ids)}
    try:
        found = [index[str(name)] for name in named]
    except KeyError:
        unknown = next(name for name in named if str(name) not in index)
        raise Impossible(
            f"{field} names {unknown!r}, which was not a candidate", "name candidates of this decision"
        ) from None
    if len(set(found)) < len(found):
        raise Impossible(f"{field} names a candidate twice", "name each candidate once")
    return found


def preferred(ids: Sequence[Any], verb: str = "preferred") -> str:
    """What the user liked, in a few words."""
    return f"{verb} {', '.join(map(str, ids[:3]))}{'…' if len(ids) > 3 else ''}" if ids else "nothing to improve"


class CoactiveEvaluator(Evaluator):
    """How often the other learner would have put the user's better object above the one shown.

    Its utility w·φ of both is compared before it learns that the one is better. Feedback that left the shown object as
    it was, or changed only what the features do not see, compares nothing and is not counted.
    """

    measure = "better above shown"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        if (why := self.why_not(blueprint.card, blueprint.kind)) is not None:
            raise InvalidArgument(why, "compare other learners")
        self._pairs = self._above = self._ties = 0

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """One that shows pairs hears only of its own rivals, one that hears rewards of what it has shown."""
        if Feedback.BETTER not in card.kinds:
            return f"a {learner} learns from rewards, which the log does not hold"
        if not card.shows_pairs:
            return None
        return f"a {learner} learns only from duels with a rival of its own, which the log does not hold"

    def answered(self, event: Line, made: Decision) -> None:
        """Compare, then learn."""
        learner = self.learner(event.key)
        known = event.__dict__.get("its pair")
        if known is None or known[0] is not made:  # once for all learners
            known = event.__dict__["its pair"] = (made, *compared(made, event.told()))
        _, better, shown, delta = known
        self.observe("pair", float(learner.weights @ delta) if delta is not None else None)
        self.learn(event, msgspec.structs.replace(self.mine(event, made), action=shown), better)

    def _saw_pair(self, gain: float | None) -> None:
        """By how much the better object lies above the one shown; None if nothing tells them apart."""
        if gain is None:
            return
        self._pairs += 1
        self._above += gain > 0.0
        self._ties += gain == 0.0
        self.curve.append(self._above / self._pairs)

    def mine(self, event: Line, made: Decision) -> Decision:
        """What the other learner decides on the same candidates."""
        return self.learner(event.key).decide(made.context)

    def learn(self, event: Line, decision: Decision, better: Any) -> None:
        """Let it learn that another object was better than the one shown."""
        self.learner(event.key).learn(decision, better)

    def figures(self) -> list[Estimate]:
        """The share above, and the share of ties."""
        return [
            share("better above shown", self._above, self._pairs),
            share("tied", self._ties, self._pairs),
        ]


def compared(made: Decision, told: Any) -> tuple[Any, Any, FloatArray | None]:
    """The better object, the one shown, and how their features differ; None if they do not."""
    better, shown = pair(made, told)
    known = structured(made.context)
    if known is None:
        raise InvalidRecord(f"the log holds a {type(made.context).__name__} where a structure belongs", "restore it")
    delta = known.difference(better, shown)
    return better, shown, delta if delta.any() else None


def pair(made: Decision, told: Any) -> tuple[Any, Any]:
    """The better object and the one shown; of a duel, the winner and the loser."""
    if _is_duel(made):
        return made.action[told], made.action[1 - told]
    return (told.better(made.action) if isinstance(told, Clicks) else told), made.action


def _is_duel(made: Decision) -> bool:
    """Whether two objects were shown beside each other; an object of a guest's may itself be a tuple."""
    card = cards.get(made.kind)
    draws_rivals = made.perturbation is not None or (card is not None and card.shows_pairs)
    return draws_rivals and made.teams is None and isinstance(made.action, tuple)
