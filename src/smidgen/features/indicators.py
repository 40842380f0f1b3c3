"""Indicators: the features that say that a number is absent. They are in a record because others sent that number."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from smidgen.features.book import bounded
from smidgen.features.crossing import SIGN

_CUT = "…#"  # stands in names that were longer


def indicator(path: str) -> str:
    """The name of the feature that says that a number is absent."""
    return f"{path} (missing)"


class Indicators:
    """The indicators of some numbers, and their crosses.

    Parameters
    ----------
    paths
        The numbers.

    Examples
    --------
    >>> from smidgen.features.indicators import Indicators
    >>> found = Indicators(["context.pay"])
    >>> [found.has(name) for name in ("context.pay (missing)", "context.pay (missing) × id=a", "context.pay", "id=a")]
    [True, True, False, False]
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._names = frozenset(map(indicator, paths))

    def __bool__(self) -> bool:
        return bool(self._names)

    def has(self, name: str, partners: Callable[[], Iterable[str]] = tuple) -> bool:
        """Whether a name is one of them, or a cross of one.

        ``partners`` gives names that it may be a cross with: of a long cross only a part and a digest are kept.
        """
        if name in self._names:
            return True
        for own in self._names:
            if name.startswith(own + SIGN) or name.endswith(SIGN + own):
                return True
        if _CUT not in name:
            return False
        crosses = ((own + SIGN + other, other + SIGN + own) for own in self._names for other in partners())
        return any(name in map(bounded, both) for both in crosses)
