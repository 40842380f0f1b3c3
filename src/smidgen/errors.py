"""Everything that smidgen refuses, by type.

Each message says what was given, what is required, and the way out. Each type maps to one HTTP status,
so that the library and a service built on it refuse the same things in the same words.
"""

from __future__ import annotations


class SmidgenError(Exception):
    """The root of all refusals.

    Parameters
    ----------
    problem
        The value that was given and what is required of it.
    hint
        What to do instead.
    """

    status: int = 400
    #: The exit status of a command that ends with it.
    exit_status: int = 1

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(f"{problem}; {hint}")
        self.problem = problem
        self.hint = hint


class InvalidArgument(SmidgenError, ValueError):
    """A setting that makes no sense: a negative radius, a batch of zero."""

    status = 422


class InvalidFeatures(SmidgenError, ValueError):
    """Features of the wrong shape, type or dimension, or values that are not finite."""

    status = 422


class InvalidFeedback(SmidgenError, ValueError):
    """Feedback that cannot exist: other documents, an unavailable item, a label for a dropped item."""

    status = 422


class InvalidRecord(SmidgenError, ValueError):
    """Bytes that are not a record of ours: broken JSON, a missing field, an unknown structure."""


class DecisionMismatch(SmidgenError):
    """A decision that another kind of learner made, or one with other settings."""

    status = 409


class AlreadyLearnt(SmidgenError):
    """Feedback for a decision that this learner has learnt already."""

    status = 409


class NotFinite(SmidgenError, ArithmeticError):
    """A step that would leave the range of floating-point numbers."""

    status = 422


class NotTeachable(SmidgenError, TypeError):
    """An example for a learner that learns only from what it has itself shown."""

    status = 422


class NoWeights(SmidgenError, AttributeError):
    """Weights asked of a learner that has none in feature space."""

    status = 409


class NotSaveable(SmidgenError, TypeError):
    """A learner or record that holds something which has no name to be found again by."""

    status = 409


class CorruptFile(SmidgenError):
    """A file that is not a saved learner, or is damaged."""

    status = 500


class MissingExtra(SmidgenError, ImportError):
    """An optional dependency that is not installed."""

    status = 501


class DataMissing(SmidgenError, FileNotFoundError):
    """A data set that is not on this machine."""

    status = 404


#: What code ends with that reads a value of the wrong form; whoever reads what others wrote turns it into a refusal.
FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError)
