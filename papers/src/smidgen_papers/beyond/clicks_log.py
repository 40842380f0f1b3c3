"""A real click log: orders learnt from it with and without a thought for places, judged on the pages after."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.evaluate import position_ips
from smidgen_papers.catalogue import add_claim, add_study
from smidgen_papers.claims import Estimate, Finding, judge, untestable
from smidgen_papers.coactive.clicks_play import position_effect
from smidgen_papers.data.clicks import Impressions, yandex
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

#: Clicks and looks that every document is given beforehand.
CLICKS, LOOKS = 0.5, 2.0
ORDERS = ("as shown", "by clicks over showings", "by clicks over looks")


def judged(place: Place, *, source: str) -> Values:
    """Learn orders of each query's documents on the first part of the log, and judge them on the second.

    Returns
    -------
    dict
        ``read``, the curve fitted to the first part; per order (rows) the clicks per page that it would get, by the
        curve (``value``, ``interval``), and ``gain``, what it gains over the order shown, with its standard error. The
        log is sorted by query, and a confidence sequence takes the pages for ones of equal worth on average: they are
        numbered at random.
    """
    del source  # its name is part of what is kept
    pages = yandex(place.data)
    train, test = pages.part("train"), pages.part("test")
    read = position_effect(train)
    pair_train, pair_test, known = _pairs(train, test)
    at = np.tile(np.arange(train.docs.shape[1]), len(train))
    hits = np.bincount(pair_train, train.clicked.ravel(), known)
    shown = np.bincount(pair_train, minlength=known)
    looks = np.bincount(pair_train, read[at], known)
    scores = {
        "by clicks over showings": (hits + CLICKS) / (shown + LOOKS),
        "by clicks over looks": (hits + CLICKS) / (looks + LOOKS),
    }
    values, intervals, number = [], [], np.random.default_rng(0).permutation(len(test))
    for name in ORDERS:
        places = _places(test, scores[name][pair_test].reshape(test.docs.shape) if name in scores else None)
        page, old = np.nonzero(test.clicked)
        found = position_ips(number[page], old, places[page, old], n=len(test), read=read)
        values.append(found.value)
        intervals.append([found.low, found.high])
    paired = [_gain(test, read, scores[name][pair_test].reshape(test.docs.shape)) for name in ORDERS[1:]]
    return {"read": read, "value": np.array(values), "interval": np.array(intervals), "gain": np.array(paired)}


def _pairs(train: Impressions, test: Impressions) -> tuple[IntArray, IntArray, int]:
    """The pair (query, document) of every place of both parts, by number."""
    most = int(max(train.docs.max(), test.docs.max())) + 1
    keys = [np.repeat(part.query, part.docs.shape[1]) * most + part.docs.ravel() for part in (train, test)]
    unique, number = np.unique(np.concatenate(keys), return_inverse=True)
    return number[: len(keys[0])], number[len(keys[0]) :], len(unique)


def _places(pages: Impressions, scores: FloatArray | None) -> IntArray:
    """Where each shown document would stand: among those of its page, by score; equals as shown."""
    if scores is None:
        return np.tile(np.arange(pages.docs.shape[1]), (len(pages), 1))
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.asarray(np.argsort(order, axis=1))


def _gain(test: Impressions, read: FloatArray, scores: FloatArray) -> list[float]:
    """The clicks per page that an order gains over the one shown: value, and its standard error over pages."""
    page, old = np.nonzero(test.clicked)
    new = _places(test, scores)[page, old]
    per_page = np.bincount(page, read[new] / read[old] - 1.0, minlength=len(test))
    return [float(per_page.mean()), float(per_page.std(ddof=1) / np.sqrt(len(per_page)))]


def plan(run: Run) -> Iterable[Part]:
    """One part, if the log is there."""
    return [part(judged, source="yandex", seconds=10.0)] if run.has("yandex") else []


def gather(run: Run, answers: Answers) -> Outcome:
    """A table of the three orders."""
    if not len(answers):
        return Outcome(notes=["The click log of Yandex is not here: nothing was judged on real clicks."])
    one = next(iter(answers))
    rows = []
    for i, name in enumerate(ORDERS):
        low, high = one["interval"][i]
        gain = "–" if i == 0 else f"{one['gain'][i - 1][0]:+.3f} ± {one['gain'][i - 1][1]:.3f}"
        rows.append([name, f"{one['value'][i]:.3f} ({low:.3f} – {high:.3f})", gain])
    table = Table(
        "Clicks per page on the second part of the Yandex log, estimated by inverse propensities of places",
        ["order", "clicks per page", "gain over what was shown"],
        rows,
        note="how likely a place is looked at, fitted to the first part: "
        + ", ".join(f"{value:.2f}" for value in one["read"]),
    )
    return Outcome(tables=[table])


add_study("beyond/clicks", "log", plan=plan, gather=gather, data=("yandex",))


@add_claim(
    "beyond/click-log",
    says="On real clicks, an order by clicks over looks would get more clicks than the order that was shown.",
    where="our aim",
    needs="beyond/clicks:log",
)
def _better(run: Run, answers: Answers) -> Finding:
    if not len(answers):
        return untestable("the click log of Yandex is not here")
    value, error = next(iter(answers))["gain"][1]
    return judge(Estimate(value, value - 1.96 * error, value + 1.96 * error), above=0.0, what="clicks gained per page")
