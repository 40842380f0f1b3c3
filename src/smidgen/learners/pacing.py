"""Budgets: a limit on what decisions may cost on average, the price that keeps to it, and estimates of costs.

Each decision is paid with the cost of what was chosen. What is paid above the limit raises the price λ of a currency,
and what is paid below it lowers the price: λ ← clip(λ + .02·(cost/limit − 1), 0, 50). A learner takes λ·g off the score
of each candidate, where g = log(1 + c/limit) − log(1 + c_min/limit) over the candidates of the request: 0 for the
cheapest. So the cheapest candidate is never excluded, and a budget that nobody can meet gets the cheapest.

Costs that are not known before the choice are estimated from those that were reported: the logarithm of a cost is the
mean of its candidate plus a ridge regression on the features (`smidgen._core.budget`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen import checks, serialization
from smidgen._core import budget as core
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, InvalidFeedback, InvalidRecord
from smidgen.features import Rows
from smidgen.serialization import structure
from smidgen.state.sqrt_ridge import CandidateArrays, candidate_arrays
from smidgen.structures.choice import LARGEST_COST, check_cost

Mask = NDArray[np.bool_]
#: Maximum number of currencies of a budget.
MOST_CURRENCIES = 8
#: The highest price: the cheapest candidate wins.
HIGHEST_PRICE = 50.0
#: Where things stand in the numbers of a currency (_core/budget.cpp), and how many there are.
PRICE, PAID, SPENT, NEXT, LATEST, NUMBERS = 0, 1, 2, 3, 10, 210
#: Places for candidates in the table of costs; names share them.
PLACES = 1024
_NO_NAMES: NDArray[np.uint32] = np.empty(0, np.uint32)
_NO_COSTS: FloatArray = np.empty(0)
_NO_COLUMNS: FloatArray = np.empty((0, 2))


@structure("smidgen.Budget")
class Budget:
    """Limits on the mean cost of decisions.

    Parameters
    ----------
    limits
        The mean cost per decision by currency, e.g. ``{"usd": 0.001}``. Any name is a currency; one budget has up to 8.

    Notes
    -----
    Give it to a learner of the choose loop that learns from rewards: ``LinUCB(dim=8, budget=Budget({"usd": 0.001}))``.
    Its `decide` then moves the price of each currency by the cost of what it chose; `predict` leaves prices alone.
    Candidates tell their costs (`Choice`, `Candidates`: ``costs``), or the costs
    are reported after the decision: ``learn(decision, reward, costs={"usd": 0.0012})``, or ``learn_costs``.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> models = smidgen.Choice(np.eye(3), costs={"usd": [0.001, 0.004, 0.02]})
    >>> learner = smidgen.LinUCB(dim=3, budget=smidgen.Budget({"usd": 0.003}))
    >>> spent = []
    >>> for _ in range(2000):
    ...     d = learner.decide(models)
    ...     spent.append(d.costs["usd"][d.action])
    ...     learner.learn(d, [0.6, 0.8, 0.9][d.action])
    >>> float(round(sum(spent[500:]) / 1500, 4))
    0.003
    """

    def __init__(self, limits: Mapping[str, float], /) -> None:
        hint = 'give the mean cost per decision by currency, e.g. Budget({"usd": 0.001})'
        if not isinstance(limits, Mapping) or not limits:
            raise InvalidArgument(f"the limits of a budget are {limits!r}", hint)
        if len(limits) > MOST_CURRENCIES:
            raise InvalidArgument(f"there are {len(limits)} currencies", f"give at most {MOST_CURRENCIES}")
        found: dict[str, float] = {}
        for name, limit in limits.items():
            if not isinstance(name, str) or not 0 < len(name) <= 64:
                raise InvalidArgument(f"a currency is {name!r}", "name it with 1 to 64 letters")
            if isinstance(limit, Mapping):
                raise InvalidArgument(
                    f"the limit of {name} is {limit!r}", "give a mean cost per decision; only the service has a clock"
                )
            found[name] = checks.number(f"limit of {name}", limit, "give a number > 0", above=0.0, at_most=LARGEST_COST)
        self.limits = found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Budget) and other.limits == self.limits

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.limits.items())))

    def __repr__(self) -> str:
        return f"Budget({self.limits!r})"

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild it."""
        return {"limits": dict(self.limits)}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Budget:
        """Rebuild from `to_record`."""
        return cls(fields["limits"])


class Quote(NamedTuple):
    """Costs of the candidates of one request, and the penalties that follow.

    Attributes
    ----------
    costs
        By currency, the cost of each candidate: as given, or estimated.
    penalty
        What is taken off each score: the sum of λ·g over the currencies.
    shares
        The part of the floor of each candidate, in proportion to 1/cost; they add up to 1.
    """

    costs: dict[str, FloatArray]
    penalty: FloatArray
    shares: FloatArray


class _Account:
    """One currency: its price, what was spent, and what candidates cost."""

    __slots__ = ("columns", "numbers", "places")

    def __init__(self, dim: int) -> None:
        self.numbers: FloatArray = np.zeros(NUMBERS)
        self.places: FloatArray = np.zeros((PLACES, 2))
        self.columns: FloatArray = np.zeros((dim, 2)) if dim else _NO_COLUMNS
        self.columns[:, 1:] = 1.0

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.numbers, self.places, self.columns


class Pacer:
    """The prices of a budget as decisions are paid, and estimates of costs.

    Parameters
    ----------
    limits
        The mean cost per decision, by currency. They may be changed (`limit_to`).
    dim
        Number of features from which costs are estimated; with 0 the means of the candidates are used.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.features import as_rows
    >>> from smidgen.learners.pacing import Pacer
    >>> pacer, rows = Pacer({"usd": 1.0}, 2), as_rows(np.eye(2), "items")
    >>> for _ in range(10):
    ...     pacer.pay({"usd": 2.0})
    >>> {name: round(price, 2) for name, price in pacer.prices.items()}
    {'usd': 0.2}
    >>> found = pacer.quote(rows, np.empty(0, bool), {"usd": np.array([1.0, 4.0])})
    >>> found.penalty.round(2).tolist(), found.shares.round(2).tolist()
    ([0.0, 0.2], [0.8, 0.2])
    """

    def __init__(self, limits: Mapping[str, float], dim: int) -> None:
        self._dim = dim
        self.limits: dict[str, float] = {}
        self._accounts: dict[str, _Account] = {}
        self.limit_to(limits)

    def limit_to(self, limits: Mapping[str, float]) -> None:
        """Go on with other limits; a currency that stays keeps its price and its estimates."""
        self.limits = {name: float(limits[name]) for name in sorted(limits)}
        self._accounts = {name: self._accounts.get(name) or _Account(self._dim) for name in self.limits}

    @property
    def prices(self) -> dict[str, float]:
        """The price of each currency."""
        return {name: float(account.numbers[PRICE]) for name, account in self._accounts.items()}

    @property
    def paid(self) -> int:
        """Number of decisions that were paid."""
        return max((int(account.numbers[PAID]) for account in self._accounts.values()), default=0)

    def figures(self) -> dict[str, dict[str, float | None]]:
        """By currency: the limit, the mean of all decisions, that of the last 200, and the price."""
        found: dict[str, dict[str, float | None]] = {}
        for name, account in self._accounts.items():
            numbers, limit = account.numbers, self.limits[name]
            many, latest = numbers[PAID], int(min(numbers[PAID], NUMBERS - LATEST))
            mean = float(numbers[SPENT] / many) if many else None
            recent = float(numbers[LATEST:].sum() / latest) if latest else None
            found[name] = {"limit": limit, "mean": mean, "recent": recent, "price": float(numbers[PRICE])}
        return found

    def quote(self, rows: Rows, mask: Mask, known: Mapping[str, FloatArray] | None) -> Quote:
        """Costs, prices and shares of the floor of some candidates; changes nothing."""
        K, offer, names = rows.shape[0], rows.offer or candidate_arrays(rows), rows.arms
        penalty, shares, costs = np.zeros(K), np.zeros(K), {}
        for name, account in self._accounts.items():
            costs[name] = out = np.empty(K)
            given = _NO_COSTS if known is None else known.get(name, _NO_COSTS)
            core.quote(account.parts, names, mask, offer, given, self.limits[name], out, penalty, shares)
        core.share_floor(shares, mask)
        return Quote(costs, penalty, shares)

    def pay(self, costs: Mapping[str, float]) -> None:
        """Pay a decision: the prices move."""
        for name, account in self._accounts.items():
            core.pay(account.numbers, float(costs.get(name, 0.0)), self.limits[name])

    def pay_rest(self, rest: Mapping[str, float]) -> None:
        """Pay the difference between what was reported and what was paid."""
        for name, more in rest.items():
            if name in self._accounts:
                core.pay_rest(self._accounts[name].numbers, float(more), self.limits[name])

    def report(self, rows: Rows, decision: Decision, costs: Mapping[str, float]) -> None:
        """Take what a decision has cost instead of what was paid for it, and learn from it."""
        paid = decision.costs_of_action()
        self.pay_rest({name: cost - paid.get(name, 0.0) for name, cost in costs.items()})
        self.learn_action(rows, decision, costs)

    def learn_action(self, rows: Rows | None, decision: Decision, costs: Mapping[str, float]) -> None:
        """Learn what a decision has cost; with several slots each had its share, as it was expected."""
        if (actions := decision.actions) is None:
            self.learn(rows, int(decision.action), costs)
            return
        paid, known, many = decision.costs_of_action(), decision.costs or {}, len(actions)
        K = 0 if rows is None else rows.shape[0] // many
        for i, action in enumerate(actions):
            part = {
                name: cost * (float(known[name][i, action]) / paid[name] if paid.get(name) else 1.0 / many)
                for name, cost in costs.items()
            }
            self.learn(rows, i * K + action, part)

    def learn(self, rows: Rows | None, action: int, costs: Mapping[str, float]) -> None:
        """Learn what a candidate has cost; without rows by nothing but the mean."""
        offer: CandidateArrays = _NOTHING if rows is None else rows.offer or candidate_arrays(rows)
        names = _NO_NAMES if rows is None else rows.arms
        for name, cost in costs.items():
            if (account := self._accounts.get(name)) is not None:
                parts = account.parts if rows is not None else (account.numbers, account.places, _NO_COLUMNS)
                core.learn_cost(parts, names, offer, action, float(cost))

    def forget_columns(self) -> None:
        """Forget the estimates by features, whose columns have other meanings now."""
        for account in self._accounts.values():
            account.columns[:, 0], account.columns[:, 1] = 0.0, 1.0

    def check(self, costs: Any) -> dict[str, float]:
        """Check costs that are reported."""
        return check_costs(costs, self.limits)

    # As bytes

    def to_bytes(self) -> bytes:
        """All that is remembered."""
        accounts = {}
        for name, account in self._accounts.items():
            met = np.flatnonzero(account.places[:, 0])
            used = np.flatnonzero((account.columns[:, 0] != 0.0) | (account.columns[:, 1] != 1.0))
            accounts[name] = [
                account.numbers,
                met.astype(np.uint32),
                account.places[met],
                used.astype(np.uint32),
                account.columns[used],
            ]
        return serialization.encode([FORM, self._dim, accounts])

    def restore(self, content: bytes) -> None:
        """Take over what `to_bytes` gave, of the currencies that this budget has."""
        hint = "give what Learner.save wrote"
        try:
            form, dim, accounts = serialization.decode(content)
            if form != FORM or dim != self._dim:
                raise InvalidRecord(f"the state of the budget has the form {form} and {dim} features", hint)
            for name, (numbers, met, places, used, columns) in accounts.items():
                if (account := self._accounts.get(name)) is None:
                    continue
                sound = numbers.shape == (NUMBERS,) and bool(np.isfinite(numbers).all()) and numbers[NEXT] >= 0.0
                if not sound or not numbers[NEXT] < NUMBERS - LATEST or not 0.0 <= numbers[PRICE] <= HIGHEST_PRICE:
                    raise InvalidRecord("the state of the budget is damaged", hint)
                account.numbers[:] = numbers
                account.places[met], account.columns[used] = places, columns
        except (ValueError, TypeError, IndexError, AttributeError, *serialization.UNREADABLE) as error:
            raise InvalidRecord(f"the state of the budget cannot be read: {error}", hint) from error


class QuotingPacer(Pacer):
    """A pacer with the prices and estimates of another one, which alone is paid."""

    def __init__(self, source: Pacer) -> None:
        self._dim, self.limits, self._accounts = source._dim, source.limits, source._accounts

    def pay(self, costs: Mapping[str, float]) -> None:
        """Pay nothing."""


#: The form of the bytes.
FORM = 1
_NOTHING: CandidateArrays = (np.empty(0, np.uint32), np.empty(0), np.zeros(2, np.int64))


def check_costs(costs: Any, currencies: Mapping[str, Any]) -> dict[str, float]:
    """Check costs that are reported: finite numbers ≥ 0 by currency."""
    if not isinstance(costs, Mapping) or not costs:
        raise InvalidFeedback(f"costs is {checks.shown(costs)}", 'give an amount by currency, e.g. {"usd": 0.0012}')
    found: dict[str, float] = {}
    for name, cost in costs.items():
        if name not in currencies:
            raise InvalidFeedback(f"costs has the unknown currency {name!r}", checks.suggest(name, currencies))
        found[name] = check_cost(f"costs.{name}", cost)
    return found
