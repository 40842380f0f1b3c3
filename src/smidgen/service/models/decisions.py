"""Decisions: asked for one by one or many at once, written to the log, told to the app."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.loops.registry import loops
from smidgen.service.messages import BatchBody, DecisionBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.cost import Budget
from smidgen.service.models.making import Maker, Prepared, Unwritten
from smidgen.service.models.served import Served
from smidgen.service.models.whole import Commands, Whole
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store.log import Reply

#: A batch of more decisions than this is worked on in steps of so many, with turns for others in between.
AT_ONCE, STEP = 1_000, 256


class _Moved(Exception):
    """A model changed while a batch paused."""


class _Basis(NamedTuple):
    """What the next decision of a model without keys goes by, and the number of the latest one."""

    learner: Learner
    number: int
    blueprint: Blueprint
    rewritten: int


class Decisions(Commands):
    """The decisions of all models."""

    def __init__(self, whole: Whole) -> None:
        super().__init__(whole)
        self._making = Maker(whole)

    def batch(self, name: str, body: BatchBody) -> list[Reply]:
        """Many decisions: a list of requests, or one matrix of which each row is a request."""
        return self.all(name, self._asked(name, body))

    def all(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """All of the decisions, or a refusal that names the first bad one."""
        return next(each for each in self._steps(name, bodies, len(bodies)) if each is not None)

    def in_steps(self, name: str, body: BatchBody) -> Callable[[], list[Reply] | None]:
        """Many decisions as a command that is given again and again, until it answers: others have turns in between."""
        steps: Iterator[list[Reply] | None] | None = None

        def step() -> list[Reply] | None:
            nonlocal steps
            if steps is None:
                bodies = self._asked(name, body)
                steps = self._steps(name, bodies, STEP if len(bodies) > AT_ONCE else len(bodies))
            return next(steps)

        return step

    def _asked(self, name: str, body: BatchBody) -> list[DecisionBody]:
        """The requests of a batch."""
        if (body.decisions is None) == (body.features is None):
            raise Impossible("a batch has either decisions or features", 'send {"decisions": […]}')
        if body.decisions is not None:
            if body.key is not None:
                raise Impossible("key stands beside the decisions", "give each decision its own key")
            if body.id is not None:
                raise Impossible("id stands beside the decisions", "give each decision its own id")
            return body.decisions
        model = self._models.get(name, [body.key])
        if not model.blueprint.loop.takes_matrix or body.features is None:
            which = " and ".join(name for name, loop in loops.items() if loop.takes_matrix)
            raise Impossible(f"a matrix of decisions is for {which}", 'send {"decisions": […]}')
        matrix = model.blueprint.loop.vectors.matrix(body.features)
        ids = [None if body.id is None else f"{body.id}.{i}" for i in range(len(matrix))]
        rows = zip(ids, matrix.tolist(), strict=True)
        return [loops.decision(id=id, key=body.key, features=row) for id, row in rows]

    def _model(self, name: str, bodies: list[DecisionBody]) -> Served:
        """The model of this name, if it decides; the slots of these keys and ids are entered."""
        model = self._models.get(name, {each for body in bodies for each in (body.key, body.id)})
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived and decides no more", "create another")
        if model.leader is not None:
            raise Conflict(
                f"the model {name!r} stands beside {model.leader.name!r} and decides on its requests only",
                f"ask {model.leader.name!r}, or make a copy: POST /v1/models/{name}:copy",
            )
        return model

    def _steps(self, name: str, bodies: list[DecisionBody], size: int) -> Iterator[list[Reply] | None]:
        """Decide on so many at a time, and give None between; the last step writes all, and gives the replies.

        Feedback may come in between. Whatever else happens to the model lets it begin anew, all at a time.
        """
        try:
            yield from self._parts(self._model(name, bodies), bodies, size)
        except _Moved:
            yield from self._parts(self._model(name, bodies), bodies, len(bodies))

    def _parts(self, model: Served, bodies: list[DecisionBody], size: int) -> Iterator[list[Reply] | None]:
        basis = self._basis(model) if len(bodies) > size and _by_itself(model, bodies) else None
        ready, budgets = list[Prepared](), [Budget(each.blueprint.cost) for each in (model, *model.beside)]
        for index, body in enumerate(bodies):
            if basis is not None and index and index % size == 0:
                yield from self._pause(model, basis, 0)
            try:
                ready.append(self._making.prepare(model.of(body.key), body))
                for budget in budgets:
                    budget.spend(ready[-1].context)
            except SmidgenError as error:
                if len(bodies) == 1:
                    raise
                raise _naming(error, index) from error
        replies: list[Reply] = []
        made: list[Unwritten] = []
        mine: dict[str, tuple[bytes | None, Reply]] = {}  # the same id twice in one batch
        now = self._clock()
        for index, request in enumerate(ready):
            if basis is not None and index % size == 0:
                yield from self._pause(model, basis, len(made))
                now = self._clock()
            try:
                replies.append(
                    request.known or self._making.decide(model.of(request.body.key), request, mine, made, now)
                )
            except SmidgenError as error:
                if len(bodies) == 1:
                    raise
                raise _naming(error, index) from error
        for each in dict.fromkeys(one.model.slot for one in made):
            self._making.write([one for one in made if one.model.slot == each])
        for one in made:
            self._making.teach(one)
        yield replies

    def _basis(self, model: Served) -> _Basis:
        learner = self._learners.get(model, None).learner
        return _Basis(learner, learner.decisions, model.blueprint, model.rewritten)

    def _pause(self, model: Served, basis: _Basis, made: int) -> Iterator[None]:
        """Let others have a turn. Meanwhile the numbers of the decisions are given back: nothing has been changed."""
        basis.learner.withdraw(basis.number)
        yield None
        if self._model(model.name, []) is not model or model.followers or self._basis(model) != basis:
            raise _Moved
        self._undo.note(basis.learner.withdraw, basis.number)
        basis.learner.reserve(basis.number + made)


def _by_itself(model: Served, bodies: list[DecisionBody]) -> bool:
    """Whether decisions change nothing but the count of them before they are written."""
    alone = not model.keyed and not model.followers and model.hashed is None
    return alone and all(body.chosen is None for body in bodies)


def _naming(error: SmidgenError, index: int) -> SmidgenError:
    """A refusal of one of several decisions says which."""
    refusal = Conflict if isinstance(error, Conflict) else Impossible
    return refusal(f"decision {index} of the batch: {error.problem}", error.hint)
