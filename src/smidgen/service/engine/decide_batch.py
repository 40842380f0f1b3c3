"""Batches of decisions: many requests in one commit, large ones in steps with turns for other commands in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.engine.budget import Budget
from smidgen.service.engine.context import CommandHandler, EngineContext
from smidgen.service.engine.decide import DecideHandler, PendingDecision, ValidatedRequest, refuse_other_request
from smidgen.service.engine.log_reader import Reply
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import Conflict, Impossible, StorageFailed, Taken
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import BatchBody, DecisionBody

#: A batch of more decisions than ``AT_ONCE`` is decided in steps of ``STEP``.
AT_ONCE, STEP = 1_000, 256


class _ModelChanged(Exception):
    """A model changed while a batch paused."""


class _Basis(NamedTuple):
    """The state that the next decision of a model without keys depends on, and the number of the latest decision."""

    learner: Learner
    number: int
    blueprint: Blueprint
    rewritten: int


class BatchDecideHandler(CommandHandler):
    """Decides on many requests: all of them, or a refusal that names the first bad one.

    Parameters
    ----------
    context
        The dependencies of command handlers.
    decide
        The steps of one decision.
    """

    def __init__(self, context: EngineContext, decide: DecideHandler) -> None:
        super().__init__(context)
        self._decide = decide

    def handle(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """Decide on a list of requests."""
        return next(each for each in self._steps(name, bodies, len(bodies)) if each is not None)

    def handle_body(self, name: str, body: BatchBody) -> list[Reply]:
        """Decide on a list of requests, or on one matrix of which each row is a request."""
        return self.handle(name, self._requests_of(name, body))

    def handle_in_steps(self, name: str, body: BatchBody) -> Callable[[], list[Reply] | None]:
        """Make a command that is called again until it returns the replies; None means that there is more to do."""
        steps: Iterator[list[Reply] | None] | None = None

        def step() -> list[Reply] | None:
            nonlocal steps
            if steps is None:
                bodies = self._requests_of(name, body)
                steps = self._steps(name, bodies, STEP if len(bodies) > AT_ONCE else len(bodies))
            return next(steps)

        return step

    def _requests_of(self, name: str, body: BatchBody) -> list[DecisionBody]:
        """Read the requests of a batch."""
        if (body.decisions is None) == (body.features is None):
            raise Impossible("a batch needs either decisions or features", 'send {"decisions": […]}')
        if body.decisions is not None:
            if body.key is not None:
                raise Impossible("key is given for the whole batch", 'put "key" into each of the decisions')
            if body.id is not None:
                raise Impossible("id is given for the whole batch", 'put "id" into each of the decisions')
            return body.decisions
        model = self._models.get(name, [body.key])
        if not model.blueprint.loop.takes_matrix or body.features is None:
            which = " and ".join(name for name, loop in loops.items() if loop.takes_matrix)
            raise Impossible(f"features for a whole batch work with {which} only", 'send {"decisions": […]}')
        matrix = model.blueprint.loop.vectors.matrix(body.features)
        ids = [None if body.id is None else f"{body.id}.{i}" for i in range(len(matrix))]
        rows = zip(ids, matrix.tolist(), strict=True)
        return [loops.decision(id=id, key=body.key, features=row) for id, row in rows]

    def _model(self, name: str, bodies: list[DecisionBody]) -> ServedModel:
        return self._decide.deciding_model(name, {each for body in bodies for each in (body.key, body.id)})

    def _steps(self, name: str, bodies: list[DecisionBody], size: int) -> Iterator[list[Reply] | None]:
        """Decide on ``size`` requests at a time and yield None in between; the last step writes all and yields replies.

        Feedback may come in between. After any other change of the model the batch starts again, without pauses.
        """
        try:
            yield from self._decide_in_parts(self._model(name, bodies), bodies, size)
        except _ModelChanged:
            yield from self._decide_in_parts(self._model(name, bodies), bodies, len(bodies))

    def _decide_in_parts(
        self, model: ServedModel, bodies: list[DecisionBody], size: int
    ) -> Iterator[list[Reply] | None]:
        basis = self._basis(model) if len(bodies) > size and _can_pause(model, bodies) else None
        ready, budgets = list[ValidatedRequest](), [Budget(each.blueprint.cost) for each in (model, *model.arms)]
        for index, body in enumerate(bodies):
            if basis is not None and index and index % size == 0:
                yield from self._pause(model, basis, 0)
            try:
                ready.append(self._decide.validate(model.shard_for(body.key), body))
                for budget in budgets:
                    budget.spend(ready[-1].context)
            except SmidgenError as error:
                if len(bodies) == 1 or isinstance(error, StorageFailed | Taken):  # of the store, not of this decision
                    raise
                raise _batch_error(error, index) from error
        replies: list[Reply] = []
        pending: list[PendingDecision] = []  # and not written yet
        mine: dict[str, tuple[bytes | None, Reply]] = {}  # requests of this batch by their ids
        now = self._clock()
        for index, request in enumerate(ready):
            if basis is not None and index % size == 0:
                yield from self._pause(model, basis, len(pending))
                now = self._clock()
            try:
                replies.append(request.known or self._decide_one(model, request, mine, pending, now))
                paid = model.blueprint.terms.budget is not None  # the next price depends on what this one costs
                if request.body.chosen is not None or paid or self._learners.is_crowded:
                    self._decide.write(pending)
            except SmidgenError as error:
                if len(bodies) == 1 or isinstance(error, StorageFailed | Taken):  # of the store, not of this decision
                    raise
                raise _batch_error(error, index) from error
        self._decide.write(pending)
        yield replies

    def _decide_one(
        self,
        model: ServedModel,
        request: ValidatedRequest,
        mine: dict[str, tuple[bytes | None, Reply]],
        pending: list[PendingDecision],
        now: float,
    ) -> Reply:
        """Decide on one request of the batch without writing; an id that comes twice has one decision."""
        id = request.body.id
        if id is not None and id in mine:
            hashed, answer = mine[id]
            refuse_other_request(id, hashed, request.digest)
            return answer
        rows, answer = self._decide.decide(model.shard_for(request.body.key), request, now)
        pending.extend(rows)
        if id is not None:
            mine[id] = request.digest, answer
        return answer

    def _basis(self, model: ServedModel) -> _Basis:
        learner = self._learners.get(model, None).learner
        return _Basis(learner, learner.decisions, model.blueprint, model.rewritten)

    def _pause(self, model: ServedModel, basis: _Basis, waiting: int) -> Iterator[None]:
        """Let other commands run. Meanwhile the numbers of the decisions are given back: nothing has been changed."""
        basis.learner.withdraw(basis.number)
        yield None
        if self._model(model.name, []) is not model or model.followers or self._basis(model) != basis:
            raise _ModelChanged
        self._undo.push(basis.learner.withdraw, basis.number)
        basis.learner.reserve(basis.number + waiting)


def _can_pause(model: ServedModel, bodies: list[DecisionBody]) -> bool:
    """Check that decisions change nothing but their count before they are written."""
    alone = not model.keyed and not model.followers and model.hashed is None
    alone = alone and model.blueprint.terms.holdout is None and model.blueprint.terms.budget is None
    return alone and all(body.chosen is None for body in bodies)


def _batch_error(error: SmidgenError, index: int) -> SmidgenError:
    """Name the decision of a batch that was refused."""
    refusal = Conflict if isinstance(error, Conflict) else Impossible
    return refusal(f"decision {index} of the batch: {error.problem}", error.hint)
