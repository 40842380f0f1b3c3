"""Other settings for a learner that has learnt: it goes on with what it knows."""

from __future__ import annotations

from typing import Any

import msgspec

from smidgen import serialization
from smidgen.errors import InvalidArgument
from smidgen.features import Vectorizer
from smidgen.learners import saving
from smidgen.learners.base import Learner, load_state
from smidgen.learners.label.base import LabelLearner
from smidgen.learners.pipeline import Pipeline


def amended(learner: Learner, **changes: Any) -> Learner:
    """A learner that has learnt the same, with some settings changed: those that no array depends on.

    Parameters
    ----------
    learner
        Stays as it is.
    **changes
        Settings of the learner; of one that takes records, of the learner inside. ``text`` are the paths of texts of
        its vectorizer.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.learners.amend import amended
    >>> learner = smidgen.LinUCB(dim=2)
    >>> learner.learn(learner.decide(smidgen.Choice(np.eye(2))), 1.0)
    >>> bold = amended(learner, floor=0.5)
    >>> bold.params["floor"], bool((bold.weights == learner.weights).all())
    (0.5, True)
    """
    made = learner.fresh(**_settings(learner, changes))
    header, arrays = saving.decode_learner(learner.to_bytes(), "the learner")
    told = msgspec.structs.replace(header, params=serialization.pack(made.asked), settings_version=made.built_at)
    return load_state(told, arrays, 1 << 62, "the learner")


def _settings(learner: Learner, changes: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(learner, Pipeline):
        return changes
    inner = {name: value for name, value in changes.items() if name != "text"}
    told: dict[str, Any] = {}
    if inner:
        told["learner"] = learner.params["learner"].fresh(**inner)
    if "text" in changes:
        features = learner.params["features"]
        told["features"] = Vectorizer.at(features.built_at, **{**features.to_record(), "text": changes["text"]})
    return told


def add_classes(learner: Learner, *labels: Any) -> None:
    """Announce labels that were not known before; of a learner that takes records, to the learner inside."""
    inner = learner.learner if isinstance(learner, Pipeline) else learner
    if not isinstance(inner, LabelLearner):
        raise InvalidArgument(f"a {type(inner).__name__} has no labels", "labels are for learners of the label loop")
    inner.add_classes(*labels)
