"""Exceptions that smidgen raises.

Each message names the value, the requirement and a fix. Each type maps to one HTTP status, so that the library and the
service report the same error in the same words.
"""

from __future__ import annotations


class SmidgenError(Exception):
    """Base class of all exceptions of smidgen.

    Parameters
    ----------
    problem
        The value that was given and what is required of it.
    hint
        What to do instead.
    """

    status: int = 400
    #: Exit status of a command that ends with this error.
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
    """Bytes that are not a valid record: broken JSON, a missing field, an unknown structure."""


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
    """A request for the weights of a learner that has none in feature space."""

    status = 409


class NotSaveable(SmidgenError, TypeError):
    """A learner or record that holds an object without a registered name, so that it cannot be saved."""

    status = 409


class CorruptFile(SmidgenError):
    """A file that is not a saved learner, or is damaged."""

    status = 500


class MissingExtra(SmidgenError, ImportError):
    """An optional dependency that is not installed."""

    status = 501


class DataMissing(SmidgenError, FileNotFoundError):
    """A file or data set that does not exist on this machine."""

    status = 404


#: Exceptions that code raises when it reads a value of the wrong form. Readers of foreign data convert them.
FOREIGN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError)
