"""Problem instances: joint feature maps and their argmax."""

from smidgen.structures.candidates import Candidates
from smidgen.structures.choice import Choice
from smidgen.structures.clicks import Clicks, from_chain, from_clicks
from smidgen.structures.drafts import Drafts
from smidgen.structures.edit import Edit
from smidgen.structures.ranking import ExtendedRanking, Ranking
from smidgen.structures.structure import Structure, structured

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
