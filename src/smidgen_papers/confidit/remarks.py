"""What we found, figure by figure, and why a claim fails. The numbers are those of the full run with seed 0."""

VERSIONS = """
The order of the paper comes out, but for versions 2 and 5, and 3 and 4. Algorithm 1 as analysed makes more than
600 mistakes, eq. 11 helps it, and without the projection both widths do better. The paper does not say how the
five features that matter are drawn; we drew them like the other four, independent and normal.

**Version 3 against version 4** is open after ten runs, since version 4 varies much from run to run. In a side run
of a hundred, version 3 is ahead by 14 mistakes (± 13) at the median of the seven values, where the paper has
about 100. With the best value for each, version 4 is ahead by 35 (± 7). So this claim hangs on how the value is
chosen, which the paper does not say.

**Version 2 does not beat version 5.** Full matrices make 214 mistakes at their best value, diagonal ones 220;
the paper has about 300 and 400. In a hundred runs they stay level (0.6 ± 3 at the median). Independent features
have no correlations that a full matrix could know. In the second table the five features are drawn otherwise:
positive ones (uniform in [0, 1]) cost the diagonal version 45 to 50 mistakes more than the full one; correlated
ones 16, which ten runs cannot tell from none (in sixty runs 12 ± 6). The paper's data may have been like that, or
its diagonal version another one. No reading comes near 300 and 400.

**The range of about 30** holds in four of the five versions for the values from 0.001 to 1 (version 4: 44). At
1,000 every version is 115 mistakes and more above its best value, version 2 nearly 300 and more, in every reading
that we tried.
"""

_TABLE_3 = """
**Which reading.** Section 5.1 says that 20 newsgroups is binary, Algorithm 1 asks for vectors of length 1, and
the text does not say after how many epochs Table 3 was measured. The readings table has 19 combinations, each
tuned anew. Word *counts*, *not normalised*, after *ten* epochs, give 19.8, 12.4, 8.2, 50.1 and 11.2 % where the
paper prints 20.0, 13.9, 8.1, 50.5 and 12.4 %. Other words (letters only, compounds, anything between spaces)
change little. Every binary or normalised reading is at least 2.5 times as far away: after ten epochs the binary
ones give the Perceptron 13 %, not 20 %, and Banditron 26 or 27 %, not 51 %. So counts as they are and ten epochs are
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

**What does not**: on Reuters Confidit (2.6 %) is above both perceptrons (1.9 and 1.7 %). That is a matter of the
raw counts: with length 1 they tie (1.65 %, 1.70 and 1.68). The size of the stand-in, 7,077 stories for 685,071, is
not the reason as far as we can see: with 800, 1,600, 3,200 and 6,400 stories to learn from, Confidit with the best
of four η is 0.1, 0.9, 0.8 and 0.9 points above the better perceptron, so that more stories do not bring it closer.

The 2nd-order perceptron beats the Perceptron on 20 newsgroups, loses on the headlines, and ties on the other
three. So it does in the paper's own rows for these five: ahead by 6 points on 20 newsgroups, behind by 2 on NYTS,
within 0.4 points on the rest. Its other three leads are on Enron A, Enron B and NYTD, which cannot be had.

**What stays open**: AROW is lowest on every set, on Reuters by 0.08 points, and ten folds tell half a point there.
On Amazon with three kinds the perceptrons are 0.07 points apart, which is four reviews of 6,000. For either
one would need 35 to 65 times as many documents; more folds of the same ones do not help.

The Amazon rows with four kinds are far below the paper's with seven; dvd and video are among those, and may be
what is hard. Ten folds of one data set share most of their training examples, so all intervals are somewhat too
narrow. Many tuned γ lie at 0.5, the end of the grid.
"""

_NOISE = """
The reading is that of Table 3, where it is told how it was chosen. The notes have the distances from the
printed rows.

The paper's main claim about noise holds on all our sets and under both readings: Confidit's error rises less than
that of both perceptrons, and at 20 and 30 % it has the lowest error of the four. One reason is that a perceptron
takes a whole step for every wrong label, up to the last one before the test. In a side run at 30 % noise we tested
the mean of its weights over the last five epochs: the Perceptron's error falls from 25 to 16 % on Reuters, from 48
to 36 % on 20 newsgroups (two folds), and from 54 to 53 % on the headlines; without noise the mean changes it by 2
points at most. Confidit gains about a point at most. But it is still ahead (15, 26 and 45 % with its last weights),
and the 2nd-order perceptron gains 4 points on Reuters and about 1 or less on the others. So this is a part of the
reason. The rest, we believe, is that Confidit fits a least-squares target, in which a wrong label is one among
many. (Under an earlier reading, binary and one epoch, Confidit lost to the perceptrons on the headlines, which have
2,800 examples for 27 classes.)
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
and 0.1 (three kinds), 1 and 0.3 (four). The held-out error is nearly flat in η: within two points over the whole
grid with three kinds. With four kinds η = 1 is ahead of η = 10 by a single review of 1,600. In a side run with
η = 10 Confidit explored 21,000 times on three kinds (three folds), six times as often as Banditron, instead of 900
times, and its test error was 5.3 % in place of 5.0 %. On four kinds it explored 33,000 times (two folds), twice as
often as Banditron. So the data do not decide this claim.
""",
    4: """
Of the five data sets of this figure only a part of Amazon7 can be had. What is said of Fig. 3 holds here, too.
Confidit's mistakes in later epochs (966 per epoch) are nearly all exploration: its greedy label is wrong 24 times.
""",
    5: """
The perceptrons and Banditron make more mistakes at 30 than at 10 % noise on every set. **Confidit and AROW need
not.**

- *Confidit*, because each noise level has a tuning of its own: on 20 newsgroups it gets η = 1 at 10 % noise and
  η = 0.1 at 20 and 30 %, which explores about half as much. With one η at all three levels its mistakes do rise (a
  side run, first fold): 8,500, 9,100 and 10,100 with η = 0.1, and 12,100, 12,800 and 13,400 with η = 1. On the other
  sets, too, η changes with the noise (Amazon 1, 10, 1; headlines 1, 10, 10; Reuters 1, 100,000, 10), and this moves
  Confidit past its neighbours in the order.
- *AROW* on Reuters has r = 10,000 at all three levels, tuned for the error after ten epochs. Its steps are then so
  short that the first epoch is a slow start with any labels: 373 mistakes without noise (a side run, five folds), 325
  at 30 %. With r = 100, which is tuned without noise, they rise: 255, 402 and 620.

The paper's numbers are read off its curves. Ours are 13 to 22 % lower for the 2nd-order perceptron, and 20 % above
to 18 % below for Confidit. The paper has 252,115 words, we have 170,826; and we train on nine tenths of the posts,
which accounts for at most about a ninth.
""",
    6: """
Without noise all curves but Banditron's flatten: a later epoch has at most 42 % of the first one's mistakes, and
mostly much less. Banditron's fall, too, but less: see Fig. 3. With 20 and 30 % noise all go on at a rate that
changes by less than 30 % between epochs 2–4 and 8–10. Both as in the paper.
""",
    7: """
**The rise from 10 to 30 % does not come out**, because η changes: 1 was tuned at 10 % noise, 0.1 at 20 and 30
%. With η = 0.1 at all three levels (a side run, first fold) Confidit explores 20,100, 27,400 and 35,100 times, next
to the paper's 20,000, 25,000 and 40,000; with η = 1 it is 57,900, 65,400 and 71,700. So exploration does rise with
noise, as long as η stays. The paper itself names the tuned η as a cause. At 10 % noise the held-out errors of η =
0.01, 0.1 and 1 lie within 0.7 points, at 20 % within 0.3, so another split may tune another η.

**With and without noise** it is the same: on three sets a larger η is tuned with noise, and Confidit explores 13 to
41 times as much as without; on 20 newsgroups a smaller one at 20 and 30 %, and it explores a fifth less. With one η
it explores more there, too: 12,500 times without noise for η = 0.1, and 50,600 times for η = 1.
""",
    8: """
The stand-ins are harder than the Vocal Joystick vowels: the tested speaker was never heard, there are only five
others, and the frames are from the middle of words, not from held vowels. The skyline is 71 % for four classes
and one frame, not 90 %. **Many comparisons stay open**, since there is one estimate per speaker, six in all, and
speakers differ by 20 points and more. More repetitions do not help; it would take dozens of speakers.

What is clear: Confidit is above Banditron on all six sets; with eight digits it is above the Perceptron. **Two
statements fail with eight classes.**

- *With one frame Confidit is above the 2nd-order perceptron*, by 8 points, not below it. The classes overlap (the
  skyline has 69 % on its own training frames), so that a perceptron goes on taking whole steps, and is tested with
  wherever the last ones have led. With the mean of its weights over the second half of the pass (a side run) the
  2nd-order perceptron rises from 42 to 48 %, the Perceptron from 44 to 49 %, and Confidit stays at 50 to 51 %.
- *The best online algorithm is level with the skyline.* With seven frames AROW passes it by 2 points. Our skyline is
  softmax regression with a fixed small penalty. More steps do not change it (400 in place of 60); a penalty a
  hundred or a thousand times as large lifts it from 49.2 to 50.8 % and from 55.9 to 57.6 %, to where the best online
  algorithms are, and not above. With seven frames it has 85 % on its training frames: what it lacks is other
  speakers. The paper's PLM is another method, on more speakers.

On the two small vowel sets, with 528 and 760 examples, one pass with one bit is short: Confidit is 4 to 16 points
below the algorithms that see the labels.
""",
}
