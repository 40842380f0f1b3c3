"""Problem instances: joint feature maps and their argmax."""

from smidgen.structures.choice import Choice
from smidgen.structures.clicks import from_chain, from_clicks
from smidgen.structures.ranking import ExtendedRanking, Ranking

__all__ = ["Choice", "ExtendedRanking", "Ranking", "from_chain", "from_clicks"]
