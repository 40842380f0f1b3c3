"""What the web-search halves of the figures taught us, by figure."""

from __future__ import annotations

#: Markdown by the figure's name, ``"fig2"``.
WEB: dict[str, str] = {
    "fig1": """
**The direction comes out, the printed shares do not.** Two numbers of the click model are fitted to the averages
that the paper prints of its chains (2.2 queries, 1.8 clicks); the shares of gains and losses are then a prediction.
With half of the questions navigational and half informational the model gives some 42 % gains, 15 to 20 % losses
and 38 to 44 % equal, where the paper prints 60, 10 and 30. Even simulated people who click nothing but relevant
documents reach only some 50 % gains: 35 to 40 % of their chains have no click at all. To have 60 % gains with 1.8
clicks, the clicks of the students must have been spread more evenly over the chains. People who click almost at
random lose a little more often than they gain, so the claim is one about people, not about the construction.

**Readings.** The base of the logarithm, and log(i + 1) or 1 + log i, change hardly any sign. How assessors treat
equal documents does: if equals share a rank, some of the zeros have a changed ranking (23 % of them on MQ2008, 12 %
on the MSLR sample; the paper has 12 %); the mean of five assessors who err leaves almost none. This suggests that
the assessors left ties.

**The sign test.** In a single study of 160 chains the imbalance of the mixed model reaches p < 0.0001 in about
three of four studies on MQ2008 and in about one of four on the MSLR sample, where losses are more frequent (20 %
instead of 15 %). To reach it almost always takes the larger imbalance of the paper.
""",
    "fig2": """
On web search all claims hold, on both sets. The reason that the paper gives can be measured: users of α = 0.1 give
63 % of the possible gain on MQ2008 and 46 % on the generated set, since a prefix of the list that contains
something better usually contains something much better.

**Readings of w\\*.** With an intercept in the least-squares fit regrets are some ten percent lower on MQ2008 and
almost the same on the generated set; no claim depends on it. The base of the logarithm only scales φ, and with it
all regrets.
""",
    "fig3": """
All claims hold. For α = 1 the agreement of regret and slack is arithmetic: regret minus average slack is w·w\\*/T
after T rounds, and the perceptron's w stays short under noise.

**But the level is not that of the labels alone.** On MQ2008 the weights that the 20 orders ended with have regrets
between 0.07 and 0.74, 0.24 in the mean, while the mean of 15 weights of each order, from the second half of its
rounds, has 0.07 to 0.17, 0.11 in the mean (measured apart from the figure): about half of the perceptron's regret
under noise is its own restlessness, since its steps never become small beside w. Averaging the weights would cut it.
""",
    "fig4": """
Holds: a hundred times fewer updates cost a factor of about four at the end, where √k is ten. On the generated set
the batch size no longer shows in the last tenth of the rounds. The text does not say which k the paper tried.
""",
    "fig5": """
Holds: under noise k = 100 costs 11 to 13 % at the end on web search. The text does not say which k the paper tried.
""",
    "fig6": """
Holds in absolute terms: in the last tenth of the rounds both are below one percent of a random ranking's regret. In
relative terms feedback in expectation costs a factor of 1.2 to 1.5 after 100 rounds, 1.4 to 1.5 over all rounds and
1.5 to 1.6 in the last tenth. Starting from an α = 1 answer instead of α = 0.5 (which the text has for web search)
is worse by 9 to 18 % after 100 rounds and by 1 to 6 % at the end.
""",
    "fig7": """
**On MQ2008 the SVM is not comparable but better**: after 1,000 rounds its average regret is less than half of the
perceptron's. Without noise and with 46 features a solver that goes back to all pairs finds w\\* quickly, while the
perceptron uses each pair once. On the generated set with 700 features, the paper's shape, the two are comparable,
as printed. The SVM costs 200 times as much per round on the generated set and 1,200 times as much on MQ2008, and so
plays fewer rounds here.
""",
    "fig8": """
On MQ2008 the perceptron is ahead over most of the range, as printed. On the generated set the 5 orders of 300 rounds
that the SVM plays cannot tell. Measured apart from the figure, 9 orders have the perceptron ahead in half of the
range (0.5, standard error 0.08), while it ends ahead: the SVM's average regret after 300 rounds is 6 % higher (95 %
interval 2 to 10 %). Single orders scatter between 0.15 and 0.98, so some 30 orders are needed to tell a share of 0.6
from one half, and thousands of rounds instead of 300 to reach the part of the range where the curves level off.
""",
    "fig9": """
**"Fewer than 100 rounds" holds on the paper's shape (700 features) and fails on MQ2008 (46 features).** A random
direction in N dimensions has a part of about 1/√N along any useful one, so the bandit's handicap grows with N. With
700 features the perceptron's mean curve is where the bandit ends after 64 rounds with strict feedback and after 91
with noise (there 65 % of the orders make it in fewer than 100). With 46 features and strict feedback it needs 183.
"Orders of magnitude" is true of strict feedback only, where the perceptron's regret goes to zero: a factor of eleven
on MQ2008, of almost forty on the generated set. With noise it is 3.4 on the generated set.

**With noisy feedback on MQ2008 the bandit even ends below the perceptron**, whose mean curve never gets there. The
bandit moves by small steps, and only when its rival wins, so that noise averages out; the perceptron's steps have
the size of Δ for ever (Figure 3). The weights that the bandit ends with are about as good as the *mean* of the
perceptron's weights (regrets of 0.12 and 0.11, means of 20 orders, measured apart from the figure). So the
comparison is also one of step sizes, and only the bandit's were tuned.

**The 5 × 5 grid has one degree of freedom, not two.** w starts at 0, and rankings do not change when w and u grow
together: only δ/γ counts. Our two lists make 25 different quotients, which is kinder to the bandit than a square
grid. The best of them lie well inside the list (0.016 to 0.04), so a wider grid would not help it.
""",
    "fig11": """
**At first slightly better: yes, by 18 % on MQ2008 and 3 % on the generated set. Later comparable: no.** The rate
1/(2S√t) of the experiment makes steps shrink, and that is what helps: the exponentiated curve ends within one
percent of the *convex* perceptron's, which is additive with 1/√t (Figure 13), and at about half of the regret of
the additive one. With the fixed rate of Theorem 5 it lies on the additive one, as the paper says. So the figure
compares step sizes rather than additive with multiplicative updates.
""",
    "fig12": """
Under noise the claims hold, on the generated set only just: the exponentiated one ends 18 % lower, and the limit is
20 %. (On the two sets that only the table has it ends some 7 % higher.) See Figure 11 on the rate.

**Why shrinking steps stop helping under noise.** On the generated set the exponentiated curve dips, as the convex
perceptron's does in Figure 17, and rises again after some 10,000 rounds; in the last tenth of the rounds it is where
the additive one is (0.387 and 0.397). This is not because queries come again: the convex perceptron dips in the same
way, only earlier, on a generated set of 100 features with 24,000 queries that are played once each (measured apart
from the figure). Rankings do not depend on the length of w, and under noise w grows shorter along with the steps: on
such a set of 8,000 queries ‖w‖√t falls from 43 after 500 rounds to 20 after 2,000 and stays there, and 20 is the ‖w‖
of the perceptron. From then on the two are the same learner in other units.
""",
    "fig13": """
**MQ2008 shows the paper's picture**: the second order's cumulative regret is close to a straight line over log T;
the convex perceptron grows like √T and is four times as high at the end, by both measures (with a large M the
quadratic loss is close to a multiple of the utility).

**On the generated set the convex perceptron is ahead**, and most of the regret of both (80 and 93 %) comes in the
first 2,000 rounds, after which both lines are nearly straight: so the growth per decade falls, and the verdict is
no. Much of the gap is γ = 1, which is too large for these features (Figure 15). Measured apart from the figure with
two orders: with γ = 0.03 or 0.1 the second order is ahead until at least round 5,000 (after 2,000 by 10 to 24 %) and
ends only 7 to 14 % behind, where γ = 1 ends with almost twice the regret.

That it does not win with any γ tried is not due to the number of features but to how evenly documents vary: among
principal directions the middle 80 % differ in variance by a factor of 1.4 on the generated set and of 800 on MQ2008,
whose features have similar scales but repeat one another. Measured apart, too, γ from 0.01 to 10: with 20 or 50
generated features the convex perceptron is ahead of every γ (14 against 26 or more, 43 against 65 or more). With the
50 features multiplied by numbers from 0.03 to 1 the second order is ahead (328 with γ = 1, 166 with γ = 10, against
721). And on MQ2008 with whitened features, uncorrelated and of one scale, it falls behind (18 or more against 13, γ
from 0.001 to 10). A second-order method pays where the directions are uneven.

**Readings.** ε is not printed. As long as w stays inside the ball only γ/ε counts: ε = 0.01 with γ = 1 gives the
numbers of γ = 100 with ε = 1. With the step 1/√t, and with the second order and ε = 1, w ends far inside the ball of
radius 100 (13 at most). With the step G/√t of the paper of 2012, G the slope of the quadratic loss, w sits on the
ball and regret is 4 times as high on MQ2008, 17 times on the MSLR sample and 86 times on the generated set, which is
why we take the figure to be of the step 1/√t. (Only on MQ2007-agg w stays inside, and regret is a quarter lower.)
""",
    "fig15": """
**On MQ2008** γ from 0.1 to 10 is good after 10,000 rounds, extremes are bad, and γ = 1 is the best or within the
error of the best: as printed. **On the generated set** the best γ is 0.01 to 0.1. After 1,000 rounds this is below
the convex perceptron, by a quarter at γ = 0.01, and so is every smaller γ; after 10,000 rounds, where the claim is
tested, even the best is 6 % above it (Figure 13 says why).

**Whether the range is broader than on movies depends on the yardstick.** Values of γ within twice the least regret
are 2.75 on MQ2008, 4 on the generated set and 4.8 on movies: not broader. Rounds explain a part of it, since this
range narrows as learning goes on: on MQ2008 it has 5.8 values after 100 rounds and 3.5 after 1,500, which is all that
movies have. Values of γ with less regret than the convex perceptron, the dotted line, are 4.1 on MQ2008 and 2.5 on
movies (groups of 50 users, as in the claim), which is the paper's order; but none on the generated set.

There is nothing special about γ = 1: multiplying all features by s is the same as multiplying γ by s² (natural
instead of base-2 logarithms alone make it 2.1), so the best γ depends on the units of the features. What counts is
γ‖Δ‖²/ε, and Δ is longer with 700 features: the squared distance of documents from their mean is 57 on the generated
set and 3.4 on MQ2008. That is why γ = 1 is not the best there.
""",
    "fig17": """
On MQ2008 nearly identical, as printed (3 % apart). On the generated set the second order is 23 % behind over all
rounds. That comes from the first 10,000, where the convex perceptron learns faster, as without noise (Figure 13);
over the other 18,000 the two are some 5 % apart. Why the convex perceptron's average rises again after 10,000 rounds
stands with Figure 12.
""",
    "lemma3": """
Not an experiment of the paper: the adversary of its proof, played. Every learner has exactly 2/√T.
""",
}
