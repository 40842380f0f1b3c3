"""Problem instances: joint feature maps and their argmax."""

from smidgen.structures.base import Structure, structured
from smidgen.structures.candidates import Candidates
from smidgen.structures.choice import Choice
from smidgen.structures.drafts import Drafts, Edit
from smidgen.structures.ranking import Clicks, ExtendedRanking, Ranking, from_chain, from_clicks

__all__ = [
    "Candidates",
    "Choice",
    "Clicks",
    "Drafts",
    "Edit",
    "ExtendedRanking",
    "Ranking",
    "Structure",
    "from_chain",
    "from_clicks",
    "structured",
]
