"""The paper on Confidit."""

from smidgen_papers.catalogue import Paper, add_paper

PAPER = Paper(
    "confidit",
    "Multiclass classification with bandit feedback using adaptive regularization",
    "K. Crammer, C. Gentile. Machine Learning 90:347–383, 2013",
)

add_paper(PAPER)
