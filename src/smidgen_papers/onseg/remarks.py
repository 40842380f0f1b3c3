"""What we found, per figure. Numbers in the text are from a full run with seed 0."""

REGRESSION = """
**ONSEG is ahead of OGDEG on abalone, by a fifth, and level with it on kin. But not for the reason that the paper
gives.** A hardly moves: by T it has grown by 0.03 to 0.04 % on abalone and by 1.3 to 1.4 % on kin (see the table).
With A frozen at its start the curves are the same, to 0.1 %. So ONSEG is here gradient descent with a *constant*
step, βD²·(d/δ), against OGDEG's D/(F√t), which falls. There are two reasons.

- A starts as I/(βD)², and with β ≤ δ/(8dFD) that is at least (8dF/δ)² in every direction. A round adds (d·f/δ)² in
  one direction. So A doubles after some 64·d·(F/f)² rounds. F is the largest loss that any point of the set could
  have (101 on abalone), f the usual one (below 0.1): that is some three thousand times T. On abalone A grows by much
  only with targets as in the file, where f is a tenth of F; on kin by 60 % at most (standardised; all with the
  printed β).
- Where A grows it does not learn the curvature. g = (d/δ)·f·v, and v is uniform on the sphere, so the mean of ggᵀ
  is a multiple of the identity, but for how f² depends on v. In the table the least and the most known direction
  differ by a few per cent, while for ONS, with true gradients, they differ by a factor of up to a hundred.

The constant step is longer than OGDEG's from round 7 (kin) or 50 (abalone) on, because F is so pessimistic. That
helps on abalone, does next to nothing on kin, and hurts on one other reading of kin. A larger factor does the same
for OGDEG: see `onseg/tuned`.

- With β by the formula of Algorithm 1 (σ = 1) the steps are a hundred times shorter, and ONSEG is behind OGDEG on
  both sets. With `beta="practical"` it is ahead on both in the main reading, and behind on four of the other six
  readings of kin.
- ONS starts from the same kind of A, of which it too keeps most. It is behind OGD on kin or level with it, whatever
  the reading, and on abalone level in the main reading and ahead on three of the others.
- In the order of the file ONS gets below the best fixed point on abalone (0.0091 against 0.0126): neighbouring rows
  are alike, and a constant step follows them. What the best fixed point leaves over has a correlation of 0.30 from
  one row to the next and still 0.25 over twenty rows (on kin 0.01), so that there is something to follow.
- Both one-point methods pay for looking around, since F(X^T) counts the points y + δv. With δ = r/5 that alone
  costs 0.16 on abalone.
- A lead counts from 1 % on. We set this margin after the first full run, in which kin came out at −0.25 % (95 %
  interval −0.8 to 0.3): without a margin the claim on both sets is undecided, with it, it fails on kin.
- We have the text of the paper, not its curves. Which reading comes closest is judged by the printed β
  (`onseg/table2`).
"""

CLASSIFICATION = """
**Here ONSEG is behind OGDEG on ionosphere, on every reading, and on cancer level with it in the main reading.** (Of
the other six readings of cancer it is ahead on one, behind on two.) The constant step that ONSEG amounts to (see
`onseg/fig1`) is too long for the logistic loss. A step is as long as the loss, most of which is the same in all
directions. OGDEG's falling step lets that noise average out, a constant one does not. The other β bear this out:
on ionosphere β by theory has steps a fifth as long, and ONSEG errs in 31.2 % in place of 35.9 % (OGDEG 30.1 %); with
rows of length 1, where β by theory is five times the printed one, it errs more often. On cancer `beta="practical"`
has steps six times as long and errs more often, too. On ionosphere A does grow, by a factor of 2.3 to 3.4. It grows
nearly alike in all directions, which shortens the step: that is worth 7 % against ONSEG with A frozen, and not
enough. On cancer it hardly grows, and nothing is to be gained.

**δ by Theorem 1 is not possible on ionosphere.** δ/r = (25·d⁴·(D/r)²·log²T/(3T²))^{1/3} does not depend on the size
of the ball. With d = 33 and T = 52,650 it is 1.19, and γ is 1.89, so that (1 − γ)P is empty. In the runs marked *
the base point may use all of P, and the points that are played leave it. At a distance of δ = 5.95 most of the loss
is noise: OGDEG errs twice as often as OGD. With δ = r/5 all points stay inside, and ONSEG with the printed β is
still behind on ionosphere (31.8 % against 25.4 %). With `beta="practical"`, which is smaller then, it errs less often
than OGDEG (23.5 %), though its loss is higher.

- The paper says that the observations are similar to those on regression. On these two sets they are not.
- ONS with β by theory does not move on ionosphere, where α = exp(−R·max‖z‖) is 3e-13 with a ball of radius 5, and
  moves slowly on cancer (loss 0.42, with the printed β 0.11). The printed β is not from this formula; 1/(8GD) is
  nearer.
- OGD, the simplest, is ahead of ONS or level with it on both sets and every reading. ONS, too, starts with an A that
  is large: in the direction that it knows least A has grown by a third at most.
- One number per round is less than a gradient: by the error rate OGDEG and ONSEG are behind OGD on every reading
  but one, where OGDEG is level with it (cancer, standardised).
"""

PORTFOLIO = """
No stock data is supplied, and the paper's is not public, so the returns of 2.88 % and 1.02 % cannot be checked.
What can be:

- **Theorem 1's δ is a thousand times the inner radius of the simplex** (10.7 against 0.0107), and γ is 55. A point
  10.7 away from a portfolio is no portfolio, so the paper's δ or its set must be another one than it says. We take
  δ = r/5.
- With δ = r/5 **nothing is learnt**: one number per week for 680 weeks says next to nothing about 94 shares. On
  made-up prices OGDEG and ONSEG earn what equal shares earn, to a hundredth of a per cent. They differ by 0.001
  points, with an interval of ± 0.007, where the paper has 1.86. More trials would not settle the claim, since past
  returns tell nothing of the next one here; it takes real prices (see the note on how to supply them).
- 2.88 % a week is 4.4-fold a year, for 13 years. In the made-up markets the best single stock, known in hindsight,
  has 0.6 %.
- The gradient of a return is the vector of the week's returns, which is public. So OGD and ONS do apply, and OGD is
  in the figure.
- ‖x‖₁ = 1 can also mean long and short positions. The L1 ball is shown for that; its centre is to hold nothing.
"""

TUNED = """
The paper gives ONSEG a β per data set and OGDEG the step of a theorem, with a bound F that is a hundred times too
large or more. Here both choose among the same seven factors and the same five δ, by the mean F(X^T) of four runs,
and are then run ten times with other seeds. (A first try chose by a single run, on a wider grid, and took an
unstable setting for OGDEG on abalone, 0.038 ± 0.006; so it is four.)

**Tuned, neither is ahead throughout.** On kin OGDEG is ahead by 1.5 %, on cancer they are level (0.3 % ± 1 %), on
abalone the intervals overlap (one of the ten OGDEG runs goes astray, 0.053 where the others have 0.016 to 0.023,
which makes its mean worse and its error large). On ionosphere ONSEG has the lower loss, by 11 %, and the error rates
are level (0.227 ± 0.007 for OGDEG, 0.230 ± 0.004 for ONSEG). Some of that lead is luck of the tuning: by its four
runs OGDEG's factor of 10 was ahead of 1 by 0.003, and with other seeds it came out at 0.573 and not at 0.534. OGDEG
wants a factor of 10 to 30, which is what ONSEG's constant step had given it in `onseg/fig1`; ONSEG with its
practical β needs little tuning on regression, and that is its one merit here. A constant step depends less on luck
at the start than one that begins with thirty times D/F.

Both stay above the best fixed point, by 7 to 9 % on kin and by more on the other sets: what one number per round
tells in this time is the limit, not the order of the method. Mind that a factor of 1/β *shortens* ONSEG's steps as
long as A stands still, since A starts as I/(βD)².
"""

BOUND = """
**The stated rates do not follow from the theorems.** Both bounds have a second term, 5d·log T/α with α =
σδ²/(d²F²). With the δ of Theorem 1, δ² ∝ (log T/T)^{4/3}, and the term grows like T^{4/3}: faster than 2FT, which
is all that anybody can lose. With that of Theorem 2 it grows like T. Without the term the bounds would be what the
abstract says (dashed).

No other δ mends it: the first part of the bound asks for a δ that falls with T, α for one that does not. Besides,
eq. 4 of the proof has ‖E[g]‖² in the norm of A⁻¹ where E‖g‖² belongs, and that is larger by (dF/(δL))² or so.

Measured on kin with the theorems' own constants, the regret per round of ONSEG first falls with T, as γ does (at
24,000 rounds nine tenths of the set are given up), and from 192,000 rounds on it *rises*: 0.0171, 0.0175, 0.0183.
That is an exponent above 1, as the second term has it. The likely cause is that β falls with δ², and the steps with
it. OGDEG's falls all the time, with an exponent of 0.88. At 768,000 rounds the two have about the same regret
(ratio 1.19, 95 % interval 0.92 to 1.55). **The choice of horizons decides here**: over all six, 24,000 rounds on,
the exponents are 0.85 for ONSEG and 0.91 for OGDEG, and ONSEG would be ahead. We take the three longest, since a
rate is about large T, and did so after seeing the curves. With a Lipschitz constant the exponents are 0.86 for
ONSEG and 0.73 for OGDEG, where 0.5 and 0.75 are stated.
"""

COST = """
ONSEG does all that ONS does, and draws a random direction besides: d normal numbers, which in few dimensions is
most of the time. What it saves is the gradient, and for these losses that is the product of a number with a row
that must be read anyway. So ONSEG takes 1.5 to 5 times as long as ONS as long as nothing is projected, and OGD is the
quickest by far. The claim could only hold where gradients are expensive, and none of the paper's losses is such a
one.

The count O(d²) leaves out the projection in the norm of A. Ours takes a few Lanczos steps on a ball, O(d²) each.
Where the best point lies outside the set 75 to 92 % of ONS's rounds need one, and that is then most of the time.
ONSEG needs one in 9 % of the rounds at most, because in these 10,000 rounds it hardly gets to the edge of the set, and
so it takes 13 to 44 % of ONS's time there. That is the one case in which it is the quicker of the two; it is not
because of the gradient, and OGD is still 3 to 29 times as quick as ONSEG.
"""

CONSTANTS = """
From β alone: if β of ONS is 1/(8GD), then G·D is 258, 328, 34 and 500 on the four sets. If β of ONSEG is δ/(8dFD)
with the δ of Theorem 1, then F is 90, 26, 24 and 89, whatever the radius of the ball.

- Features and targets in [−1, 1] and a ball of radius 5 come closest on three of the four sets: within a factor of
  1.5 on abalone, 1.7 on ionosphere and 3 on kin (ONS by the nearer of its formula and 1/(8GD), ONSEG without α).
  Hence our main reading. Targets as in the file (1 to 29 rings) do not fit. On cancer no reading comes within a
  factor of 6 of both.
- **The printed β of ONSEG do not come from Algorithm 1 on regression.** There σδ²/(d²F²) is the smaller of the two
  terms, and with σ = 1 it gives a hundredth of the printed values or less; with the largest σ that a single loss
  could have, a seventeenth (abalone) and a thirty-second (kin). The values amount to leaving α out
  (`beta="practical"`). On classification the formula can give them, with a σ between 1 and that largest one.
- And σ is 0 for every loss of the experiments: a loss of one inner product is flat across it. Then the formula
  gives β = 0, and no step at all.
"""
