"""What theory promises about a served model: the bound where it can be computed, or the reason why it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from smidgen.evaluate import bounds
from smidgen.learners import Card
from smidgen.service.insight.conditions import Checked
from smidgen.service.models.served import Served

Rounds = Sequence[tuple[int, int]]


class Guarantee(NamedTuple):
    """A bound on the average regret.

    Attributes
    ----------
    theorem
        Which theorem speaks.
    unit
        What the numbers are multiples of, where users keep a quantity to themselves; empty for plain losses.
    assumes
        What must be true of the users for the theorem to hold.
    curve
        Rounds and bound.
    why_not
        Why there is no curve.
    checked
        Which conditions the data were asked for, and hold.
    """

    theorem: str | None = None
    unit: str = ""
    assumes: str = ""
    curve: Sequence[tuple[int, float]] = ()
    why_not: str | None = None
    checked: str = ""


def guarantee(model: Served, points: Rounds, conditions: Checked) -> Guarantee:
    """The bound after so many rounds, if the data refute none of its conditions.

    Parameters
    ----------
    model
        The model.
    points
        Rounds, and by how many updates the deciding weights were behind at most until then.
    conditions
        What the data say of the conditions.
    """
    promise = _promised(model, points)
    if promise.why_not is not None:
        return promise
    if conditions.fails is not None:
        return Guarantee(theorem=promise.theorem, why_not=conditions.fails)
    return promise._replace(checked=conditions.holds)


def _promised(model: Served, points: Rounds) -> Guarantee:
    """What theory says, if all conditions hold."""
    learner = model.blueprint.kind
    if model.keyed:
        return Guarantee(why_not="Every key has a learner of its own, with its own rounds; theory speaks of each.")
    if not points:
        return Guarantee(why_not="Nothing has been learnt yet.")
    card = model.blueprint.card
    if callable(card.theorem):
        return _guest(card, card.theorem, model.blueprint.settings, points)
    if card.theorem is None:
        return Guarantee(why_not=f"No theorem here speaks of {learner}: {card.bound}.")
    return THEOREMS[card.theorem](model.blueprint.settings, points)


def _guest(card: Card, bound: Callable[[Mapping[str, Any], int], float], settings: Any, points: Rounds) -> Guarantee:
    """A bound that a learner of others brings along."""
    if late := _late(points, "The bound"):
        return late
    return Guarantee(card.bound, "", "", [(T, float(bound(settings, T))) for T, _ in points])


def _late(points: Rounds, theorem: str) -> Guarantee | None:
    lag = points[-1][1]
    if not lag:
        return None
    return Guarantee(
        why_not=f"{theorem} has feedback come before the next decision; here up to {lag:,} events lay between the two."
    )


def _perceptron(settings: dict[str, Any], points: Rounds) -> Guarantee:
    curve = [(T, float(bounds.preference_perceptron(T=T, R=1.0, w_norm=1.0, alpha=1.0, lag=lag))) for T, lag in points]
    behind = f"; at most {points[-1][1]:,} updates late" if points[-1][1] else ""
    return Guarantee(
        f"Theorem 1{behind}",
        "R‖w*‖/α",
        "Users with a linear taste w*, feedback that is α-informative without slack, and features no longer than R:"
        " only your users know w* and α, so the bound is in their units.",
        curve,
    )


def _batch(settings: dict[str, Any], points: Rounds) -> Guarantee:
    if late := _late(points, "Lemma 4"):
        return late
    k = settings["batch"]
    curve = [
        (T, float(bounds.batch_preference_perceptron(T=T, R=1.0, w_norm=1.0, alpha=1.0, batch=k))) for T, _ in points
    ]
    return Guarantee("Lemma 4", "R‖w*‖/α", "As Theorem 1: α-informative feedback without slack.", curve)


def _exponentiated(settings: dict[str, Any], points: Rounds) -> Guarantee:
    horizon = settings.get("horizon")
    if horizon is None:
        return Guarantee(why_not="Theorem 5 needs a fixed rate: create the model with a horizon.")
    if points[-1][0] > horizon:
        return Guarantee(why_not=f"Theorem 5 ends at the horizon, {horizon:,} rounds.")
    if late := _late(points, "Theorem 5"):
        return late
    signed = settings.get("signed", True)
    N, S = settings["dim"] * (2 if signed else 1), settings["bound"]
    curve = [
        (
            T,
            float(bounds.exponentiated_preference_perceptron(T=T, S=S, n_features=N, alpha=1.0, horizon=horizon)),
        )
        for T, _ in points
    ]
    return Guarantee(
        "Theorem 5, mended",
        "‖w*‖₁/α",
        f"α-informative feedback without slack, and features within S = {S:g}{'' if signed else ', and w* ≥ 0'}.",
        curve,
    )


def _convex(settings: dict[str, Any], points: Rounds) -> Guarantee:
    return Guarantee(why_not="Theorem 6 adds up terms in α and R (how long features get), which no log tells for sure.")


def _second_order(settings: dict[str, Any], points: Rounds) -> Guarantee:
    return Guarantee(
        why_not="Theorem 8 is for strongly convex losses of the utility that users miss, and no log tells that loss."
    )


def _confidit(settings: dict[str, Any], points: Rounds) -> Guarantee:
    wanted = {"eta": "theory", "covariance": "full", "project": True, "normalize": True}
    defaults = {"eta": 1.0, "covariance": "diagonal", "project": False, "normalize": True}
    if any(settings.get(name, defaults[name]) != value for name, value in wanted.items()):
        return Guarantee(why_not='Theorem 1 is for eta="theory", covariance="full", project=true, normalize=true.')
    if settings.get("approximation") is not None:
        return Guarantee(why_not="Theorem 2 needs the sum of the approximation errors, which no log tells.")
    if late := _late(points, "Theorem 1"):
        return late
    alpha = settings.get("alpha", 1.0)
    if not 0.0 <= alpha <= 1.0:
        return Guarantee(why_not=f"Theorem 1 holds for 0 ≤ alpha ≤ 1, not for {alpha:g}.")
    known = {"alpha": alpha, "norm_bound": settings.get("norm_bound", 1.0), "delta": settings.get("delta", 0.05)}
    curve = []
    for T, _ in points:
        B3 = bounds.determinant_bound(T=T, dim=settings["dim"], n_classes=settings["n_classes"], alpha=alpha)
        curve.append((T, float(bounds.confidit(T=T, log_determinant=B3, **known)) / T))
    return Guarantee(
        f"Theorem 1, with probability {1 - known['delta']:g}",
        "",
        f"Labels drawn by the paper's linear model with ‖U‖ ≤ {known['norm_bound']:g}; the share of extra mistakes.",
        curve,
    )


def _simple_filter(settings: dict[str, Any], points: Rounds) -> Guarantee:
    return Guarantee(why_not="Theorem 1 needs δ, how far the true share of relevant items is from one half.")


def _random_filter(settings: dict[str, Any], points: Rounds) -> Guarantee:
    return Guarantee(why_not="Theorem 3 needs the margin γ, the smallest |u·x| of any item, which no log tells.")


def _gradient(settings: dict[str, Any], points: Rounds) -> Guarantee:
    if late := _late(points, "Zinkevich's bound"):
        return late
    D, G = settings["space"].diameter, settings["gradient_bound"]
    curve = [(T, float(bounds.ogd(T=T, D=D, G=G)) / T) for T, _ in points]
    return Guarantee("Zinkevich 2003", "", f"Convex losses whose gradients are at most G = {G:g} long.", curve)


def _newton(settings: dict[str, Any], points: Rounds) -> Guarantee:
    if settings.get("beta") is not None:
        return Guarantee(why_not="The bound is for the theory's own beta; this model was given another.")
    if late := _late(points, "The bound"):
        return late
    space, G, alpha = settings["space"], settings["gradient_bound"], settings["exp_concavity"]
    known = {"dim": space.free_dim, "D": space.diameter, "G": G, "exp_concavity": alpha}
    curve = [(T, float(bounds.ons(T=T, **known)) / T) for T, _ in points if space.free_dim * math.log(T) >= 4.0]
    if not curve:
        return Guarantee(why_not="The bound begins after a few rounds.")
    return Guarantee(
        "Hazan, Agarwal & Kale 2007", "", f"Losses that are {alpha:g}-exp-concave, gradients within {G:g}.", curve
    )


def _value(settings: dict[str, Any], points: Rounds) -> Guarantee:
    if settings.get("delta") is not None or settings.get("gamma") is not None:
        return Guarantee(why_not="The theorem is for its own delta and gamma; this model was given others.")
    if (horizon := settings.get("horizon")) is None:
        return Guarantee(why_not="The theorem is for a known horizon; this model doubles its phases instead.")
    if late := _late(points, "The theorem"):
        return late
    space, F, L = settings["space"], settings["loss_bound"], settings.get("lipschitz")
    known = {"dim": space.free_dim, "F": F, "R": space.outer_radius, "r": space.inner_radius, "lipschitz": L}
    value = float(bounds.ogdeg(T=horizon, mended=True, **known)) / horizon
    lipschitz = "" if L is None else f" and slopes within {L:g}"
    return Guarantee(
        f"Flaxman, Kalai & McMahan 2005, mended; at the horizon, {horizon:,} rounds",
        "",
        f"Convex losses within ±{F:g}{lipschitz}; the bound is on the expected regret.",
        [(horizon, value)],
    )


def _newton_value(settings: dict[str, Any], points: Rounds) -> Guarantee:
    return Guarantee(why_not="The printed bound grows faster than the rounds: it promises nothing (see docs).")


#: By the names that the cards say.
THEOREMS: dict[str, Callable[[dict[str, Any], Rounds], Guarantee]] = {
    "preferences": _perceptron,
    "batched preferences": _batch,
    "exponentiated preferences": _exponentiated,
    "convex preferences": _convex,
    "strongly convex preferences": _second_order,
    "one bit": _confidit,
    "filtering without features": _simple_filter,
    "filtering at random": _random_filter,
    "gradient descent": _gradient,
    "Newton steps": _newton,
    "gradient descent from values": _value,
    "Newton steps from values": _newton_value,
}
