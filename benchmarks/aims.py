"""What was aimed for, and whether it is reached: computed from the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.interleave import Measured


@dataclass(frozen=True)
class Aim:
    """A limit for one contender of ours: on its microseconds, or on a ratio to the quickest of some others.

    Parameters
    ----------
    workload
        How the workload's name begins.
    ours
        The name of our contender.
    limit
        Microseconds at most, in the best round (the aims were set by the best of several runs: the speed of a shared
        machine changes from minute to minute); with ``of``, our time divided by theirs at most, in the median round;
        with ``faster_than``, theirs divided by ours at least.
    of, faster_than
        How the others' names begin; the quickest of them counts.
    """

    workload: str
    ours: str
    limit: float
    of: str = ""
    faster_than: str = ""

    @property
    def statement(self) -> str:
        """The aim in words."""
        if self.of:
            return f"≤ {self.limit:g} × {self.of}"
        if self.faster_than:
            return f"≥ {self.limit:g} × as fast as {self.faster_than}"
        return f"≤ {_time(self.limit)}"


@dataclass(frozen=True)
class Verdict:
    """An aim, what was measured, and whether that reaches it."""

    aim: Aim
    workload: str
    measured: str
    reached: bool | None


AIMS = (
    Aim("sparse text", "smidgen Banditron float32", 0.8),
    Aim("sparse text", "smidgen diagonal Confidit float32", 1.5),
    Aim("sparse text", "smidgen Banditron float32", 10, faster_than="Vowpal Wabbit --cbify"),
    Aim("sparse text", "smidgen Banditron float32", 15, faster_than="scikit-learn"),
    Aim("sparse text", "smidgen Banditron float32", 1_000, faster_than="river"),
    *(
        Aim("sparse text", f"smidgen {name} {dtype}", limit, of=f"C++ {name} {dtype}")
        for name in ("Banditron", "diagonal Confidit")
        for dtype, limit in (("float32", 1.10), ("float64", 1.4))
    ),
    Aim("ranking", "smidgen, stream", 1.35, of="reading the data once"),
    Aim("second-order step, N = 700", "smidgen", 1.5, faster_than="BLAS"),
    Aim("second-order step, N = 700", "smidgen", 1.15, of="C++"),
    Aim("projection on the ball in the norm of A, N = 700", "smidgen (Lanczos)", 50, faster_than="eigh"),
    *(Aim(f"choice, 3,700 items x {dim} features", "smidgen PreferencePerceptron, stream", 1.1) for dim in (20, 50)),
    *(
        Aim(f"{name}, d = {dim}", "smidgen, stream", limit, faster_than="numpy")
        for name in ("ONS", "ONSEG")
        for dim, limit in ((8, 50), (20, 50), (100, 8))
    ),
    *(Aim(f"{name}, d = {dim}", "smidgen, stream", 2, of="C++") for name in ("ONS", "ONSEG") for dim in (8, 20, 100)),
    *(Aim(f"tuning, d = {dim}", "smidgen", 30.0) for dim in (3, 5)),
    *(Aim(f"tuning, d = {dim}", "smidgen", 50, faster_than="Optuna TPE") for dim in (3, 5)),
    *(
        Aim(f"two verbs: label, {features}", f"smidgen {name}, {form}", 5.0)
        for features, forms in (("dense", ("Row", "array")), ("sparse", ("Row", "CSR row")))
        for name in ("Banditron", "Confidit")
        for form in forms
    ),
    Aim("two verbs: label, dense", "smidgen Banditron, stream", 1.0),
    Aim("two verbs: label, sparse", "smidgen Banditron, stream", 1.0),
    Aim("two verbs: label, dense", "smidgen Confidit, stream", 1.0),
    Aim("two verbs: label, sparse", "smidgen Confidit, stream", 1.0),
    *(
        aim
        for name in ("PDGD", "FairPairs", "3PR")
        for aim in (
            Aim(f"{name}, 20 docs x 46 features", "smidgen, stream", 5.0),
            Aim(f"{name}, 20 docs x 46 features", "smidgen, stream", 1.3, of="C++"),
            Aim(f"{name}, 20 docs x 46 features", "smidgen, two verbs", 15.0),
        )
    ),
    Aim("full covariance", "smidgen float64", 1.0),
    *(Aim("choosing by reward, 10 candidates", f"smidgen {name}, two verbs", 5.0) for name in ("LinUCB", "SquareCB")),
    Aim("choosing by reward, 10 candidates", "smidgen LinUCB, kernel", 1.2, of="C++"),
    *(
        Aim(f"choosing by reward, {many} candidates", f"smidgen {name}, stream", 10, faster_than="Vowpal Wabbit")
        for many in (10, 100)
        for name in ("LinUCB", "SquareCB")
    ),
    Aim("records: one by one", "smidgen, one record", 15.0),
    *(
        Aim("records: one by one", "smidgen, one record", 1.0, faster_than=peer)
        for peer in ("Vowpal Wabbit, from records", "scikit-learn", "river")
    ),
    Aim("records: in bulk", "smidgen, a list", 2.0, faster_than="smidgen, one record"),
    *(
        Aim("records: in bulk", f"smidgen, a frame of {name}", 10.0, faster_than="smidgen, one record")
        for name in ("pandas", "polars")
    ),
    Aim("candidates: 50 x 20 fields", "smidgen, crosses off", 300.0),
    Aim("drafts", "smidgen", 300.0),
    *(Aim("records with a vector", f"smidgen, a {kind}", 40.0) for kind in ("list", "numpy array")),
    Aim("decisions with a vector", "smidgen, with a vector", 2.0, of="smidgen, without"),
    Aim("the recommended chooser", "smidgen ChoiceBank", 15.0),
    Aim("budgets", "smidgen, with a budget", 1.3, of="smidgen, without"),
    Aim("knobs with a context", "smidgen", 60.0),
    Aim("start-up", "import smidgen", 300_000),
    Aim("start-up", "smidgen --help", 500_000),
    Aim("start-up", "a round of five learners", 900_000),
)


def verdicts(measured: Iterable[Measured], aims: Iterable[Aim] = AIMS) -> Iterator[Verdict]:
    """Every aim that has its workload among the results."""
    everything = list(measured)
    for aim in aims:
        for each in everything:
            if each.name.startswith(aim.workload) and aim.ours in each.times:
                yield _judged(aim, each)


def _judged(aim: Aim, each: Measured) -> Verdict:
    name = aim.workload if aim.workload.startswith(each.key) else f"{each.key}: {aim.workload}"
    if not aim.of and not aim.faster_than:
        best = min(each.times[aim.ours])
        measured = f"{_time(best)} (median {_time(each.microseconds(aim.ours))})"
        return Verdict(aim, name, measured, best <= aim.limit)
    other = each.fastest(aim.of or aim.faster_than)
    if other is None:
        return Verdict(aim, name, "not measured", None)
    low, middle, high = each.spread(aim.ours, other) if aim.of else each.spread(other, aim.ours)
    reached = middle <= aim.limit if aim.of else middle >= aim.limit
    return Verdict(aim, name, f"{_number(middle)} ({_number(low)} – {_number(high)})", reached)


def _number(value: float) -> str:
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def _time(microseconds: float) -> str:
    return f"{microseconds / 1e6:.2f} s" if microseconds >= 1e4 else f"{_number(microseconds)} µs"
