"""Figures 2 to 8, 11 and 12, web search: the perceptron and its variants over rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive.series import STRICT, Line, Lines, plus_minus
from smidgen_papers.coactive.web_data import NAMES, main_sources
from smidgen_papers.coactive.web_series import END_NOTE, NOISY, ROUNDS, WEB, rows
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Run

DATA = ("mq2008",)
ALL_DATA = ("mq2008", "mq2007agg", "mslr")
#: Rounds between two updates. The paper's text does not say which it tried.
BATCHES = (10, 50, 100)
#: Rounds of the ranking SVM, which is slow, by data set (full, quick); and random orders.
SVM_ROUNDS = {"mq2008": (1_000, 150), "mq2008-like": (1_000, 150), "yahoo-like": (300, 100)}
SVM_COST = {"mq2008": 1_300.0, "mq2008-like": 1_300.0, "yahoo-like": 250.0}  # times the perceptron's
SVM_ORDERS = {"mq2008": (20, 3), "mq2008-like": (20, 3), "yahoo-like": (5, 2)}

ALPHAS = {alpha: Line(f"α = {alpha:g}", user={"strict": alpha}) for alpha in (0.1, 0.5, 1.0)}
DEPTHS = {depth: Line(f"depth {depth}", user={"depth": depth}) for depth in (10, 25)}
SVM = {"name": "RankingSVM"}
EXPONENTIATED = {"name": "ExponentiatedPreferencePerceptron"}


def batch(k: int, user: dict[str, float]) -> Line:
    """The batch perceptron; k = 1 is the perceptron."""
    learner = {"name": "BatchPreferencePerceptron", "batch": k} if k > 1 else {"name": "PreferencePerceptron"}
    return Line(f"k = {k}", learner=learner, user=user)


def with_intercept(line: Line) -> Line:
    """The same with the other reading of w*."""
    return Line(f"{line.name}, w* with intercept", learner=line.learner, user=line.user, fit="intercept")


FIG2 = Lines(WEB, [*ALPHAS.values()], table_only=[with_intercept(ALPHAS[0.5])])
FIG3 = Lines(WEB, [*DEPTHS.values()], table_only=[with_intercept(DEPTHS[10])])
FIG4 = Lines(WEB, [batch(k, STRICT) for k in (1, *BATCHES)])
FIG5 = Lines(WEB, [batch(k, NOISY) for k in (1, *BATCHES)])
EXPECTED = Line("expected", user={"expected": 0.5}, cost=3.0)
FIG6 = Lines(
    WEB,
    [Line("deterministic"), EXPECTED],
    table_only=[Line("expected, on top of α = 1", user={"expected": 0.5, "from": 1.0}, cost=3.0)],
    others=False,
)


class Updates(Lines):
    """Additive and exponentiated updates under one kind of feedback; those of the theorem's fixed rate in the table."""

    def __init__(self, user: dict[str, float]) -> None:
        additive, exponentiated = Line("additive", user=user), Line("exponentiated", learner=EXPONENTIATED, user=user)
        super().__init__(WEB, [additive, exponentiated])

    def fixed(self, run: Run) -> Line:
        """The rate 1/(2S√T) of Theorem 5."""
        learner = {**EXPONENTIATED, "horizon": ROUNDS[run.quick]}
        return Line("exponentiated, fixed rate", learner=learner, user=self.lines[0].user)

    def tabled(self, run: Run) -> list[Line]:
        """The lines and the fixed rate."""
        return [*super().tabled(run), self.fixed(run)]


FIG11, FIG12 = Updates(STRICT), Updates(NOISY)

add_study("coactive/fig2", "web", plan=FIG2.plan, gather=FIG2.gather, data=ALL_DATA)
add_study("coactive/fig3", "web", plan=FIG3.plan, gather=FIG3.gather, data=ALL_DATA)
add_study("coactive/fig4", "web", plan=FIG4.plan, gather=FIG4.gather, data=ALL_DATA)
add_study("coactive/fig5", "web", plan=FIG5.plan, gather=FIG5.gather, data=ALL_DATA)
add_study("coactive/fig6", "web", plan=FIG6.plan, gather=FIG6.gather, data=DATA)


class WithSVM:
    """The perceptron and the ranking SVM under one kind of feedback."""

    def __init__(self, user: dict[str, float]) -> None:
        self.perceptron = Line("perceptron", user=user)
        self.svm = Line("ranking SVM", learner=SVM, user=user)

    def plan(self, run: Run) -> Iterable[Part]:
        """The SVM for fewer rounds, each random order a part; the perceptron over the same orders."""
        for source in main_sources(run):
            yield from WEB.parts(run, source, self.perceptron)
            rounds, orders = SVM_ROUNDS[source][run.quick], SVM_ORDERS[source][run.quick]
            svm = replace(self.svm, cost=SVM_COST[source])
            yield from WEB.parts(run, source, svm, rounds=rounds, orders=orders, block=4)

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """A panel per set, and a table at the SVM's last round."""
        panels, cells = [], []
        for source in main_sources(run):
            both = [(line, rows(answers, source, line)) for line in (self.perceptron, self.svm)]
            panels.append(WEB.panel(run, source, both))
            rounds = int(both[1][1].t[-1])
            for line, found in both:
                speed = 1e6 * float(found.seconds.min()) / int(found.t[-1])
                cells.append(
                    [NAMES[source], line.name, *map(plus_minus, (found.at(100), found.at(rounds))), f"{speed:.3g}"]
                )
        columns = ["data", "learner", "after 100 rounds", "at the SVM's last round", "µs per round"]
        said = "; ".join(f"{SVM_ROUNDS[s][run.quick]:,} rounds on {NAMES[s]}" for s in main_sources(run))
        more = (
            f"The ranking SVM, trained again at every 10 % more pairs (C by five-fold cross-validation), plays {said}."
        )
        table = Table("Average regret", columns, cells, note=f"{END_NOTE}; times on a machine with other work")
        return Outcome(panels=panels, tables=[table], notes=[*WEB.notes(run), more])


FIG7, FIG8 = WithSVM(STRICT), WithSVM(NOISY)
add_study("coactive/fig7", "web", plan=FIG7.plan, gather=FIG7.gather, data=DATA)
add_study("coactive/fig8", "web", plan=FIG8.plan, gather=FIG8.gather, data=DATA)
add_study("coactive/fig11", "web", plan=FIG11.plan, gather=FIG11.gather, data=ALL_DATA)
add_study("coactive/fig12", "web", plan=FIG12.plan, gather=FIG12.gather, data=ALL_DATA)
