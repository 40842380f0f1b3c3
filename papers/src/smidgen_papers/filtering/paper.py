"""The paper."""

from __future__ import annotations

from smidgen_papers.catalogue import Paper, add_paper

add_paper(
    Paper(
        "filtering",
        "Margin-based algorithms for information filtering",
        "N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-Based Algorithms for Information Filtering. NIPS 15, 2003",
    )
)
