"""What stands in place of a paper: the comparison of our own learners with those of the papers."""

from __future__ import annotations

from smidgen_papers.catalogue import Paper, add_paper

add_paper(
    Paper(
        "beyond",
        "Beyond the papers",
        "Learners that are not in the five papers, on the papers' data and with people who are less than ideal",
        page=False,  # the documentation has pages of its own about these
    )
)
