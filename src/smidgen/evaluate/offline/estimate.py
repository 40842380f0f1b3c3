"""An estimate with an interval that may be looked at as often as one likes."""

from __future__ import annotations

from dataclasses import dataclass

from smidgen.records import structure


@structure
@dataclass(frozen=True)
class Estimate:
    """A mean, and the interval in which the true one lies with probability 1 − α, at all times at once.

    Attributes
    ----------
    value
        The estimate.
    low, high
        The ends of the interval. Where ``enough`` is False they are those of the whole range.
    effective
        How many rounds the estimate is worth: (Σw)²/Σw² for weights w, their number without.
    n
        Rounds.
    enough
        Whether there are terms enough for an interval: weighted ones need 30 that are not zero. Show nothing before.
    """

    value: float
    low: float
    high: float
    effective: float
    n: int
    enough: bool = True

    def __str__(self) -> str:
        if not self.enough:
            return f"not enough yet ({self.n} rounds, worth {self.effective:.0f})"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}; {self.n} rounds, worth {self.effective:.0f})"
