"""What coactive learners are set to, for compiled rounds."""

from __future__ import annotations

from typing import Any

from smidgen.errors import InvalidArgument
from smidgen.geometry.polytope import BALL
from smidgen.learners.coactive import Coactive, DuelingBandit
from smidgen.learners.coactive.dueling_bandit import Duel
from smidgen.optim.program import program_of
from smidgen.optim.rule import ADDITIVE, Program


def forms_of(learner: Any) -> tuple[Program, Duel]:
    """The program of a learner's rule, or its duels; a refusal if its rounds are not compiled."""
    if isinstance(learner, DuelingBandit):
        return Program(ADDITIVE), learner.duel()
    if not isinstance(learner, Coactive):
        raise InvalidArgument(f"the learner is a {type(learner).__name__}", "give a coactive learner")
    program = program_of(learner.rule)
    if program is None or program.region.kind != BALL:
        raise InvalidArgument(f"the rule {learner.rule!r} is not compiled", "play it with smidgen.simulate")
    return program, Duel(False)
