"""Candidates in, a ranking out; a better ranking or clicks back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from smidgen.decision import Decision
from smidgen.learners import Card, Feedback, Learner
from smidgen.learners.coactive.dueling_bandit import team_draft
from smidgen.randomness import TEAMS, uniforms
from smidgen.service.errors import Impossible, json_text
from smidgen.service.loops.base import (
    UNDRAWN,
    Answer,
    AppChoice,
    Example,
    FeedbackForm,
    FeedbackKind,
    Figure,
    Loop,
    Option,
    ParsedFeedback,
    UiTexts,
)
from smidgen.service.loops.evaluate_clicks import ClickEvaluator
from smidgen.service.loops.evaluator import CAVEATS, TrainingSignal
from smidgen.service.loops.features import (
    Candidates,
    build_context,
    positions_of,
    preference_text,
    read,
    without_excluded,
)
from smidgen.service.schemas import AnyId, DecisionBody, FeedbackBody, HoldoutCandidate, Record
from smidgen.structures import Clicks

#: Number of positions that count by default.
TOP = 5


class Request(DecisionBody, kw_only=True):
    """A request: the candidates to rank, and the number of positions that count.

    Attributes
    ----------
    candidates
        The candidates to rank, 1 to 10,000.
    top
        How many positions count in the feature map.
    context
        A record of what is the same for all candidates.
    exclude
        Ids that must not be shown.
    """

    candidates: Candidates
    top: Annotated[int, Meta(ge=1)] | None = None
    context: Record | None = None
    exclude: list[AnyId] | None = None


class Reply(Struct):
    """All candidates, best first, and their scores in that order.

    Attributes
    ----------
    ranking
        All candidate ids, best first.
    scores
        Their scores, in the same order.
    """

    ranking: list[str | int]
    scores: list[float] | None


class RankFeedback(FeedbackBody, kw_only=True):
    """The candidates that belong at the front, in order, or those that were clicked.

    Attributes
    ----------
    better
        Ids that belong at the front, best first; choose: the better candidate.
    clicked
        Ids that the user clicked, in the order of the clicks.
    """

    better: list[AnyId] | AnyId | UnsetType = UNSET
    clicked: list[AnyId] | UnsetType = UNSET


class Rank(Loop):
    """Candidates in, a ranking out; a better ranking or clicks back."""

    name = "rank"
    request = Request
    reply = Reply
    feedback = RankFeedback
    kinds: ClassVar[Mapping[str, str]] = {"better": Feedback.BETTER, "clicked": Feedback.CLICKS}
    measure = "left unchanged"
    takes_records = True
    shows_lists = True
    holds_out = True
    interleaves = True
    words = UiTexts(
        does="Rank: order candidates; learns from clicks or from a corrected order",
        out="A ranking",
        about_out="All candidates, best first: search results, a feed, a menu.",
        back={
            Feedback.CLICKS: FeedbackKind(
                title="Clicks",
                note="The candidates that the user opened. Position bias is corrected for.",
                example={"clicked": ["$2"]},
            ),
            Feedback.BETTER: FeedbackKind(
                title="A corrected ranking",
                note="The user or an editor moved some candidates to the front.",
                example={"better": ["$2", "$1"]},
            ),
        },
        curve="Accepted unchanged",
        about_curve=(
            "Share of rankings that the user left unchanged, in windows of learned feedback, with 95 % intervals."
        ),
        asks="candidates",
    )
    figure = Figure(
        title="Position of clicks",
        note="Mean position of the first clicked or preferred candidate; 1 is the top.",
        of="learnt",
        lines=("position",),
    )
    example = Example(
        title="Rank",
        name="news",
        model={"features": ["bm25", "fresh"]},
        request={
            "candidates": [
                {"id": "a", "features": {"bm25": 1.2, "fresh": 0.1}},
                {"id": "b", "features": {"bm25": 0.4, "fresh": 0.9}},
            ],
            "top": 5,
        },
        feedback=(("clicks", {"clicked": ["b"]}), ("a corrected order", {"better": ["b", "a"]})),
    )
    evaluator = ClickEvaluator
    caveats = CAVEATS

    def context(self, body: Request) -> tuple[Any, Sequence[str]]:
        """The documents to rank."""
        ids, rows = read(body.candidates, self.vectors)
        if body.exclude:
            ids, rows = without_excluded(ids, rows, body.exclude)
        return build_context(ids, rows, body.context, self.vectors, body.top or TOP), ids

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """All ids, best first, with their scores."""
        scores = None if decision.scores is None else decision.scores.tolist()
        order = decision.action.tolist()
        return {
            "ranking": [ids[i] for i in order],
            "scores": None if scores is None else [scores[i] for i in order],
        }

    def accepts(self, kind: str, card: Card) -> bool:
        """True for learners of rankings or clicks: clicks are converted to the ranking they imply."""
        return kind in card.kinds or (kind == Feedback.CLICKS and Feedback.BETTER in card.kinds)

    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        """The preferred candidates move to the front; the rest keep the shown order. Some learn from clicks as such."""
        chosen = positions_of(value if isinstance(value, list) else [value], ids, field)
        shown, front = decision.action.tolist(), set(chosen)
        better = [*chosen, *(doc for doc in shown if doc not in front)]  # as `smidgen.from_clicks`
        position = next((float(place) for place, doc in enumerate(shown, 1) if doc in front), None)
        signal: Any = np.array(better, dtype=np.int64)
        if self.kinds[field] == Feedback.CLICKS and _learns_from_clicks(learner, decision):
            signal = Clicks(chosen)
        return ParsedFeedback(signal, float(better == shown), position)

    def signal_for_follower(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> TrainingSignal | None:
        """The ranking that it makes of the one that was shown; that nothing was clicked says nothing of other ones."""
        front = positions_of(value if isinstance(value, list) else [value], ids, field)
        return TrainingSignal(_put_first(front, shown.action)) if front else None

    def read_app_choice(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> AppChoice:
        """The app's ranking: its named items first, in that order, the others in the learner's order."""
        if isinstance(value, bool):
            raise Impossible(f"chosen is {json_text(value)}", "send a candidate's id, or an array of ids, best first")
        front = positions_of(value if isinstance(value, list) else [value], ids, "chosen")
        order = _put_first(front, mine.greedy)
        agreed = list(mine.greedy[: len(front)]) == front
        return AppChoice(order, agreed, [TrainingSignal(order)])

    def hold_out(self, mine: Decision, ids: Sequence[Any], policy: Any, draw: bytes) -> Decision:
        """All candidates: in any order, as they were sent, or one of them first."""
        order = np.arange(len(ids))
        if policy == "uniform":
            order = np.random.default_rng(int.from_bytes(draw, "big")).permutation(len(ids))
        elif isinstance(policy, HoldoutCandidate) and policy.candidate in ids:
            order = _put_first([list(ids).index(policy.candidate)], order)
        return structs.replace(
            mine, action=order, greedy=order, explored=False, propensity=None, scores=None, **UNDRAWN
        )

    def interleave(self, mine: Decision, rival: Decision, seed: int) -> tuple[Decision, bytes]:
        """Both rankings by team draft: in turn each adds its best candidate that is left, a coin says who begins."""
        coins = uniforms(seed, mine.number, (len(mine.action) + 1) // 2, stream=TEAMS)
        order, teams = team_draft(mine.action, rival.action, coins)
        explored = order.tolist() != mine.greedy.tolist()
        mixed = structs.replace(mine, action=order, explored=explored, propensity=None, **UNDRAWN)
        rivals, tied = np.zeros((2, len(order)), bool)
        rivals[order[teams == 1]] = True
        tied[_next_of_both(mine.action.tolist(), rival.action.tolist(), order.tolist())] = True
        return mixed, np.packbits(rivals).tobytes() + np.packbits(tied).tobytes()

    def agrees(self, mine: Decision, other: Any) -> bool | None:
        """True if the positions that count are equal."""
        top = getattr(mine.context, "top", None) or TOP
        return list(mine.greedy[:top]) == list(other[:top])

    def parse_example(self, learner: Learner, body: Request, answer: Any) -> tuple[Any, Any]:
        """The documents, and the best ranking; what it does not name comes behind, in the order of the request."""
        context, ids = self.context(body)
        front = positions_of(answer if isinstance(answer, list) else [answer], ids, "answer")
        rest = set(front)
        return context, np.array([*front, *(doc for doc in range(len(ids)) if doc not in rest)], np.int64)

    def request_text(self, ids: Sequence[str]) -> str:
        """Number of candidates."""
        return f"a ranking of {len(ids)} candidates"

    def short_text(self, reply: Mapping[str, Any]) -> str:
        """The first three."""
        ranking = [str(id) for id in reply["ranking"]]
        return " › ".join(ranking[:3]) + (f" › … {len(ranking)} in all" if len(ranking) > 3 else "")

    def reply_text(self, reply: Mapping[str, Any]) -> str:
        """The first ten, with their scores."""
        ranking, scores = [str(id) for id in reply["ranking"]], reply.get("scores") or []
        shown = [f"{id} ({score:.3g})" for id, score in zip(ranking, scores, strict=False)]
        return "it ranked " + ", ".join((shown or ranking)[:10]) + ("…" if len(ranking) > 10 else "")

    def feedback_text(self, field: str, value: Any) -> str:
        """Describe the clicked or preferred candidates."""
        return preference_text(
            value if isinstance(value, list) else [value], "clicked" if field == "clicked" else "preferred"
        )

    def feedback_form(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> FeedbackForm:
        """A click on any of them."""
        ranking = reply["ranking"]
        scores = reply.get("scores") or [None] * len(ranking)
        options = [
            Option(text=str(id), feedback={"clicked": [id]}, hint="" if score is None else f"score {score:.3g}")
            for id, score in zip(ranking, scores, strict=True)
        ]
        text = "It ranked the candidates like this. Which one does the user click?"
        return FeedbackForm(text=text, options=options, ordered=True)

    def measure_of(
        self, made: Decision, signal: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        """1 if the ranking was accepted unchanged, else 0."""
        better = signal.better(made.action) if isinstance(signal, Clicks) else signal
        return float(np.asarray(better).tolist() == np.asarray(made.action).tolist())


def _learns_from_clicks(learner: Learner, decision: Decision) -> bool:
    """True if the learner receives clicks as such: its first kind, or a decision with teams of its own."""
    kinds = learner.card.kinds
    return kinds[0] == Feedback.CLICKS or (Feedback.CLICKS in kinds and decision.teams is not None)


def _next_of_both(first: list[int], second: list[int], page: list[int]) -> list[int]:
    """The documents of a page that stood highest of those left in both rankings when they were taken."""
    found, places, taken = list[int](), [0, 0], set[int]()
    for document in page:
        for side, ranking in enumerate((first, second)):
            while ranking[places[side]] in taken:
                places[side] += 1
        if first[places[0]] == document == second[places[1]]:
            found.append(document)
        taken.add(document)
    return found


def _put_first(front: list[int], order: Any) -> Any:
    """Some documents first, the others behind them in an order."""
    first = set(front)
    return np.array([*front, *(doc for doc in order.tolist() if doc not in first)], np.int64)
