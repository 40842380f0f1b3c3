"""The laws of learners, to be held against one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from smidgen.errors import InvalidArgument
from smidgen.features import Vectorizer
from smidgen.learners import Card, Learner
from smidgen.testing import learner_laws, refusal_laws, stream_laws
from smidgen.testing.inputs import (
    Clicking,
    CoactiveForm,
    Drafting,
    Filtering,
    Form,
    Labelling,
    Offering,
    Rewarded,
    RewardedOffer,
    Single,
    Tuning,
)
from smidgen.testing.laws import Case, kept

Law = Callable[[Case], None]

#: Of the class: held once.
CLASS_LAWS: tuple[Law, ...] = (
    learner_laws.the_class_is_registered,
    learner_laws.arguments_are_keywords,
    learner_laws.a_bad_seed_is_refused,
    learner_laws.params_make_a_twin,
    learner_laws.settings_are_recorded,
    learner_laws.older_versions_can_be_read,
    learner_laws.the_card_tells_the_size,
    refusal_laws.damaged_files_are_refused,
)
#: Of what it does: held in every form of its loops.
LAWS: tuple[Law, ...] = (
    learner_laws.what_it_is_given_stays_as_it_was,
    learner_laws.global_randomness_is_left_alone,
    learner_laws.the_same_seed_gives_the_same_run,
    learner_laws.another_seed_gives_another_run,
    learner_laws.predict_is_pure,
    learner_laws.predict_is_the_greedy_part_of_decide,
    learner_laws.decide_changes_nothing_but_its_counter,
    learner_laws.weights_are_a_copy,
    learner_laws.unanswered_decisions_cost_nothing,
    learner_laws.save_load_continue_is_bit_identical,
    learner_laws.replay_equals_live,
    learner_laws.a_decision_survives_json_and_bytes,
    learner_laws.csr_equals_dense,
    learner_laws.late_and_permuted_feedback_is_taken,
    learner_laws.a_decision_is_learnt_at_most_once,
    learner_laws.decisions_of_others_are_refused,
    learner_laws.taught_saved_loaded_and_continued_is_bit_identical,
    learner_laws.a_newcomer_takes_over_a_start,
    stream_laws.a_played_user_is_the_two_verbs,
    stream_laws.a_played_stream_of_answers_is_the_two_verbs,
    stream_laws.a_played_stream_of_losses_is_the_two_verbs,
    refusal_laws.a_refused_call_changes_nothing,
    refusal_laws.a_refused_example_changes_nothing,
    refusal_laws.a_step_beyond_floating_point_is_refused_whole,
    refusal_laws.hostile_streams_leave_finite_state_or_are_refused,
    refusal_laws.milliseconds_are_ordinary_input,
    learner_laws.many_at_once_are_each_in_turn,  # late: a learner that breaks another law is reported for that one
    stream_laws.a_pipeline_is_the_bare_learner_on_the_same_rows,
    stream_laws.late_answers_on_records_are_those_on_their_rows,
    stream_laws.a_stream_of_records_is_the_stream_of_their_rows,
)


def check_learner(
    cls: type[Learner], *, settings: Mapping[str, Any] | None = None, forms: Sequence[Form] | None = None
) -> None:
    """Hold a registered learner against the laws that every learner keeps.

    Parameters
    ----------
    cls
        The class, registered with a card; ``card.example`` makes a small one.
    settings
        Arguments beyond the example: call it once more for each setting that leads through other code.
    forms
        What it decides on and what comes back. Left out, they follow from the loops and the feedback of its card; for a
        loop of your own derive one from `smidgen.testing.Form`.

    Raises
    ------
    AssertionError
        At the first law that does not hold, with the law's name and a sentence.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen.testing import check_learner
    >>> check_learner(smidgen.MulticlassPerceptron)
    """
    cases = list(cases_of(cls, settings, forms))
    for law in CLASS_LAWS:
        kept(law, cases[0], cls.__name__)
    for case in cases:
        for law in LAWS:
            kept(law, case, str(case))


def cases_of(
    cls: type[Learner],
    settings: Mapping[str, Any] | None = None,
    forms: Sequence[Form] | None = None,
    variant: str = "",
) -> Iterator[Case]:
    """Variants to check against the laws: a class in all forms of its loops."""
    card: Card | None = getattr(cls, "card", None)
    if card is None:
        raise AssertionError(f"{cls.__name__}: the law 'the class is registered' does not hold: it has no card")
    given = settings or {}
    for form in forms if forms is not None else forms_of(card, cls(**{**card.example, **given})):
        yield Case(cls, form, given, variant)


def forms_of(card: Card, learner: Learner) -> list[Form]:
    """The forms of the loops that a learner serves."""
    inner = learner.params.get("learner")
    if isinstance(learner.params.get("features"), Vectorizer) and isinstance(inner, Learner):
        return [form for loop in inner.card.loops for form in _record_forms(loop, inner.card.kinds[0])]
    return [form for loop in card.loops for form in _forms(loop, card.kinds[0], _features(learner))]


def _forms(loop: str, kind: str, dim: int | None) -> list[Form]:
    size = dim if dim is not None else 4
    made: dict[tuple[str, str], list[Form]] = {
        ("rank", "better"): [CoactiveForm("ranking", size), CoactiveForm("structure", size)],
        ("rank", "clicks"): [Clicking("ranking", size)],
        ("choose", "better"): [CoactiveForm("choice", size)],
        ("choose", "reward"): [Rewarded("choice", size)],
        ("draft", "better"): [Drafting("drafts", size)],
        ("draft", "edit"): [Drafting("drafts", size)],
        ("label", "bit"): [Labelling("rows", size)],
        ("label", "label"): [Labelling("rows", size)],
        ("filter", "relevance"): [Filtering("items", size, reads=dim is not None)],
        ("tune", "loss"): [Tuning("points", size)],
        ("tune", "gradient"): [Tuning("points", size)],
    }
    if (loop, kind) not in made:
        raise InvalidArgument(
            f"there are no test inputs for the loop {loop!r} with the feedback {kind!r}",
            "give forms=[…], each derived from smidgen.testing.Form",
        )
    return made[loop, kind]


def _record_forms(loop: str, kind: str) -> list[Form]:
    if kind == "reward":
        return [RewardedOffer("reward records")]
    made: dict[str, Form] = {
        "rank": Offering("ranking records"),
        "choose": Offering("choice records"),
        "label": Single("label records"),
        "filter": Single("filter records"),
    }
    return [made[loop]]


def _features(learner: Learner) -> int | None:
    """Number of features that a learner reads; for a wrapper, that of the wrapped learner."""
    inner = learner.params.get("learner")
    found = _features(inner) if isinstance(inner, Learner) else learner.params.get("dim", getattr(learner, "dim", None))
    return found if isinstance(found, int) else None
