"""Figure 1: regression on abalone and kin."""

from __future__ import annotations

from functools import partial

from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, untestable
from smidgen_papers.onseg.comparison import FOUR, OGDEG, ONSEG, all_ahead, gather, newton_helps, on_both, parts
from smidgen_papers.onseg.learners import Choice
from smidgen_papers.part import Answers, Run

SETS = ("abalone", "kin8nm")
NEEDS = tuple(f"onseg/fig1:{name}" for name in SETS)

add_figure(
    "onseg/fig1",
    title="regression: mean squared error against iterations",
    shows="Two panels, abalone and kin: F(X^t), the mean of ½(x·z − y)² up to t, of ONSEG, ONS, OGDEG and OGD over "
    "T = 150·n iterations. β of ONS: 4.8501e-4 and 3.8063e-4; of ONSEG: 3.2813e-6 and 1.4715e-5; δ by Theorem 1; "
    "steps D/(G√t) and D/(F√t). No other number is printed: not D, F, G, γ, nor how rows and targets were scaled.",
)
for _name in SETS:
    add_study(
        "onseg/fig1",
        _name,
        plan=partial(parts, data=_name),
        gather=partial(gather, data=_name, errors=False),
        data=(_name,),
    )


@add_claim(
    "onseg/regression-beats-ogdeg",
    says="On both regression sets ONSEG has a lower mean squared error than OGDEG: it converges faster.",
    where="Section 4, Online Regression; Fig. 1",
    needs=NEEDS,
)
def _beats_ogdeg(run: Run, abalone: Answers, kin: Answers) -> Finding:
    what = "F(X^T) of ONSEG against OGDEG"
    return all_ahead({"abalone": abalone, "kin": kin}, "losses", ONSEG, OGDEG, what)


@add_claim(
    "onseg/regression-theory-beta",
    says="With β by the formula of Algorithm 1 (σ = 1) ONSEG has a lower mean squared error than OGDEG.",
    where="Algorithm 1, step 2; abstract",
    needs=NEEDS,
)
def _theory(run: Run, abalone: Answers, kin: Answers) -> Finding:
    theory = Choice("ONSEG", "theory", "theorem")
    return _other_beta(run, abalone, kin, theory)


@add_claim(
    "onseg/regression-practical-beta",
    says="With β = δ/(8dFD), about what the printed values amount to, ONSEG has a lower mean squared error than OGDEG.",
    where="Section 4, Online Regression (our reading of its β)",
    needs=NEEDS,
)
def _practical(run: Run, abalone: Answers, kin: Answers) -> Finding:
    return _other_beta(run, abalone, kin, Choice("ONSEG", "practical", "theorem"))


def _other_beta(run: Run, abalone: Answers, kin: Answers, choice: Choice) -> Finding:
    if run.quick:
        return untestable("the quick set runs the printed β only")
    what = f"F(X^T) of {choice.name} against OGDEG"
    return all_ahead({"abalone": abalone, "kin": kin}, "losses", choice, OGDEG, what)


@add_claim(
    "onseg/regression-newton-helps",
    says="It is the second-order information that speeds ONSEG up: with A frozen at its start it would be slower.",
    where="Abstract (exploit the second-order information to speed up the convergence of OGDEG)",
    needs=NEEDS,
)
def _newton(run: Run, abalone: Answers, kin: Answers) -> Finding:
    return on_both({"abalone": newton_helps(abalone, "losses", "F(X^T)"), "kin": newton_helps(kin, "losses", "F(X^T)")})


@add_claim(
    "onseg/regression-second-order-helps",
    says="With the gradient, the second-order ONS converges faster than the first-order OGD.",
    where="Abstract and Section 1 (second-order methods significantly accelerate), on Fig. 1's data",
    needs=NEEDS,
)
def _second_order(run: Run, abalone: Answers, kin: Answers) -> Finding:
    ogd, ons = FOUR[0], FOUR[1]
    what = "F(X^T) of ONS against OGD"
    return all_ahead({"abalone": abalone, "kin": kin}, "losses", ons, ogd, what)


@add_claim(
    "onseg/regression-against-gradients",
    says="ONSEG, which sees one number, is faster than OGD, which sees the gradient (read as convergence).",
    where="Section 4, summary (expected gradient algorithms are faster than the gradient algorithms)",
    needs=NEEDS,
)
def _against_gradients(run: Run, abalone: Answers, kin: Answers) -> Finding:
    what = "F(X^T) of ONSEG against OGD"
    return all_ahead({"abalone": abalone, "kin": kin}, "losses", ONSEG, FOUR[0], what)
