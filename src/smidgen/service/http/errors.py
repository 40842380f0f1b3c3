"""The words by which programs know a refusal. They are the contract's: they stay when a class is renamed."""

from __future__ import annotations

import logging
import time

import msgspec

from smidgen import errors
from smidgen.errors import SmidgenError
from smidgen.service import errors as refusals
from smidgen.service.schemas import ErrorDetail, ErrorReply

#: The code of each type of refusal; of one that is not here, that of the nearest type above it.
CODES: dict[type[SmidgenError], str] = {
    SmidgenError: "refused",
    errors.InvalidArgument: "invalid_argument",
    errors.InvalidFeatures: "invalid_features",
    errors.InvalidFeedback: "invalid_feedback",
    errors.InvalidRecord: "invalid_record",
    errors.DecisionMismatch: "decision_mismatch",
    errors.AlreadyLearnt: "already_learnt",
    errors.NotFinite: "not_finite",
    errors.NotTeachable: "not_teachable",
    errors.NoWeights: "no_weights",
    errors.NotSaveable: "not_saveable",
    errors.CorruptFile: "corrupt_file",
    errors.MissingExtra: "missing_extra",
    errors.DataMissing: "data_missing",
    refusals.BadRequest: "bad_request",
    refusals.NotAllowed: "not_allowed",
    refusals.OutOfScope: "out_of_scope",
    refusals.ForeignOrigin: "foreign_origin",
    refusals.Unknown: "unknown",
    refusals.UnknownModel: "unknown_model",
    refusals.UnknownDecision: "unknown_decision",
    refusals.TooSlow: "too_slow",
    refusals.Conflict: "conflict",
    refusals.Retained: "retained",
    refusals.NoHoldout: "no_holdout",
    refusals.Erased: "erased",
    refusals.TooLarge: "too_large",
    refusals.WrongMedia: "wrong_media",
    refusals.Impossible: "impossible",
    refusals.Busy: "busy",
    refusals.StorageFailed: "storage_failed",
    refusals.LogDamaged: "log_damaged",
}
#: Minimum seconds between two lines of the log about the database.
QUIET_S = 10.0
_log = logging.getLogger("smidgen.service")
#: Codes of refusals that are no `SmidgenError`.
OTHERS = ("method_not_allowed", "internal_error")


class _RateLimitedLog:
    """Writes what callers are not shown to the log, at most once in a while."""

    def __init__(self) -> None:
        self._last = -QUIET_S

    def warn(self, error: SmidgenError) -> None:
        if (now := time.monotonic()) - self._last >= QUIET_S:
            self._last = now
            _log.warning("%s", error)


_quietly = _RateLimitedLog()


def error_code(error: SmidgenError) -> str:
    """The word for a refusal."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def error_detail(error: SmidgenError) -> ErrorDetail:
    """An error as callers receive it."""
    return ErrorDetail(code=error_code(error), message=error.problem, hint=error.hint)


def error_response(error: SmidgenError) -> tuple[bytes, dict[str, str]]:
    """An error as a reply: its body and headers."""
    if isinstance(error, refusals.DatabaseFailed):
        _quietly.warn(error)
    more: dict[str, str] = {}
    if error.status == 401:
        more["www-authenticate"] = "Bearer"
    if error.status in (429, 503):
        more["retry-after"] = "1"
    return msgspec.json.encode(ErrorReply(error=error_detail(error))), more
