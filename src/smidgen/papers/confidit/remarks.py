"""What we found, figure by figure, and why a claim fails. The numbers are those of the full run with seed 0."""

VERSIONS = """
The order of the paper comes out, but for versions 2 and 5. Algorithm 1 as analysed makes more than 600
mistakes, eq. 11 helps it, and without the projection both widths do better. Whether version 3 beats version 4,
ten runs cannot tell. The paper does not say how the five features that matter are drawn; we drew them like the
other four, independent and normal.

**Version 2 does not beat version 5.** Full matrices make 214 mistakes at their best value, diagonal ones 220;
the paper has about 300 and 400. Independent features have no correlations that a full matrix could know. In the
second table the five features are drawn otherwise: positive ones (uniform in [0, 1]) cost the diagonal version
about 50 mistakes more than the full one; correlated ones 16, which ten runs cannot tell from none. The paper's
data may have been like that, or its diagonal version another one. No reading comes near 300 and 400.

**The range of about 30** holds in four of the five versions for the values from 0.001 to 1. Beyond that every
version loses a hundred mistakes and more, version 2 more than 300, in every reading that we tried.
"""

_TABLE_3 = """
**Which reading.** Section 5.1 says that 20 newsgroups is binary, Algorithm 1 asks for vectors of length 1, and
the text does not say after how many epochs Table 3 was measured. The readings table has 19 combinations, each
tuned anew. Word *counts*, *not normalised*, after *ten* epochs, give 19.8, 12.4, 8.2, 50.1 and 11.2 % where the
paper prints 20.0, 13.9, 8.1, 50.5 and 12.4 %. Other words (letters only, compounds, anything between spaces)
change little. Every binary or normalised reading is at least 2.5 times as far away: after ten epochs the binary
ones give the Perceptron 13 %, not 20 %, and Banditron 26 %, not 51 %. So counts as they are and ten epochs are
the main reading of all tables and figures on texts. The letter of the text (1s for 20 newsgroups, length 1, ten
epochs) stands beside it in Tables 3–6, and each claim on them says how it fares there.

**How it was chosen.** By the distance from the printed numbers of 20 newsgroups: first Table 3, then Tables
4–6, which agreed. It was the third main reading that we tried. The first was length 1, the second binary as
they are, tested after one epoch, and for the second one the claims on Figs. 3–7 and Tables 4 and 5 had been
evaluated, 19 of them, before we changed. The change turned four verdicts from failing to holding (no clear
order, flat without noise, steady in noise, best of four at 20 and 30 % noise) and three from holding to failing
(more exploration on Amazon; more with more noise on 20 newsgroups; as much or more with noise). Those seven
depend on the reading; the other twelve do not. The reading with the printed diagonal rule is closer by a hair
(0.046, ours 0.050); we kept the residual form.

**The diagonal rule.** On counts as they are, after ten epochs, step 8 to the letter (11.4 %) and the residual
form (11.2 %) are alike. On vectors of length 1 the letter gives 39 to 42 % after ten epochs and the residual
form 10 to 11 %. The letter moves each weight towards the sign on its own, whatever the other words of the post
say already; why that does no harm on raw counts we did not find out.

**What holds**: Confidit is below Banditron on all our sets, and below both perceptrons, which see the labels,
on 20 newsgroups, Amazon with four kinds, and the headlines. α = 1 is best.

**What does not**: on Reuters Confidit (2.6 %) is above both perceptrons (1.9 and 1.7 %). The stand-in has 7,077
stories, the paper's set 685,071; with length 1 they tie. The 2nd-order perceptron beats the Perceptron on 20
newsgroups, loses on the headlines, and ties on the other three. AROW is lowest on every set, on Reuters by too
little for ten folds to tell.

The Amazon rows with four kinds are far below the paper's with seven; dvd and video are among those, and may be
what is hard. Ten folds of one data set share most of their training examples, so all intervals are somewhat too
narrow. Many tuned γ lie at 0.5, the end of the grid.
"""

_NOISE = """
The reading is that of Table 3, where it is told how it was chosen. The notes have the distances from the
printed rows.

The paper's main claim about noise holds on all our sets and under both readings: Confidit's error rises less
than that of both perceptrons, and at 20 and 30 % it has the lowest error of the four. A likely reason, which we
did not test: a perceptron takes a whole step for every wrong label, in every epoch, while Confidit fits a
least-squares target, in which a wrong label is one among many. (Under an earlier reading, binary and one epoch,
Confidit lost to the perceptrons on the headlines, which have 2,800 examples for 27 classes.)
"""

TABLES = {3: _TABLE_3, 4: _NOISE, 5: _NOISE, 6: _NOISE}

FIGURES = {
    3: """
AROW makes the fewest mistakes and Banditron the most on every set. The other three have no fixed order. Outside
Amazon Confidit explores less than Banditron, and its exploration falls (on the headlines with small rises in
between).

**Banditron does get better.** Later epochs have 84 % of the first epoch's mistakes on 20 newsgroups and the
headlines, and 45 to 65 % on the other sets. Its exploration does not fall, and that part of its mistakes stays:
with γ = 0.5, tuned on 20 newsgroups, 47 % of the labels shown are not the greedy ones. The greedy label gets
better in any case: on 20 newsgroups it is wrong 14,400 times in the first epoch and 9,400 times in a later one.

**Amazon.** The paper sees Confidit explore more than Banditron there. That hangs on the tuned η and γ, here 0.1
and 0.1 (three kinds), 1 and 0.3 (four). The held-out error is nearly flat in η: within two points from 0.001 to
1000 with three kinds. In a side run on the same vectors, tuned for the error after one epoch, η = 10 came out,
and Confidit explored 21,000 times on three kinds, twice as often as Banditron, instead of 900 times. So the
data do not decide this claim.
""",
    4: """
Of the five data sets of this figure only a part of Amazon7 can be had. What is said of Fig. 3 holds here, too.
""",
    5: """
The perceptrons make more mistakes with more noise on every set. **Confidit and AROW need not**, because each
noise level has a tuning of its own: on 20 newsgroups Confidit gets η = 1 at 10 % noise and η = 0.1 at 20 and 30
%, which explores half as much. This also moves Confidit past its neighbours in the order. The paper's numbers
are read off its curves. Ours are 13 to 22 % lower for the 2nd-order perceptron, and 20 % above to 18 % below
for Confidit. The paper has 252,115 words, we have 170,826; and we train on nine tenths of the posts, which
accounts for at most about a ninth.
""",
    6: """
Without noise all curves but Banditron's flatten; with 30 % noise all go on at a rate that changes by less than
a third between epochs 2–4 and 8–10. Both as in the paper.
""",
    7: """
**The rise from 10 to 30 % does not come out**, because η changes: 1 was tuned at 10 % noise, 0.1 at 20 and 30
%. From 20 to 30 %, with one η, exploration rises from 27,000 to 34,000 (the paper: 25,000 to 40,000). The paper
itself names the tuned η as a cause. At 10 % noise the held-out errors of η = 0.01, 0.1 and 1 lie within 0.6
points, so another split may tune another η. In a side run (binary, tuned after one epoch) η = 1 came out at
every level, and exploration rose from 27,000 to 37,000 and 46,000. With noise Confidit explores many times as
much as without on three sets, and a fifth less on 20 newsgroups, for the same reason.
""",
    8: """
The stand-ins are harder than the Vocal Joystick vowels: the tested speaker was never heard, there are only five
others, and the frames are from the middle of words, not from held vowels. The skyline is 71 % for four classes
and one frame, not 90 %. With one estimate per speaker, six in all, many comparisons stay open.

What is clear: Confidit is above Banditron on all six sets; with eight digits it is above the Perceptron. **Two
statements fail with eight classes.** With one frame Confidit is above the 2nd-order perceptron, by 8 points,
not below it. With seven frames AROW passes the skyline by 2 points. But our skyline is weak: softmax regression
with a fixed small penalty and at most 60 steps, while the online algorithms are tuned; the paper's PLM is
another method. On the two small vowel sets, with 528 and 760 examples, one pass with one bit is short: Confidit
is far below the algorithms that see the labels.
""",
}
