"""Drafts of a text in, one out; the text that a person made of it back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.decision import Decision
from smidgen.errors import InvalidFeatures
from smidgen.features.style import DIM as TEXT
from smidgen.features.style import LONGEST, column_name
from smidgen.learners import Card, Feedback, Learner
from smidgen.service.errors import Impossible, json_text
from smidgen.service.loops.base import (
    Answer,
    AppChoice,
    Example,
    FeedbackForm,
    FeedbackKind,
    FormField,
    Loop,
    ParsedFeedback,
    UiTexts,
)
from smidgen.service.loops.evaluator import CAVEATS, CoactiveEvaluator, TrainingSignal
from smidgen.service.loops.features import positions_of
from smidgen.service.schemas import AnyId, DecisionBody, FeedbackBody, Message, Numbers, Record
from smidgen.structures import Drafts, Edit
from smidgen.structures.drafts import MOST

Text = Annotated[str, Meta(max_length=LONGEST)]


class Draft(Message):
    """A text that may be shown, and what the app knows of it beyond its words.

    Attributes
    ----------
    id
        Its id, answered as it was sent.
    text
        The text.
    features
        What else the app knows about it: a record, or numbers.
    """

    id: AnyId
    text: Text
    features: Numbers | Record | None = None


class Request(DecisionBody, kw_only=True):
    """The drafts to choose from.

    Attributes
    ----------
    drafts
        The drafts to choose from, 1 to 1,000.
    context
        A record of what is the same for all drafts.
    """

    drafts: Annotated[list[Draft], Meta(min_length=1, max_length=MOST)]
    context: Record | None = None


class Reply(Struct):
    """The draft to show."""

    choice: str | int


class DraftFeedback(FeedbackBody, kw_only=True):
    """The final text, as the person left it.

    Attributes
    ----------
    edited
        The text as the user left it.
    """

    edited: Text | UnsetType = UNSET


class DraftLoop(Loop):
    """Drafts of a text in, one out; the text that a person made of it back."""

    name = "draft"
    served_by = ("choose",)
    request = Request
    reply = Reply
    feedback = DraftFeedback
    kinds: ClassVar[Mapping[str, str]] = {"edited": Feedback.EDIT}
    measure = "left unchanged"
    dim = Drafts.dim
    takes_texts = True
    words = UiTexts(
        does="Draft: show one of several texts; learns from the user's edits",
        out="A text",
        about_out="One of several drafts for a user to edit: replies, summaries, descriptions.",
        back={
            Feedback.EDIT: FeedbackKind(
                title="The edited text",
                note="The final text after the user's edits; an unchanged text counts too.",
                example={"edited": "It ships on Friday."},
            )
        },
        curve="Accepted unchanged",
        about_curve="Share of drafts that users left unchanged, in windows of learned feedback, with 95 % intervals.",
        weights="Strongest weights",
        about_weights="Style features have names; words and letters are hashed to columns.",
        asks="json",
    )
    example = Example(
        title="Drafts that people edit",
        name="replies",
        model={},
        request={
            "drafts": [
                {"id": "warm", "text": "Hello!\n\nThank you for writing. It ships on Friday, I think.\n\nBest regards"},
                {"id": "plain", "text": "It ships on Friday."},
            ]
        },
        feedback=(("the text that the user sent", {"edited": "It ships on Friday."}),),
    )
    evaluator = CoactiveEvaluator
    caveats = CAVEATS

    @classmethod
    def supports(cls, card: Card) -> bool:
        """True for learners of preferred objects, except those that show pairs."""
        return super().supports(card) and _learns_from_better(card)

    def accepts(self, kind: str, card: Card) -> bool:
        """An edited text is something better."""
        return _learns_from_better(card)

    def context(self, body: Request) -> tuple[Any, Sequence[str]]:
        """The texts, or, of a model that keeps none, what is learnt from them."""
        ids: list[Any] = [draft.id for draft in body.drafts]
        if len({str(id) for id in ids}) < len(ids):
            raise Impossible("two drafts have the same id", "give each draft its own id")
        said = [draft.features for draft in body.drafts]
        try:
            made = Drafts([draft.text for draft in body.drafts], said if any(said) else None, body.context)
        except InvalidFeatures as error:
            raise Impossible(error.problem, error.hint) from error
        return (made if self.keeps_texts else made.sealed(secrets.token_bytes(16))), ids

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The draft to show."""
        return {"choice": ids[decision.action]}

    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        """The final text; the figure is whether it is what was shown."""
        drafts, edit = decision.context, Edit(value)
        signal = edit if drafts.salt is None else edit.sealed(drafts.salt)
        return ParsedFeedback(signal, float(drafts.weight(signal, decision.action) == 0.0))

    def signal_for_follower(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> TrainingSignal | None:
        """The text that came of the draft that was shown."""
        salt = mine.context.salt
        return TrainingSignal(Edit(value) if salt is None else Edit(value).sealed(salt))

    def read_app_choice(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> AppChoice:
        """The draft that the app shows."""
        if isinstance(value, list | bool):
            raise Impossible(f"chosen is {json_text(value)}", "send the id of one draft")
        (place,) = positions_of([value], ids, "chosen")
        return AppChoice(place, bool(self.agrees(mine, place)), [TrainingSignal(place)])

    def loggable_feedback(self, given: dict[str, Any], reaction: ParsedFeedback) -> dict[str, Any]:
        """The final text, or, of a model that keeps none, only whether it was changed."""
        return given if self.keeps_texts else {"unchanged": reaction.measure == 1.0}

    @property
    def keeps_texts(self) -> bool:
        """True if the log keeps the texts."""
        return self.model.keep_texts is not False

    def parse_example(self, learner: Learner, body: Request, answer: Any) -> tuple[Any, Any]:
        """The drafts, and the text that would have been right, or which of them."""
        drafts, ids = self.context(body)
        if isinstance(answer, dict) and answer.keys() == {"choice"}:
            return drafts, positions_of([answer["choice"]], ids, "answer.choice")[0]
        if not isinstance(answer, str) or len(answer) > LONGEST:
            raise Impossible(
                "answer is not a string or is too long", f"send the final text, at most {LONGEST:,} characters"
            )
        return drafts, Edit(answer) if drafts.salt is None else Edit(answer).sealed(drafts.salt)

    def request_text(self, ids: Sequence[str]) -> str:
        """Number of drafts."""
        return f"one of {len(ids)} drafts"

    def short_text(self, reply: Mapping[str, Any]) -> str:
        """The number of the chosen draft."""
        return str(reply["choice"])

    def reply_text(self, reply: Mapping[str, Any]) -> str:
        """The number of the chosen draft."""
        return f"it chose the draft {reply['choice']}"

    def feedback_text(self, field: str, value: Any) -> str:
        """The final text, if texts are kept; else whether it was changed."""
        if field == "unchanged":
            return "left unchanged" if value else "changed; the text was not kept"
        short = " ".join(value.split())
        return f"the text became “{short if len(short) <= 80 else short[:79] + '…'}”"

    def feedback_form(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> FeedbackForm:
        """A text to type in."""
        return FeedbackForm(
            text=f"It shows the draft {reply['choice']}. What is the user's final text?",
            entry=FormField(label="The final text", field="edited", text=True),
        )

    def weight_name(self, index: int) -> str:
        """A trait of style, or a column of hashed words, letters or features."""
        return column_name(index) if index < TEXT else f"given #{index - TEXT}"

    def measure_of(
        self, made: Decision, signal: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        """1 if the draft was accepted unchanged, else 0."""
        return float(made.context.weight(signal, made.action) == 0.0)


def _learns_from_better(card: Card) -> bool:
    return Feedback.EDIT in card.kinds or (Feedback.BETTER in card.kinds and not card.shows_pairs)
