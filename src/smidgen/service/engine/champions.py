"""Champions, shadows and challengers: which may be compared, what they must share, whose answer is returned."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from smidgen import serialization
from smidgen.learners import Learner, Loop
from smidgen.learners.pipeline import unwrap
from smidgen.randomness import TRAFFIC, uniforms
from smidgen.service.engine.blueprint import Blueprint, amended_settings
from smidgen.service.engine.live_settings import LiveSettings
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import Conflict, Impossible
from smidgen.service.loops import features
from smidgen.service.schemas import ModelBody, Of

#: Settings of a champion that whoever stands beside it has too: they change together.
SHARED = ("window_s", "reward_range", "default_reward", "rewards", "labels", "text")
#: Settings of a champion alone.
CHAMPIONS_OWN = ("holdout", "budget")
#: What may be amended of one who stands beside another.
OWN = ("share", "explore", "min_share")


def amend_where_possible(blueprint: Blueprint, given: dict[str, Any]) -> LiveSettings:
    """The terms of settings as they are amended; without shares of exploration where the learner has none."""
    try:
        return amended_settings(blueprint, given)
    except Impossible:
        return amended_settings(blueprint, {name: value for name, value in given.items() if name not in OWN})


def normalize(body: ModelBody) -> ModelBody:
    """Return the settings with the champion in one spelling."""
    if body.shadow_of is not None and body.challenger_of is not None:
        raise Impossible("both shadow_of and challenger_of are given", "send one of them; challengers are compared too")
    changes: dict[str, Any] = {}
    if body.shadow_of is not None:
        changes["shadow_of"] = Of(model=champion_of(body) or "")  # a shadow has no share, whatever is said
    if isinstance(body.challenger_of, str):
        changes["challenger_of"] = Of(model=body.challenger_of)
    return msgspec.structs.replace(body, **changes)


def named_models(body: ModelBody) -> list[str]:
    """The names of other models in settings."""
    found = (body.shadow_of, body.challenger_of)
    return [of.model if isinstance(of, Of) else of for of in found if of is not None]


def champion_of(body: ModelBody) -> str | None:
    """Name of the champion of a shadow or challenger, if any."""
    of = body.shadow_of if body.shadow_of is not None else body.challenger_of
    return of.model if isinstance(of, Of) else of


def with_champion_defaults(body: ModelBody, champion: ServedModel) -> ModelBody:
    """Settings of a shadow or challenger; missing ones are taken from the champion."""
    made = champion.origin
    params = dict(body.params)
    changes: dict[str, Any] = {}
    rows = made.features is None
    if body.features is None and "learner" not in params and rows:
        if made.body.features is not None:
            changes["features"] = made.body.features
        elif made.dim is not None and not made.loop.takes_texts:
            params.setdefault("dim", made.dim)
    if body.labels is None and made.body.labels is None and "n_classes" in made.settings:
        params.setdefault("n_classes", made.settings["n_classes"])
    if body.features is None and not rows:
        changes["features"] = made.body.features
    for name in (
        "labels",
        "window_s",
        "reward_range",
        "default_reward",
        "rewards",
        "knobs",
        "keep_texts",
        "keep_asked",
        "candidates",
    ):
        if getattr(body, name) is None:
            changes[name] = getattr(made.body, name)
    if body.knobs is not None and made.body.knobs is not None:  # an object has no order: points have the champion's
        changes["knobs"] = features.in_order_of(body.knobs, made.body.knobs)
    if body.feedback is None and body.learner is None:
        changes["feedback"] = made.feedback
    if body.loop == Loop.TUNE and "space" in made.body.params:
        params.setdefault("space", made.body.params["space"])
    shards = body.shards if body.shards > 1 else made.body.shards
    return msgspec.structs.replace(body, params=params, keyed=body.keyed or made.body.keyed, shards=shards, **changes)


def blueprint_beside(name: str, body: ModelBody, champion: ServedModel) -> Blueprint:
    """Blueprint of a shadow or challenger under the champion's terms. Raises if they do not fit."""
    if champion.archived_at is not None:
        raise Conflict(f'the model "{champion.name}" is archived', "name a model that is not archived")
    if champion.leader is not None:
        raise Impossible(
            f'"{champion.name}" is itself a shadow or challenger of "{champion.leader.name}"',
            f'name "{champion.leader.name}" instead',
        )
    if name == champion.name:
        raise Impossible("a model cannot be its own shadow or challenger", "name another model")
    refuse_second(champion, shadow=body.shadow_of is not None)
    blueprint = Blueprint(body)
    terms = msgspec.structs.replace(
        blueprint.terms, **{name: getattr(champion.blueprint.terms, name) for name in SHARED}
    )
    _refuse_incompatible(body, blueprint, champion)
    return blueprint.amend(terms) if terms != blueprint.terms else blueprint


def refuse_second(champion: ServedModel, *, shadow: bool) -> None:
    """A champion has at most one shadow and one challenger."""
    if (old := champion.shadow if shadow else champion.challenger) is not None:
        what = "shadow" if shadow else "challenger"
        raise Conflict(f'"{champion.name}" already has the {what} "{old.name}"', f'archive "{old.name}" first')


def _refuse_incompatible(body: ModelBody, blueprint: Blueprint, champion: ServedModel) -> None:
    """Refuse a model that cannot answer the champion's requests or learn from its feedback."""
    theirs, hint = champion.blueprint, "omit it: then it is the champion's"
    labels, own = theirs.body.labels, blueprint.body.labels
    facts: list[tuple[str, Any, Any]] = [
        ("loop", body.loop, theirs.body.loop),
        ("keyed", body.keyed, theirs.body.keyed),
        ("shards", body.shards, theirs.body.shards),
        ("features", *(_form(each) for each in (blueprint, theirs))),
        ("labels", own, labels),
        ("keep_texts", body.keep_texts is not False, theirs.body.keep_texts is not False),
        ("n_classes", blueprint.settings.get("n_classes"), theirs.settings.get("n_classes")),
        ("space", *(serialization.pack(each.settings.get("space")) for each in (blueprint, theirs))),
    ]
    made, now = LiveSettings.of(body), theirs.terms
    facts += [
        (name, getattr(made, name), getattr(now, name))
        for name in ("window_s", "reward_range", "default_reward", "rewards")
        if getattr(made, name) != getattr(LiveSettings.of(champion.origin.body), name)
    ]
    for what, given, wanted in facts:
        if given != wanted:
            raise Impossible(
                f"{what} is {_short_text(given)} and that of its champion {champion.name!r} is {_short_text(wanted)}",
                hint,
            )
    if not any(theirs.loop.accepts(kind, blueprint.card) for kind in theirs.card.kinds):
        raise Impossible(
            f'{blueprint.kind} learns from {blueprint.card.feedback_in_words}, and "{champion.name}" from '
            f"{theirs.card.feedback_in_words}",
            "choose a learner with the same feedback",
        )


def _form(blueprint: Blueprint) -> Any:
    """Form of a model's features: names, hashed names, rows, or records."""
    if blueprint.features is not None:
        return "records"
    return blueprint.names if blueprint.names is not None else blueprint.dim


def _short_text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def unit_draw(salt: str, unit: str) -> float:
    """Return the number in [0, 1) that decides for a unit, the same each time."""
    digest = hashlib.sha256(f"{salt}:{unit}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2.0**64


def challenger_answers(champion: ServedModel, learner: Learner, number: int, unit: str | None = None) -> bool:
    """Draw whether the challenger answers: by the unit, or by the champion's seed and the number of its decision."""
    challenger = champion.challenger
    share = challenger.blueprint.terms.share if challenger is not None else None
    if challenger is None or not share:
        return False
    of, holdout = challenger.blueprint.body.challenger_of, champion.blueprint.terms.holdout
    if unit is not None and isinstance(of, Of) and of.by == "unit":
        salt = holdout.salt if holdout is not None else f"model {champion.id}"
        return unit_draw(f"{salt}:challenger", unit) < share
    return bool(uniforms(unwrap(learner).params["seed"], number, 1, stream=TRAFFIC)[0] < share)
