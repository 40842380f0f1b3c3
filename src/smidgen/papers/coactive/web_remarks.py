"""What the web-search halves of the figures taught us, by figure."""

from __future__ import annotations

#: Markdown by the figure's name, ``"fig2"``.
WEB: dict[str, str] = {
    "fig1": """
**The direction comes out, the printed shares do not.** Two numbers of the click model are fitted to the averages
that the paper prints of its chains (2.2 queries, 1.8 clicks); the shares of gains and losses are then a prediction.
With half of the questions navigational and half informational the model gives some 42 % gains, 15 to 20 % losses
and 40 % equal, where the paper prints 60, 10 and 30. Even simulated people who click nothing but relevant documents
reach only some 50 % gains: a third of their chains or more has no click at all. To have 60 % gains with 1.8 clicks,
the clicks of the students must have been spread more evenly over the chains. People who click almost at random
break even, so the claim is one about people, not about the construction.

**Readings.** The base of the logarithm, and log(i + 1) or 1 + log i, change hardly any sign. How assessors treat
equal documents does: if equals share a rank, some of the zeros have a changed ranking (23 % of them on MQ2008, 12 %
on the MSLR sample; the paper has 12 %); the mean of five assessors who err leaves almost none. This suggests that
the assessors left ties. In a single study of 160 chains the imbalance of the mixed model often misses p < 0.0001:
that takes the larger imbalance of the paper.
""",
    "fig2": """
All claims hold, on both sets. The reason that the paper gives can be measured: users of α = 0.1 give about half of
the possible gain, since a prefix of the list that contains something better usually contains something much better.

**Readings of w\\*.** With an intercept in the least-squares fit regrets are some ten percent lower on MQ2008 and
almost the same on the generated set; no claim depends on it. The base of the logarithm only scales φ, and with it
all regrets.
""",
    "fig3": """
All claims hold. For α = 1 the agreement of regret and slack is arithmetic: regret minus average slack is w·w\\*/T
after T rounds, and the perceptron's w stays short under noise.

**But the level is not that of the labels alone.** On MQ2008 the weights that three runs ended with had regrets
between 0.07 and 0.32, while the mean of the weights of each run had 0.08 (measured apart from the figure): more
than half of the perceptron's regret under noise is its own restlessness, since its steps never shrink. Averaging
the weights would cut it.
""",
    "fig4": """
Holds: a hundred times fewer updates cost a factor of about four at the end, where √k is ten. On the generated set
the batch size no longer shows in the last tenth of the rounds. The text does not say which k the paper tried.
""",
    "fig5": """
Holds: under noise k = 100 costs some ten percent at the end. The text does not say which k the paper tried.
""",
    "fig6": """
Holds in absolute terms: after many rounds both are below one percent of a random ranking's regret. In relative
terms feedback in expectation costs a factor of 1.2 to 1.5, early and late. Starting from an α = 1 answer instead of
α = 0.5 (which the text has for web search) changes little.
""",
    "fig7": """
**On MQ2008 the SVM is not comparable but better**: after 1,000 rounds its average regret is less than half of the
perceptron's. Without noise and with 46 features a solver that goes back to all pairs finds w\\* quickly, while the
perceptron uses each pair once. On the generated set with 700 features, the paper's shape, the two are comparable,
as printed. The SVM costs hundreds of times as much per round, and so plays fewer rounds here.
""",
    "fig8": """
On MQ2008 the perceptron is ahead over most of the range, as printed. On the generated set the SVM's few rounds and
orders cannot tell: both are still far from their end.
""",
    "fig9": """
**The printed sentence holds on the paper's shape (700 features) and fails on MQ2008 (46 features).** A random
direction in N dimensions has a part of about 1/√N along any useful one, so the bandit's handicap grows with N. With
700 features the perceptron has what the bandit reaches in 28,000 rounds within 100. With 46 features and strict
feedback it needs almost 200. "Orders of magnitude" is true of strict feedback only, where the perceptron's regret
goes to zero: a factor of ten on MQ2008, of forty on the generated set.

**With noisy feedback on MQ2008 the bandit even ends below the perceptron**, which never gets there. The bandit
moves by small steps, and only when its rival wins, so that noise averages out; the perceptron's steps have the size
of Δ for ever (Figure 3). The weights that the bandit ends with are about as good as the *mean* of the perceptron's
weights (0.08 to 0.10, measured apart). So the comparison is also one of step sizes, and only the bandit's were
tuned.

**The 5 × 5 grid has one degree of freedom, not two.** w starts at 0, and rankings do not change when w and u grow
together: only δ/γ counts. Our two lists make 25 different quotients, which is kinder to the bandit than a square
grid.
""",
    "fig11": """
**At first slightly better: yes on MQ2008, too close to call on the generated set. Later comparable: no.** The rate
1/(2S√t) of the experiment makes steps shrink, and that is what helps: the exponentiated curve lies within two
percent of the *convex* perceptron's, which is additive with 1/√t (Figure 13), and ends at about half of the regret
of the additive one. With the fixed rate of Theorem 5 it lies on the additive one, as the paper says. So the figure
compares step sizes rather than additive with multiplicative updates.
""",
    "fig12": """
Under noise the claims hold; see Figure 11 on the rate, which matters less here.
""",
    "fig13": """
**MQ2008 shows the paper's picture**: the second order's cumulative regret is close to a straight line over log T;
the convex perceptron grows like √T and is four times as high at the end, by both measures (with a large M the
quadratic loss is close to a multiple of the utility).

**On the generated set the convex perceptron is ahead**, and most of the regret of both comes in the first 2,000
rounds, after which both lines are nearly straight: so the growth per decade falls, and the verdict is no. The cause
of the order is not the number of features (it is the same with 20 instead of 700) but how even they are: its
features have similar scales and are little correlated. Measured apart from the figure: with features multiplied by
numbers from 0.03 to 1 the second order is ahead on the generated set, too (270 against 560 with 50 features), and
on MQ2008 with whitened features, uncorrelated and of one scale, it falls behind (20 to 30 against 10). A second-
order method pays where features are uneven; those of web search are.

**Readings.** ε is not printed. As long as w stays inside the ball only γ/ε counts: ε = 0.01 with γ = 1 gives the
numbers of γ = 100 with ε = 1. With the step 1/√t, and with the second order, w ends far inside the ball of radius
100. With the step G/√t of the paper of 2012, G the slope of the quadratic loss, w sits on the ball and regret is
several times higher, which is why we take the figure to be of the step 1/√t.
""",
    "fig15": """
**On MQ2008** γ from 0.1 to 10 is good, extremes are bad, and γ = 1 is the best or within the error of the best: as
printed. **On the generated set** the best γ is 0.01 to 0.1, and even that does not get below the convex perceptron
(Figure 13 says why).

There is nothing special about γ = 1: multiplying all features by s is the same as multiplying γ by s² (natural
instead of base-2 logarithms alone make it 2.1), so the best γ depends on the units of the features. What counts is
γ‖Δ‖²/ε, and Δ is longer with 700 features.
""",
    "fig17": """
On MQ2008 nearly identical, as printed (3 % apart). On the generated set the second order is some 20 % behind, as
without noise (Figure 13).
""",
    "lemma3": """
Not an experiment of the paper: the adversary of its proof, played. Every learner has exactly 2/√T.
""",
}
