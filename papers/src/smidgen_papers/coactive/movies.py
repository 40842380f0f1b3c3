"""Figures 2 to 8, 11 and 12, movies: the perceptron and its variants over rounds."""

from __future__ import annotations

import numpy as np

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive.movies_data import DATA, FITS, search_of, source_of, title
from smidgen_papers.coactive.movies_play import look
from smidgen_papers.coactive.movies_series import MOVIES, NOISY, ROUNDS, fitted, parts, plus_minus, rows
from smidgen_papers.coactive.series import STRICT, Line, Lines
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answer, Answers, Part, Run, part

#: Rounds between two updates. The paper's text does not say which it tried.
BATCHES = (10, 50, 100)
#: The ranking SVM takes seconds per user where the perceptron takes milliseconds: users and rounds (full, quick).
SVM_USERS, SVM_ROUNDS = {False: 30, True: 5}, {False: 1_500, True: 80}

ALPHAS = {alpha: Line(f"α = {alpha:g}", user={"strict": alpha}) for alpha in (0.1, 0.5, 1.0)}
BETTER = Line("better", user=NOISY)
BEST = Line("best", user={"rating": "best"})
EXPECTED = Line("expected", user={"expected": 0.5, "from": 1.0}, cost=1.6)
#: Shows the movies in the order of the list, for ever: how much of a fall is due to movies being taken off.
IDLE = Line("no learning, better", learner={"name": "BatchPreferencePerceptron", "batch": 10_000}, user=NOISY, cost=0.6)
EXPONENTIATED = {"name": "ExponentiatedPreferencePerceptron"}
SVM = {"name": "RankingSVM"}
#: C of the readings without cross-validation: 0.01 is about what C = 100 comes to if the slacks are averaged over some
#: thousand pairs, as SVM-rank does, and not summed.
HELD = (0.01, 100.0)


def batch(k: int, user: dict[str, object]) -> Line:
    """The batch perceptron; k = 1 is the perceptron."""
    learner = {"name": "BatchPreferencePerceptron", "batch": k} if k > 1 else {"name": "PreferencePerceptron"}
    return Line(f"k = {k}", learner=learner, user=user)


class Strength(Lines):
    """Figure 2: three α, with the readings of w* side by side, and what cross-validation said of the features."""

    def plan(self, run: Run) -> list[Part]:
        """The lines, and a look at the features."""
        seconds = 8.0 if run.quick else 90.0
        first = part(look, seconds=seconds, source=source_of(run), search=search_of(run), seed=run.seed)
        return [first, *super().plan(run)]

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """A panel per reading of w*, the table of all, and those of the features and the utilities."""
        looked = next(answer for answer in answers if "learner" not in answer.settings)
        panels, found, source = [], [], source_of(run)
        for fit, name in FITS.items():
            these = [(line, rows(answers, line)) for line in self.tabled(run) if line.fit == fit]
            short = [(ALPHAS[line.user["strict"]], one) for line, one in these]
            panels.append(MOVIES.panel(run, source, short, f", {name}" if name else ""))
            found += [(source, line, one) for line, one in these]
        return Outcome(
            panels=panels,
            tables=[MOVIES.table(run, found), *_features(looked), _utilities(looked)],
            notes=MOVIES.notes(run, found[0][2]),
        )


def _features(looked: Answer) -> list[Table]:
    errors = [[int(d), *row] for d, row in zip(looked["dims"], np.round(looked["errors"], 4).tolist(), strict=True)]
    dim, penalty = looked["chosen"]
    note = (
        f"{looked['movies']:,} movies, {looked['empty']} of them not rated in the first half (all features 0); "
        f"{int(dim)} features and λ = {penalty:g} per rating chosen."
    )
    columns = ["features", *(f"λ = {value:g}" for value in looked["penalties"])]
    return [Table("Features: root mean squared error on held-out ratings", columns, errors, note=note)]


def _utilities(looked: Answer) -> Table:
    """The fits: why means over users are ruled by few of them unless w* is shrunk."""
    cells = []
    for fit in FITS:
        norms, spreads = looked[f"{fit}_norms"], looked[f"{fit}_spreads"]
        top = np.sort(spreads)[-max(1, len(spreads) // 20) :].sum() / spreads.sum()
        cells.append([fit, float(np.median(norms)), float(norms.max()), float(np.median(spreads)), f"{top:.0%}"])
    few = int((looked["rated"] < 2 * looked["chosen"][0]).sum())
    note = (
        f"{few:,} of {len(looked['rated']):,} users have rated fewer than two movies per feature; the plain fits of "
        "such users are long, and their regrets large."
    )
    columns = ["w*", "median ‖w*‖", "largest ‖w*‖", "median spread of utilities", "share of the widest 5 % of users"]
    return Table("The readings of w*", columns, cells, note=note)


class WithSVM:
    """The perceptron and the ranking SVM under one kind of feedback."""

    def __init__(self, user: dict[str, object]) -> None:
        self.perceptron = Line("perceptron", user=user)
        self.svm = Line("ranking SVM", learner=SVM, user=user, cost=2_000.0 if "strict" in user else 300.0)
        self.held = [
            Line(f"ranking SVM, C = {C:g}", learner={"name": "HeldSVM", "C": C}, user=user, cost=200.0) for C in HELD
        ]

    def plan(self, run: Run) -> list[Part]:
        """The perceptron for all users, the SVM for some."""
        users, rounds = SVM_USERS[run.quick], SVM_ROUNDS[run.quick]
        found = parts(run, self.perceptron)
        found += parts(
            run, self.svm, users=users, rounds=rounds, block=min(2, users) if "strict" in self.svm.user else 10
        )
        return found + [one for line in self.held for one in parts(run, line, users=users, rounds=rounds, block=20)]

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """Both over the users that the SVM was run on, and the perceptron over all."""
        every, svm = rows(answers, self.perceptron), rows(answers, self.svm)
        some, held = every.first(len(svm.regret)), [(line.name, rows(answers, line)) for line in self.held]
        last = int(svm.t[-1])
        times = [t for t in (10, 100, last) if t <= last]
        drawn = [
            curve("perceptron", some.t, some.regret),
            curve("ranking SVM", svm.t, svm.regret),
            *(curve(name, one.t, one.regret, style="dashed") for name, one in held),
            curve("perceptron, all users", every.t, every.regret, style="dotted"),
        ]
        cells = [
            [name, *(plus_minus(one.at(t)) for t in times), f"{one.seconds.mean():.3g}"]
            for name, one in (("perceptron", some), ("ranking SVM", svm), *held, ("perceptron, all users", every))
        ]
        table = Table(
            "Average regret, movies",
            ["", *(f"t = {t:,}" for t in times), "seconds per user"],
            cells,
            note=f"The SVM plays {last:,} rounds with {len(svm.regret)} users, the perceptron {int(every.t[-1]):,}. "
            "C by five-fold cross-validation from 50 pairs on, unless it is given. The paper: 125 s per user for the "
            "perceptron, 260 s for the SVM.",
        )
        return Outcome(
            panels=[Panel(title(run), MOVIES.axis, "average regret", drawn, x_scale="log")],
            tables=[table],
            notes=MOVIES.notes(run, every),
        )


OTHERS = tuple(fit for fit in FITS if fit != "plain")
FIG2 = Strength(MOVIES, [*ALPHAS.values()], [fitted(line, fit) for fit in OTHERS for line in ALPHAS.values()])
FIG3 = Lines(
    MOVIES,
    [BETTER, BEST],
    [ALPHAS[0.5], *(fitted(line, fit) for fit in OTHERS for line in (BETTER, BEST, ALPHAS[0.5])), IDLE],
)
FIG4 = Lines(MOVIES, [batch(k, STRICT) for k in (1, *BATCHES)])
FIG5 = Lines(MOVIES, [batch(k, NOISY) for k in (1, *BATCHES)])
FIG6 = Lines(MOVIES, [Line("deterministic"), EXPECTED])
FIG7, FIG8 = WithSVM(STRICT), WithSVM(NOISY)


def _updates(user: dict[str, object]) -> Lines:
    """Additive and exponentiated updates; those of the theorem's fixed rate in the table."""
    fixed = {**EXPONENTIATED, "horizon": ROUNDS[False]}
    return Lines(
        MOVIES,
        [Line("additive", user=user), Line("exponentiated", EXPONENTIATED, user, cost=3.0)],
        [Line("exponentiated, fixed rate", fixed, user, cost=3.0)],
    )


FIG11, FIG12 = _updates(STRICT), _updates(NOISY)

add_study("coactive/fig2", "movies", plan=FIG2.plan, gather=FIG2.gather, data=DATA)
add_study("coactive/fig3", "movies", plan=FIG3.plan, gather=FIG3.gather, data=DATA)
add_study("coactive/fig4", "movies", plan=FIG4.plan, gather=FIG4.gather, data=DATA)
add_study("coactive/fig5", "movies", plan=FIG5.plan, gather=FIG5.gather, data=DATA)
add_study("coactive/fig6", "movies", plan=FIG6.plan, gather=FIG6.gather, data=DATA)
add_study("coactive/fig7", "movies", plan=FIG7.plan, gather=FIG7.gather, data=DATA)
add_study("coactive/fig8", "movies", plan=FIG8.plan, gather=FIG8.gather, data=DATA)
add_study("coactive/fig11", "movies", plan=FIG11.plan, gather=FIG11.gather, data=DATA)
add_study("coactive/fig12", "movies", plan=FIG12.plan, gather=FIG12.gather, data=DATA)
