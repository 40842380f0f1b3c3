"""Drafts of a language model: the taste into the prompt, the best of several answers out, the edit back.

Any client will do: what is needed of it is a function from a prompt to texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from smidgen.decision import Decision
from smidgen.errors import InvalidArgument
from smidgen.learners import Learner
from smidgen.structures import Drafts

__all__ = ["best_of", "rerank", "with_taste"]

#: How the taste is put to a model.
HEADING = "Write it the way this person likes it:"


def with_taste(prompt: str, learner: Any, *, heading: str = HEADING, most: int = 8) -> str:
    """The prompt, and below it what people's edits say of their taste; as it is while they say nothing yet.

    Parameters
    ----------
    prompt
        What the model is asked.
    learner
        A coactive learner that has learnt from edits, or a list of sentences (what ``GET …/taste`` gives).
    heading
        The line above the sentences.
    most
        Maximum number of sentences; the best supported come first.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen.drafts import with_taste
    >>> print(with_taste("Reply to: when is it ready?", ["shorter: 0.4 of the length", "no greeting"]))
    Reply to: when is it ready?
    <BLANKLINE>
    Write it the way this person likes it:
    - shorter: 0.4 of the length
    - no greeting
    """
    said = learner.in_words() if hasattr(learner, "in_words") else list(learner)
    if not said:
        return prompt
    points = "\n".join(f"- {sentence}" for sentence in said[:most])
    return f"{prompt}\n\n{heading}\n{points}"


def rerank(
    learner: Learner, texts: Iterable[str], *, features: Any = None, context: Any = None
) -> tuple[list[str], Decision]:
    """Drafts in the order in which a learner likes them, and the decision to learn from.

    Parameters
    ----------
    learner
        A coactive learner of `Drafts.dim` features.
    texts
        The n best answers of a model, or of several; the same text twice counts once.
    features, context
        As `Drafts` takes them: what is known of each text, and of all.

    Returns
    -------
    texts, decision
        Best first; ``learner.learn(decision, smidgen.Edit(final))`` closes the loop.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen.drafts import rerank
    >>> learner = smidgen.SoftPreferencePerceptron()
    >>> best, decision = rerank(learner, ["Hello! It is ready on Friday, I think.", "It is ready on Friday."])
    >>> learner.learn(decision, smidgen.Edit("It is ready on Friday."))
    >>> rerank(learner, ["Hello! It costs ten euros, I think.", "It costs ten euros."])[0][0]
    'It costs ten euros.'
    """
    given = list(texts)
    if features is None:
        given = list(dict.fromkeys(given))
    decision = learner.decide(Drafts(given, features, context))
    scores = decision.scores
    if scores is None or not isinstance(decision.action, int):
        raise InvalidArgument(
            f"a {type(learner).__name__} does not rank drafts", "give a learner of the draft loop, e.g. recommended"
        )
    order = sorted(range(len(given)), key=lambda y: (-float(scores[y]), y))
    return [given[y] for y in order], decision


def best_of(
    learner: Learner,
    ask: Callable[[str], Iterable[str]],
    prompt: str,
    *,
    heading: str = HEADING,
    context: Any = None,
) -> tuple[str, Decision]:
    """Ask a model with the taste in the prompt, and take the answer that the learner likes best.

    Parameters
    ----------
    learner
        A coactive learner of `Drafts.dim` features.
    ask
        Your client: takes the prompt, gives several texts. For an API that gives one at a time:
        ``lambda prompt: [complete(prompt) for _ in range(4)]``.
    prompt
        What the model is asked.
    heading
        The line above the sentences of the taste.
    context
        A record of what is the same for all answers.

    Returns
    -------
    text, decision
        The text to show; ``learner.learn(decision, smidgen.Edit(final))`` once it was sent.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen.drafts import best_of
    >>> def ask(prompt):  # a client of yours
    ...     return ["Hello! It is ready on Friday!", "It is ready on Friday."]
    >>> learner = smidgen.recommended(loop="draft")
    >>> for _ in range(3):
    ...     text, decision = best_of(learner, ask, "Reply to: when is it ready?")
    ...     learner.learn(decision, smidgen.Edit("It is ready on Friday."))
    >>> text
    'It is ready on Friday.'
    """
    texts, decision = rerank(learner, ask(with_taste(prompt, learner, heading=heading)), context=context)
    return texts[0], decision
