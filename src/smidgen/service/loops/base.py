"""The Loop class, and the texts of the pages of loops.

What a loop is to the service: all that is known of it, in one file of its own.

A loop turns a request into a context, a decision into an answer, and feedback into what the learner's ``learn`` takes,
with the figure by which people judge it (the *measure*). It tells decisions as stories, and describes itself to the
pages, to OpenAPI and to what-if. All else iterates over the loops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct, structs

from smidgen.checks import nearest
from smidgen.decision import Decision
from smidgen.errors import NoWeights
from smidgen.learners import Card, Learner
from smidgen.service.errors import Impossible, validation_error
from smidgen.service.loops.evaluator import Evaluator, Terms, TrainingSignal, same
from smidgen.service.loops.features import Vectors
from smidgen.service.schemas import COMMON_FEEDBACK, BestReply, DecisionBody, FeedbackBody, HoldoutCandidate, ModelBody

# What a loop says of itself to people and to pages: words, figures, examples, and what a hand may answer.


class Figure(Struct, frozen=True, kw_only=True):
    """A second curve on a model's page.

    Attributes
    ----------
    title, note
        Its heading, and the words below it.
    of
        Whether it runs along learnt feedback or along all decisions.
    lines
        Which figures of the windows it draws: ``position`` of the learnt, ``explored`` and ``forwarded`` of all.
    idle
        What is said in its place while all its lines are zero; empty: they are drawn.
    """

    title: str
    note: str
    of: Literal["learnt", "made"]
    lines: tuple[str, ...]
    idle: str = ""


class FeedbackKind(Struct, frozen=True, kw_only=True):
    """Something that may come back, in the words of an app.

    Attributes
    ----------
    title, note
        What it is called, and what it means.
    example
        The feedback that says so; ``"$1"`` and ``"$2"`` stand for candidates of a request, ``"$label"`` for a label.
    """

    title: str
    note: str = ""
    example: dict[str, Any] = {}


class UiTexts(Struct, frozen=True, kw_only=True):
    """Texts about a loop on the pages.

    Attributes
    ----------
    does
        What it does and what it learns from, in a line.
    out, about_out
        The output to the app, and what it is for.
    back
        What may come back, by the kind of feedback.
    curve, about_curve
        The heading of its curve, and the words below.
    weights, about_weights
        The same for its weights.
    waiting
        What decisions without feedback are.
    asks
        What the form for a decision asks for: candidates, the features of one thing, a context (where the model takes
        one), or the request as JSON.
    labels
        Whether a new model is asked for labels.
    knobs
        Whether a new model is asked for knobs.
    tells_exploring
        Whether lists say of a decision that it explored; not where every one does.
    """

    does: str
    out: str = ""
    about_out: str = ""
    back: dict[str, FeedbackKind] = {}
    curve: str
    about_curve: str
    weights: str = "Strongest weights"
    about_weights: str = "What raises a score (right) and what lowers it (left)."
    waiting: str = "open"
    asks: Literal["candidates", "features", "context", "json"] = "json"
    labels: bool = False
    knobs: bool = False
    tells_exploring: bool = True


class Example(Struct, frozen=True, kw_only=True):
    """Calls that work one after the other.

    Attributes
    ----------
    title
        What is shown.
    name, model
        A model and its settings.
    request
        What is asked.
    feedback
        What may come back, each with a title; all are possible, one counts.
    batches
        Bodies of a batch of two, each with a title.
    """

    title: str
    name: str
    model: dict[str, Any]
    request: dict[str, Any]
    feedback: tuple[tuple[str, dict[str, Any]], ...]
    batches: tuple[tuple[str, dict[str, Any]], ...] = ()


class Option(Struct, frozen=True, kw_only=True):
    """Action that a user may take: the text of the button, a hint next to it, and the feedback that it sends."""

    text: str
    feedback: dict[str, Any]
    hint: str = ""
    main: bool = False


class FormField(Struct, frozen=True, kw_only=True):
    """Something to type in: a number, several numbers, a text, or (without a field) the whole feedback as JSON."""

    label: str
    field: str = ""
    many: bool = False
    text: bool = False


class FeedbackForm(Struct, frozen=True, kw_only=True):
    """Answers that a person may give to a decision by hand.

    Attributes
    ----------
    text
        What was decided, and what the user is asked.
    options, ordered
        The buttons, and whether their order is part of the answer.
    entry
        What can be typed in.
    note
        Why there is nothing to answer, say.
    """

    text: str
    options: list[Option] = []
    ordered: bool = False
    entry: FormField | None = None
    note: str = ""


#: Fields of a decision that describe its own random draw; cleared when something else is shown.
UNDRAWN: dict[str, Any] = dict.fromkeys(("propensities", "log_propensity", "perturbation", "reach", "teams"))


def policy_choice(mine: Decision, ids: Sequence[Any], policy: Any, draw: bytes) -> Decision:
    """Return the decision of a holdout's policy that shows one of the ids, with the probabilities of that policy."""
    n, place = len(ids), 0
    if policy == "uniform":
        place = int.from_bytes(draw, "big") * n >> 8 * len(draw)
    elif isinstance(policy, HoldoutCandidate) and policy.candidate in ids:
        place = list(ids).index(policy.candidate)
    chances = np.full(n, 1.0 / n) if policy == "uniform" else np.eye(n)[place]
    shares = None if mine.propensities is None else chances
    return structs.replace(
        mine,
        action=place,
        greedy=place,
        explored=False,
        **UNDRAWN | {"propensities": shares},
        propensity=chances[place].item(),
    )


Answer = dict[str, Any]
#: What a request has in every loop.
COMMON = DecisionBody.__struct_fields__


class ParsedFeedback(NamedTuple):
    """Feedback in the learner's own terms.

    Attributes
    ----------
    learn
        What ``learner.learn`` takes.
    measure
        The loop's figure: left unchanged (1 or 0), right, relevant, or the loss.
    position
        Where in the shown ranking the first clicked or preferred candidate stood, from 1.
    """

    learn: Any
    measure: float | None = None
    position: float | None = None


@dataclass(frozen=True)
class AppChoice:
    """Action that the app has chosen itself.

    Attributes
    ----------
    action
        In the learner's own terms.
    agreed
        Whether the learner would have said the same.
    lessons
        What it is taught.
    """

    action: Any
    agreed: bool
    lessons: list[TrainingSignal]


class Loop(ABC):
    """A loop of one model.

    Parameters
    ----------
    model
        The model's settings.
    vectors
        How its features become numbers.
    """

    #: One word, the same everywhere.
    name: ClassVar[str]
    #: Other loops whose learners serve this one too.
    served_by: ClassVar[tuple[str, ...]] = ()
    #: What a request has beyond ``id`` and ``key``.
    request: ClassVar[type[DecisionBody]] = DecisionBody
    #: What the answer has beyond what every answer has; the first field is the output.
    reply: ClassVar[type[msgspec.Struct]]
    #: What may come back: fields, all of which may be left out.
    feedback: ClassVar[type[FeedbackBody]]
    #: Which kind of feedback (a word of the cards) each of these fields is.
    kinds: ClassVar[Mapping[str, str]]
    #: The figure by which people judge it, and whether it is a share.
    measure: str
    share: bool = True
    #: What a decision without feedback counts for in the measure; None where it cannot be known.
    silence: float | None = 0.0
    #: True if its features may be records.
    takes_records: ClassVar[bool] = False
    #: The most columns of its records, where they are few; None where they are many.
    most_columns: ClassVar[int | None] = None
    #: Name of a single record in a request.
    asks: ClassVar[str] = "features"
    #: True if every row of a matrix of features is a request.
    takes_matrix: ClassVar[bool] = False
    #: Number of features, if the loop determines it.
    dim: ClassVar[int | None] = None
    #: True if requests and feedback hold texts; a setting of the model says whether they are kept.
    takes_texts: ClassVar[bool] = False
    #: Settings of a learner that are facts of the model: another learner in its place has them too.
    facts: ClassVar[tuple[str, ...]] = ("dim",)
    words: ClassVar[UiTexts]
    figure: ClassVar[Figure | None] = None
    example: ClassVar[Example]
    #: Replays a log through another learner; None where a log says nothing of others.
    evaluator: type[Evaluator] | None = None
    #: What a reader of what-if must know.
    caveats: tuple[str, ...] = ()
    #: True if its learners can say what they think best, so that `best` is worth asking.
    knows_best: ClassVar[bool] = False
    #: True if its answers are lists that people read from the top.
    shows_lists: ClassVar[bool] = False
    #: True if a fixed policy can answer instead of the model (`hold_out`).
    holds_out: ClassVar[bool] = False
    #: True if the answers of two models can be mixed into one (`interleave`).
    interleaves: ClassVar[bool] = False

    #: What is in force of what may change while a model lives: the range of its rewards among it.
    terms: Terms
    #: The settings of the model's learner.
    settings: Mapping[str, Any]

    def __init__(self, model: ModelBody, vectors: Vectors) -> None:
        self.model = model
        self.vectors = vectors

    def adapt_to(self, card: Card) -> None:
        """Adapt to the kind of feedback of the learner: the measure of the model may depend on it."""
        return

    def check_settings(self) -> None:
        """Refuse settings of a new model that are of other loops."""
        if self.model.candidates is not None:
            raise Impossible(
                f"the loop {self.name} does not store candidates",
                'remove "candidates" here and send them with each request',
            )

    # What goes in and out

    @abstractmethod
    def context(self, body: Any) -> tuple[Any, Sequence[str]]:
        """The learner's context, and the candidates' ids; ``body`` has the fields of `request`."""

    @abstractmethod
    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """Reply to the app: the fields of `reply`."""

    @abstractmethod
    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        """Feedback as the learner takes it; ``field`` is one of `feedback`."""

    def parse_example(self, learner: Learner, body: Any, answer: Any) -> tuple[Any, Any]:
        """Arguments of ``learner.teach``: the context of an example, and its answer in the learner's own terms."""
        raise Impossible(f"the loop {self.name} does not accept examples", "request decisions and send feedback")

    def signal_for_follower(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> TrainingSignal | None:
        """Lesson for a learner from the feedback on another learner's action; None if it can learn nothing from it.

        Parameters
        ----------
        learner
            The one that reads the rows.
        mine, shown
            Its own decision on the request, and the one that went out.
        ids
            The candidates' ids.
        field, value
            The feedback.
        """
        return None

    def read_app_choice(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> AppChoice:
        """The app's own choice in the learner's own terms, and the lesson for the learner."""
        raise Impossible(f"the loop {self.name} does not accept chosen", 'remove "chosen"')

    def hold_out(self, mine: Decision, ids: Sequence[Any], policy: Any, draw: bytes) -> Decision:
        """Return the decision of a holdout's policy on the request of the model's own decision.

        Parameters
        ----------
        mine, ids
            The model's own decision, and the candidates' ids.
        policy
            As in `smidgen.service.schemas.Holdout`.
        draw
            Sixteen random bytes.
        """
        raise Impossible(f"the loop {self.name} has no holdout", 'remove "holdout"')

    def interleave(self, mine: Decision, rival: Decision, seed: int) -> tuple[Decision, bytes]:
        """Return the decision that mixes the answers of two models, and which candidates are the rival's.

        Parameters
        ----------
        mine, rival
            The decisions of both on the same request.
        seed
            The seed of the draft, which belongs to the number of the first decision.

        Returns
        -------
        The decision instead of the first, without a probability, and two bits for each candidate: first of all
        whether they are the rival's, then of all whether they tell nothing, since both would have taken them next.
        """
        raise Impossible(f"the loop {self.name} has no rankings to mix", 'remove "compare"')

    def answers_of(self, ids: Sequence[Any]) -> Sequence[Any]:
        """Return what scores and probabilities are about, in their order: the candidates' ids."""
        return ids

    def agrees(self, mine: Decision, other: Any) -> bool | None:
        """True if the learner's best guess is the other answer; None if that cannot be known."""
        return same(mine.greedy, other)

    def target_propensity(self, mine: Decision, shown: Decision) -> float | None:
        """The probability with which ``mine`` would have shown what ``shown`` did, where it is known."""
        return None

    def default_feedback(self) -> ParsedFeedback:
        """Feedback for the learner when a window closes without any, in models with a default reward."""
        if self.terms.default_reward is None:
            raise Impossible("the model does not learn from missing feedback", "set its default_reward")
        return self.parse_reward(self.terms.default_reward)

    def parse_reward(self, value: float) -> ParsedFeedback:
        """A reward for what was shown; the figure is the app's own number."""
        return ParsedFeedback(self.terms.reward(value), float(value))

    def parse_rewards(self, value: Mapping[str, float]) -> ParsedFeedback:
        """Rewards for the slots of what was shown, by slot; the figure is their mean in the app's own range."""
        learned = {slot: self.terms.reward(reward, f"rewards.{slot}") for slot, reward in value.items()}
        return ParsedFeedback(learned, float(np.mean(list(value.values()))))

    def check(self, body: DecisionBody, but: tuple[str, ...] = ()) -> None:
        """Refuse a request with fields of other loops, or without those of this one; ``but`` may be there."""
        own = (*self.request.__struct_fields__, *but)
        for name in body.__struct_fields__:
            if name not in own and getattr(body, name) is not None:
                raise Impossible(f'unknown field "{name}" for the loop {self.name}', self._wanted(name))
        for name in self._required():
            if getattr(body, name) is None:
                raise Impossible(f"{name} is missing", self._wanted())

    def parse_feedback(
        self, learner: Learner, decision: Decision, ids: Sequence[str], given: Mapping[str, Any]
    ) -> ParsedFeedback:
        """Feedback for the learner; refuse fields of another loop, or those that the learner does not accept."""
        field, value = self.check_feedback(type(learner).__name__, learner.card, given)
        return self.parse_field(learner, decision, ids, field, value)

    def check_feedback(self, learner: str, card: Card, given: Mapping[str, Any]) -> tuple[str, Any]:
        """The one field of feedback; refuses fields of other loops, and those that the learner does not take."""
        if len(given) != 1:
            raise Impossible(
                f"the feedback has {len(given)} fields ({', '.join(given) or 'none'}) and must have one",
                self.accepted_feedback(),
            )
        ((field, value),) = given.items()
        if field not in self.kinds:
            raise Impossible(
                f'unknown feedback field "{field}" for the loop {self.name}', self.accepted_feedback(field)
            )
        try:
            msgspec.convert(given, self.feedback)
        except msgspec.ValidationError as error:
            raise validation_error(error, given, self.feedback) from error
        if not self.accepts(self.kinds[field], card):
            send = [name for name, kind in self.kinds.items() if self.accepts(kind, card)]
            raise Impossible(
                f"{learner} learns from {card.feedback_in_words}, not from {field}",
                f"send {' or '.join(send)}",
            )
        return field, value

    def accepted_feedback(self, unknown: str = "") -> str:
        """The fields of feedback that the loop accepts, as a hint; with the nearest to an unknown one."""
        accepted = f"the loop {self.name} accepts one of {', '.join(self.kinds)} (and {', '.join(COMMON_FEEDBACK)})"
        near = nearest(unknown, self.kinds)
        return accepted if near is None else f'did you mean "{near}"? {accepted[0].upper()}{accepted[1:]}'

    def loggable_feedback(self, given: dict[str, Any], reaction: ParsedFeedback) -> dict[str, Any]:
        """Feedback as the log keeps it next to what was learned: the fields as they came, unless a loop keeps less."""
        return given

    def accepts(self, kind: str, card: Card) -> bool:
        """True if a learner with this card accepts this kind of feedback in this loop."""
        return kind in card.kinds

    @classmethod
    def supports(cls, card: Card) -> bool:
        """True if the service offers a learner with this card for the loop."""
        return not card.not_served and any(loop in card.loops for loop in (cls.name, *cls.served_by))

    def is_forwarded(self, answer: Answer) -> bool | None:
        """True if a user saw it; None in loops in which users see everything."""
        return None

    # Texts for users

    def best(self, learner: Learner, context: Any = None) -> BestReply | None:
        """Present best action of a loop, in a context or without; None in loops without one."""
        return None

    @abstractmethod
    def request_text(self, ids: Sequence[str]) -> str:
        """The request, in a few words."""

    @abstractmethod
    def short_text(self, reply: Mapping[str, Any]) -> str:
        """The reply, in a few words."""

    @abstractmethod
    def feedback_text(self, field: str, value: Any) -> str:
        """The feedback, in a few words."""

    def reply_text(self, reply: Mapping[str, Any]) -> str:
        """The reply, as part of a sentence."""
        return f"it proposed {self.short_text(reply)}"

    def feedback_form(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> FeedbackForm:
        """Answers that a person may give by hand."""
        fields = ", ".join(self.kinds)
        return FeedbackForm(
            text=f"It decided: {self.short_text(reply)}.", entry=FormField(label=f"Feedback as JSON (one of {fields})")
        )

    def weight_name(self, index: int) -> str:
        """Display name of a weight without a name."""
        return f"column {index}" if self.vectors.hashed else f"feature {index + 1}"

    def no_weights_reason(self, learner: Learner, error: NoWeights) -> str:
        """Why there are no weights to show."""
        return f"{error.problem}."

    # What-if

    @abstractmethod
    def measure_of(
        self, made: Decision, signal: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        """The measure of an answered decision of a log."""

    # Described

    @classmethod
    def description(cls) -> dict[str, Any]:
        """Description of the loop for the pages."""
        return {
            "name": cls.name,
            "words": cls.words,
            "measure": cls.measure,
            "share": cls.share,
            "figure": cls.figure,
            "records": cls.takes_records,
            "own_features": cls.dim is not None,
            "texts": cls.takes_texts,
            "request": {name: name in cls._required() for name in cls._fields()},
            "answer": list(cls.reply.__struct_fields__),
            "feedback": dict(cls.kinds),
            "example": cls.example,
        }

    @classmethod
    def _fields(cls) -> list[str]:
        return [name for name in cls.request.__struct_fields__ if name not in COMMON]

    @classmethod
    def _required(cls) -> tuple[str, ...]:
        if "_needed" not in cls.__dict__:
            cls._needed = tuple(field.name for field in msgspec.structs.fields(cls.request) if field.required)
        return cls._needed

    _needed: ClassVar[tuple[str, ...]]

    def _wanted(self, unknown: str = "") -> str:
        fields = ", ".join(self._fields()) or "no fields"
        accepted = f"a decision request of the loop {self.name} accepts {fields} (and {', '.join(COMMON)})"
        near = nearest(unknown, self._fields())
        return accepted if near is None else f'did you mean "{near}"? {accepted[0].upper()}{accepted[1:]}'
