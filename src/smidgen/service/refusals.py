"""What only the service refuses; each type has its HTTP status, as in `smidgen.errors`."""

from __future__ import annotations

from smidgen.errors import SmidgenError


class BadRequest(SmidgenError):
    """A body that is not JSON, or has unknown or missing fields."""

    status = 400


class NotAllowed(SmidgenError):
    """No token, or one that is not known."""

    status = 401


class OutOfScope(SmidgenError):
    """A token that may not do this."""

    status = 403


class Unknown(SmidgenError):
    """A model or decision that is not there, or not for this token."""

    status = 404


class UnknownModel(Unknown):
    """A model that is not there, or not for this token."""


class UnknownDecision(Unknown):
    """A decision that is not there, or not for this token."""


class TooSlow(SmidgenError):
    """A body that does not arrive."""

    status = 408


class Conflict(SmidgenError):
    """The same name or id with another body, or a model that is archived."""

    status = 409


class Retained(Conflict):
    """What lies under the base of a log, whose events retention has folded and erased."""


class Erased(Unknown):
    """A decision that was there, and that retention has erased."""


class TooLarge(SmidgenError):
    """A body beyond the limit."""

    status = 413


class WrongMedia(SmidgenError):
    """A body that is not JSON by its headers, or is encoded."""

    status = 415


class Impossible(SmidgenError):
    """A request that is well formed and cannot be answered."""

    status = 422


class Busy(SmidgenError):
    """More work than the service can take on; nothing was lost, try again."""

    status = 503


class Taken(Busy):
    """A slot that another worker is writing to, or a name that it has just made: do it again in the next batch.

    The writer does so by itself; callers of the service never see it.
    """


class StorageFailed(SmidgenError):
    """The disk refused; what was asked was not done."""

    status = 503
