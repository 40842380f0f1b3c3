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

#: Settings of a champion that its followers share: they change together.
SHARED = ("window_s", "reward_range", "default_reward", "rewards", "labels", "text")
#: Settings of a champion alone.
CHAMPIONS_OWN = ("holdout", "budget")
#: Settings of a follower that may be changed.
OWN = ("share", "explore", "min_share", "safe")


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


def interleaves(body: ModelBody) -> bool:
    """Report whether a challenger shares pages with its champion instead of answering requests alone."""
    return isinstance(body.challenger_of, Of) and body.challenger_of.compare == "interleave"


def champion_of(body: ModelBody) -> str | None:
    """Name of the champion of a shadow or challenger, if any."""
    of = body.shadow_of if body.shadow_of is not None else body.challenger_of
    return of.model if isinstance(of, Of) else of


def with_champion_defaults(body: ModelBody, champion: ServedModel) -> ModelBody:
    """Settings of a shadow or challenger; missing ones are taken from the champion."""
    origin = champion.origin
    params = dict(body.params)
    changes: dict[str, Any] = {}
    rows = origin.features is None
    if body.features is None and "learner" not in params and rows:
        if origin.body.features is not None:
            changes["features"] = origin.body.features
        elif origin.dim is not None and not origin.loop.takes_texts:
            params.setdefault("dim", origin.dim)
    if body.labels is None and origin.body.labels is None and "n_classes" in origin.settings:
        params.setdefault("n_classes", origin.settings["n_classes"])
    if body.features is None and not rows:
        changes["features"] = origin.body.features
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
            changes[name] = getattr(origin.body, name)
    if body.knobs is not None and origin.body.knobs is not None:  # an object has no order: points have the champion's
        changes["knobs"] = features.in_order_of(body.knobs, origin.body.knobs)
    if body.safe is None and body.learner in (None, origin.kind):
        changes["safe"] = champion.blueprint.terms.safe
    if body.feedback is None and body.learner is None:
        changes["feedback"] = origin.feedback
    if body.loop == Loop.TUNE and "space" in origin.body.params:
        params.setdefault("space", origin.body.params["space"])
    shards = body.shards if body.shards > 1 else origin.body.shards
    return msgspec.structs.replace(body, params=params, keyed=body.keyed or origin.body.keyed, shards=shards, **changes)


def follower_blueprint(name: str, body: ModelBody, champion: ServedModel) -> Blueprint:
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
    champion_blueprint, hint = champion.blueprint, "omit it: then it is the champion's"
    labels, own = champion_blueprint.body.labels, blueprint.body.labels
    facts: list[tuple[str, Any, Any]] = [
        ("loop", body.loop, champion_blueprint.body.loop),
        ("keyed", body.keyed, champion_blueprint.body.keyed),
        ("shards", body.shards, champion_blueprint.body.shards),
        ("features", *_forms(blueprint, champion_blueprint)),
        ("labels", own, labels),
        ("keep_texts", body.keep_texts is not False, champion_blueprint.body.keep_texts is not False),
        ("n_classes", blueprint.settings.get("n_classes"), champion_blueprint.settings.get("n_classes")),
        ("space", *(serialization.pack(each.settings.get("space")) for each in (blueprint, champion_blueprint))),
    ]
    origin, now = LiveSettings.of(body), champion_blueprint.terms
    facts += [
        (name, getattr(origin, name), getattr(now, name))
        for name in ("window_s", "reward_range", "default_reward", "rewards")
        if getattr(origin, name) != getattr(LiveSettings.of(champion.origin.body), name)
    ]
    if interleaves(body) and not blueprint.loop.interleaves:
        raise Impossible(
            f'"compare" is "interleave" and the loop {body.loop} has no rankings to mix',
            'remove "compare", or use a rank model',
        )
    for what, given, wanted in facts:
        if given != wanted:
            raise Impossible(
                f"{what} is {_short_text(given)} and that of its champion {champion.name!r} is {_short_text(wanted)}",
                hint,
            )
    if not any(champion_blueprint.loop.accepts(kind, blueprint.card) for kind in champion_blueprint.card.kinds):
        raise Impossible(
            f'{blueprint.kind} learns from {blueprint.card.feedback_in_words}, and "{champion.name}" from '
            f"{champion_blueprint.card.feedback_in_words}",
            "choose a learner with the same feedback",
        )


def _form(blueprint: Blueprint) -> Any:
    """Form of a model's features: names, hashed names, rows, or records."""
    if blueprint.features is not None:
        return "records"
    return blueprint.names if blueprint.names is not None else blueprint.dim


def _forms(blueprint: Blueprint, champion: Blueprint) -> tuple[Any, Any]:
    """Forms of the features of two models; alike where one of them decides without any, as a tuner may."""
    own, champions = _form(blueprint), _form(champion)
    if blueprint.loop.most_columns is not None and None in (own, champions):
        return None, None
    return own, champions


def _short_text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def unit_draw(salt: str, unit: str) -> float:
    """Return the number in [0, 1) that decides for a unit, the same each time."""
    digest = hashlib.sha256(f"{salt}:{unit}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2.0**64


def challenger_answers(champion: ServedModel, learner: Learner, number: int, unit: str | None = None) -> bool:
    """Draw whether the challenger answers, or shares the page: by the unit, or by the seed and number of a decision."""
    challenger = champion.challenger
    share = challenger.blueprint.terms.share if challenger is not None else None
    if challenger is None or not share:
        return False
    of, holdout = challenger.blueprint.body.challenger_of, champion.blueprint.terms.holdout
    if unit is not None and isinstance(of, Of) and of.by == "unit":
        salt = holdout.salt if holdout is not None else f"model {champion.id}"
        return unit_draw(f"{salt}:challenger", unit) < share
    return bool(uniforms(unwrap(learner).params["seed"], number, 1, stream=TRAFFIC)[0] < share)
