"""Online structured prediction via coactive learning (Shivaswamy and Joachims, ICML 2012): figures 2 to 5.

Its studies stand with those of the longer paper of 2015, `smidgen_papers.coactive`, which repeats and extends them.
Its Figure 1 is Figure 1 there.
"""

from __future__ import annotations

from importlib import import_module

from smidgen_papers.catalogue import Paper, add_figure, add_paper

add_paper(
    Paper(
        "coactive2012",
        "Online structured prediction via coactive learning",
        "P. Shivaswamy, T. Joachims. Online Structured Prediction via Coactive Learning. ICML 2012",
    )
)
add_figure(
    "coactive2012/fig2",
    title="Web search, strict feedback: α = 0.1 and 1",
    shows="Average regret of the preference perceptron for two α over 20 orders of the queries: α = 1 is lower, by "
    "much "
    "less than a factor of ten, and both approach zero.",
)
add_figure(
    "coactive2012/fig3",
    title="Web search, noisy feedback: perceptron and ranking SVM",
    shows="Average regret of the preference perceptron and of a ranking SVM, trained again at every 10 % more pairs, "
    "with "
    "users who go by the labels of the first ten documents: the perceptron is lower over most of the range (30 minutes "
    "against 20 hours of computing), and neither goes to zero.",
)
add_figure(
    "coactive2012/fig4",
    title="Movies, strict feedback",
    shows="Average regret over all test users for several α, 1,500 rounds each: all fall towards zero, faster for "
    "higher α.",
)
add_figure(
    "coactive2012/fig5",
    title="Movies, noisy feedback: perceptron and ranking SVM",
    shows="Average regret of the perceptron and of the ranking SVM when users answer by actual or rounded ratings, one "
    "rating higher: the perceptron is significantly lower.",
)

# The studies need the figures above; they stand in the package of the longer paper.
import_module("smidgen_papers.coactive")
