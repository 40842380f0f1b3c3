"""Figure 2: classification on ionosphere and cancer."""

from __future__ import annotations

from functools import partial

from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, every, untestable
from smidgen_papers.onseg.comparison import (
    FOUR,
    OGDEG,
    ONSEG,
    all_ahead,
    best_of,
    gather,
    newton_helps,
    on_both,
    parts,
    runs_of,
)
from smidgen_papers.onseg.learners import Choice
from smidgen_papers.onseg.readings import MAIN
from smidgen_papers.part import Answers, Run

SETS = ("ionosphere", "cancer")
NEEDS = tuple(f"onseg/fig2:{name}" for name in SETS)
FIFTH = (Choice("ONSEG", "printed", "fifth"), Choice("OGDEG", "", "fifth"))

add_figure(
    "onseg/fig2",
    title="classification: mean error rate against iterations",
    shows="Two panels, ionosphere and cancer: the mean error rate up to t of ONSEG, ONS, OGDEG and OGD, all on the "
    "logistic loss, over T = 150·n iterations. β of ONS: 3.7e-3 and 2.5e-4; of ONSEG: 9.2022e-5 and 1.0948e-5; "
    "δ by Theorem 1.",
)
for _name in SETS:
    add_study(
        "onseg/fig2",
        _name,
        plan=partial(parts, data=_name),
        gather=partial(gather, data=_name, errors=True),
        data=(_name,),
    )


@add_claim(
    "onseg/classification-beats-ogdeg",
    says="On both classification sets ONSEG has a lower mean error rate than OGDEG (observations similar to Fig. 1).",
    where="Section 4, Online Classification; Fig. 2",
    needs=NEEDS,
)
def _beats_ogdeg(run: Run, ionosphere: Answers, cancer: Answers) -> Finding:
    what = "error rate of ONSEG against OGDEG"
    return all_ahead({"ionosphere": ionosphere, "cancer": cancer}, "mistakes", ONSEG, OGDEG, what)


@add_claim(
    "onseg/classification-beats-ogdeg-inside",
    says="The same with δ = r/5, for which all points stay in the set.",
    where="Section 4, Online Classification; Fig. 2 (our reading of δ)",
    needs=NEEDS,
)
def _inside(run: Run, ionosphere: Answers, cancer: Answers) -> Finding:
    if run.quick:
        return untestable("the quick set runs the δ of Theorem 1 only")
    what = "error rate of ONSEG against OGDEG"
    return all_ahead({"ionosphere": ionosphere, "cancer": cancer}, "mistakes", *FIFTH, what)


@add_claim(
    "onseg/classification-newton-helps",
    says="It is the second-order information that speeds ONSEG up: with A frozen at its start it would be slower.",
    where="Abstract (exploit the second-order information to speed up the convergence of OGDEG)",
    needs=NEEDS,
)
def _newton(run: Run, ionosphere: Answers, cancer: Answers) -> Finding:
    return on_both(
        {
            "ionosphere": newton_helps(ionosphere, "mistakes", "error rate"),
            "cancer": newton_helps(cancer, "mistakes", "error rate"),
        }
    )


@add_claim(
    "onseg/classification-second-order-helps",
    says="With the gradient, the second-order ONS has a lower mean error rate than the first-order OGD.",
    where="Abstract and Section 1 (second-order methods significantly accelerate), on Fig. 2's data",
    needs=NEEDS,
)
def _second_order(run: Run, ionosphere: Answers, cancer: Answers) -> Finding:
    what = "error rate of ONS against OGD"
    return all_ahead({"ionosphere": ionosphere, "cancer": cancer}, "mistakes", FOUR[1], FOUR[0], what)


@add_claim(
    "onseg/classification-against-gradients",
    says="ONSEG, which sees one number, is faster than OGD, which sees the gradient (read as convergence).",
    where="Section 4, summary (expected gradient algorithms are faster than the gradient algorithms)",
    needs=NEEDS,
)
def _against_gradients(run: Run, ionosphere: Answers, cancer: Answers) -> Finding:
    what = "error rate of ONSEG against OGD"
    return all_ahead({"ionosphere": ionosphere, "cancer": cancer}, "mistakes", ONSEG, FOUR[0], what)


@add_claim(
    "onseg/points-stay-inside",
    says="With the δ and γ of Theorem 1 (δ/r ≤ γ < 1) every point that ONSEG plays lies in the feasible set.",
    where="Proof of Theorem 1; Section 4 (δ is set as Theorem 1)",
    needs=("onseg/fig2:ionosphere", "onseg/fig2:cancer", "onseg/fig1:abalone", "onseg/fig1:kin8nm"),
)
def _inside_set(run: Run, ionosphere: Answers, cancer: Answers, abalone: Answers, kin: Answers) -> Finding:
    findings = {}
    for name, answers in (("ionosphere", ionosphere), ("cancer", cancer), ("abalone", abalone), ("kin", kin)):
        made, where = runs_of(answers, MAIN, ONSEG), best_of(answers, MAIN)
        share = float(made["delta"]) / float(where["r"])
        effect = f"δ/r = {share:.3g}"
        if made["outside"]:
            findings[name] = Finding(
                "does not hold here", effect, "δ/r does not depend on the ball's size: no ball will do"
            )
        else:
            findings[name] = Finding("holds", f"{effect}, γ = {float(made['gamma']):.3g}")
    return every(findings)
