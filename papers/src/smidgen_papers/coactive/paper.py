"""The paper and its eighteen figures: what each of them shows. Their studies stand in the other files."""

from __future__ import annotations

from smidgen_papers.catalogue import Paper, add_figure, add_paper

#: Figures 1 to 18: what is varied, and what the paper's figure shows.
FIGURES: dict[str, tuple[str, str]] = {
    "fig1": (
        "Clicks as better rankings: gains in DCG",
        "The distribution of DCG@10 of the ranking inferred from a chain's clicks minus that of the ranking shown, "
        "for a "
        "user study (16 students, 10 questions, 2.2 queries and 1.8 clicks per chain): shown as Google had it, "
        "reversed, "
        "with the first two swapped, and overall. Printed: some 60 % of the differences are positive, some 10 % "
        "negative, "
        "some 30 % zero, and 88 % of the zeros have an unchanged ranking.",
    ),
    "fig2": (
        "Strong and weak feedback: α = 0.1, 0.5, 1",
        "Average regret of the preference perceptron under strictly α-informative feedback, for three α; web search "
        "left, "
        "movies right. All curves fall towards zero within tens to hundreds of rounds; α = 1 lies lowest, by far less "
        "than a factor of ten, and the curves lie closer together for web search.",
    ),
    "fig3": (
        "Noisy feedback",
        "Average regret under noisy feedback: web search with users who inspect 10 or 25 documents and go by relevance "
        "labels (left), movies with better and best feedback by rounded ratings (right). For web search the curves "
        "level "
        "off above zero, the one of depth 25 slightly higher.",
    ),
    "fig4": (
        "Batch updates, strict feedback",
        "Average regret of the batch perceptron for several batch sizes k under strictly α-informative feedback (α = "
        "0.5); "
        "smaller k falls faster, but by much less than √k.",
    ),
    "fig5": ("Batch updates, noisy feedback", "The same as Figure 4 under noisy feedback."),
    "fig6": (
        "Feedback that is informative in expectation only",
        "Average regret when the user sometimes answers with a random object, so that feedback is 0.5-informative in "
        "expectation, next to the deterministic user: hardly a difference after many rounds, and both go to zero.",
    ),
    "fig7": (
        "Perceptron and ranking SVM, strict feedback",
        "Average regret of the perceptron and of a ranking SVM that is trained again whenever its pairs are 10 % more: "
        "about the same for web search, the perceptron far ahead for movies.",
    ),
    "fig8": (
        "Perceptron and ranking SVM, noisy feedback",
        "The same as Figure 7 under noisy feedback: the perceptron is ahead over most of the range on both data sets.",
    ),
    "fig9": (
        "Perceptron and dueling bandit, web search",
        "Average regret of the perceptron and of the dueling bandit whose two parameters are the best of a 5 × 5 "
        "grid in "
        "hindsight; strict feedback left, noisy right. What the bandit reaches in 28,000 rounds the perceptron has in "
        "fewer than 100.",
    ),
    "fig10": (
        "Perceptron and dueling bandit, movies",
        "The same for movies, where the bandit shows two movies and hears which one is better; the bandit is far "
        "behind.",
    ),
    "fig11": (
        "Exponentiated and additive updates, strict feedback",
        "Average regret of both under strictly α-informative feedback, web search left, movies right: the "
        "exponentiated "
        "one is slightly ahead at first, later they are about the same.",
    ),
    "fig12": ("Exponentiated and additive updates, noisy feedback", "The same as Figure 11 under noisy feedback."),
    "fig13": (
        "First and second order, cumulative regret, web search",
        "Cumulative regret, by the quadratic loss and by utility, of the convex perceptron and the second-order "
        "perceptron "
        "over log t, radius 100, strict feedback. The second-order curve is a straight line over log t, the "
        "first-order "
        "one bends upwards.",
    ),
    "fig14": ("First and second order, cumulative regret, movies", "The same as Figure 13 for movies."),
    "fig15": (
        "Sensitivity to γ, web search",
        "Regret of the second-order perceptron after given numbers of rounds over γ, with dotted lines for the convex "
        "perceptron: a wide range of γ does well, the extremes do not, γ = 1 is best among those tried.",
    ),
    "fig16": (
        "Sensitivity to γ, movies",
        "The same as Figure 15 for movies, with a narrower range of good γ; again γ = 1 is best.",
    ),
    "fig17": (
        "First and second order under noise, web search",
        "Regret of the convex and the second-order perceptron under noisy feedback: nearly the same.",
    ),
    "fig18": (
        "First and second order under noise, movies",
        "The same as Figure 17 for movies, with some advantage of the second order.",
    ),
    "lemma3": (
        "Lemma 3: no learner can do better than 1/√T",
        "Not a figure: the proof of Lemma 3 plays T new axes against a learner and always wants the other side. Every "
        "coactive learner then has an average regret of order 1/√T, although all feedback is 1-informative.",
    ),
}

add_paper(
    Paper(
        "coactive",
        "Coactive learning",
        "P. Shivaswamy, T. Joachims. Coactive Learning. Journal of Artificial Intelligence Research 53, 2015, 1-40",
    )
)
for _name, (_title, _shows) in FIGURES.items():
    add_figure(
        f"coactive/{_name}",
        title=_title,
        shows=_shows,
    )
