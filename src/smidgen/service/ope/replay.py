"""A replay shared out by learner, or by key, and joined to what one process would say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from smidgen.checks import suggest
from smidgen.errors import InvalidArgument
from smidgen.evaluate.position_bias import Examination
from smidgen.jobs import Task, answers
from smidgen.jobs import backend as place_of_work
from smidgen.learners import Feedback, Loop, recommended
from smidgen.service.loops.evaluate_budgets import BUDGET
from smidgen.service.loops.evaluate_clicks import ClickedPages
from smidgen.service.ope import parallel, tables
from smidgen.service.ope.parallel import Part, Piece, by_key, by_learner
from smidgen.service.ope.sources import OTHERS, files_of, kind_of, merge_observations, open_log
from smidgen.service.ope.whatif import WhatIf, results_of, start_replay
from smidgen.service.storage.address import Place, parse_address

#: This many events times learners are about a second of work, which justifies a process.
WORTH = 20_000


def replay(
    log: str,
    learners: Sequence[str],
    *,
    data: Place | str,
    backend: str = "processes",
    jobs: int = 1,
    split: str = "auto",
    examined: Sequence[float] | None = None,
    modules: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> WhatIf:
    """Replay a log through other learners, in as many pieces as can be done at a time.

    The answer is the same whatever the backend and the split, to the last bit.

    Parameters
    ----------
    log
        Files, a folder of files, or a model's name.
    learners
        Other learners, as people write them.
    data
        The service's data folder or database, for a model's name.
    backend, jobs
        Who does the work (`smidgen.jobs`), and how many pieces at a time, at most: a piece is worth a second.
    split
        ``"learner"``: each piece reads the whole log for some of the learners. ``"key"``: for all learners, but only
        some keys of a keyed model. ``"auto"``: by learner, if there are at least as many learners as jobs, or no keys.
    examined
        Of rankings: how likely each place is looked at.
    modules
        Modules with learners of plugins, by name.
    progress
        Called with how many events were read, and how many there are, over all pieces.

    Returns
    -------
    WhatIf
    """
    if split not in ("auto", "learner", "key"):
        raise InvalidArgument(f"split is {split!r}, which is not known", suggest(split, ("auto", "learner", "key")))
    if (files := files_of(Path(log))) and {kind_of(each) for each in files} == {"table"}:
        if examined is not None:
            raise InvalidArgument(
                "examined is given and the log holds no rankings",
                "remove examined: it corrects for position bias in rankings",
            )
        return tables.replay(log, learners, backend=backend, jobs=jobs, split=split, modules=modules, progress=progress)
    data = parse_address(data)
    with open_log(log, data) as recording:
        own_too, given = recording.ours, list(dict.fromkeys(learners))
        if not own_too and not given:
            given = [type(recommended(loop=Loop.CHOOSE, feedback=Feedback.REWARD, dim=1)).__name__]
        bench, _ = start_replay(recording, given, None if examined is None else np.array(examined), own_too=own_too)
        keyed, count = bench.own.body.keyed, recording.count()
        several = len(bench.evaluators)
    if split == "key" and not keyed:
        raise InvalidArgument("split is key and the log has no keys", "remove split, or use split=learner")
    paced = any(each.startswith(BUDGET) for each in given)
    if split == "key" and paced:
        raise InvalidArgument("split is key and a budget is given", "remove split: all keys share a budget")
    if backend == "processes":
        jobs = max(1, min(jobs, count * several // WORTH))
    where = place_of_work(backend, jobs)
    piece = Piece(
        log=str(Path(log).absolute()) if files else log,
        data=str(data.absolute()) if isinstance(data, Path) else data.url,
        learners=given,
        own_too=own_too,
        examined=None if examined is None else list(examined),
        modules=list(modules),
    )
    keys = split == "key" or (split == "auto" and keyed and several < jobs and not paced)
    pieces = by_key(piece, jobs) if keys else by_learner(piece, jobs)
    name = parallel.by_keys.__name__ if keys else parallel.by_learners.__name__
    tasks = [Task(f"{parallel.__name__}:{name}", msgspec.to_builtins(each)) for each in pieces]
    total = count * len(tasks)
    results = answers(where, tasks, None if progress is None else lambda at: progress(at, total))
    found = _combine_keys(piece, results) if keys else _combine_outcomes(piece, results)
    return msgspec.structs.replace(found, log=log, notes=[*found.notes, *([] if own_too else [OTHERS])])


def _combine_outcomes(piece: Piece, results: Sequence[bytes]) -> WhatIf:
    """The outcomes of all pieces in the order in which they were asked for."""
    found = [msgspec.msgpack.decode(each, type=WhatIf) for each in results]
    outcomes = {outcome.learner: outcome for each in found for outcome in each.outcomes}
    order = parallel.names_of(piece.learners, piece.own_too)
    return msgspec.structs.replace(found[0], outcomes=[outcomes[name] for name in order if name in outcomes])


def _combine_keys(piece: Piece, results: Sequence[bytes]) -> WhatIf:
    """Count the observations of all keys, in the order of the log."""
    parts = [msgspec.msgpack.decode(each, type=Part) for each in results]
    examined = None if piece.examined is None else np.array(piece.examined)
    with open_log(piece.log, parse_address(piece.data)) as recording:
        bench, _ = start_replay(recording, piece.learners, examined, own_too=piece.own_too)
    evaluators = list(bench.evaluators.values())
    for _, who, what, values in merge_observations([part.tape for part in parts]):
        if who < 0:
            bench.measures.append(values[0])
        else:
            evaluators[who].count(what, values)
    for name in ("decisions", "answered", "back", "elsewhere"):
        setattr(bench, name, getattr(parts[0], name))
    if isinstance(bench.companion, ClickedPages) and bench.companion.given is None and parts[0].places is not None:
        read, low, high, rounds = parts[0].places
        bench.companion.found = Examination(np.array(read), np.array(low), np.array(high), rounds)
    return results_of(bench, piece.log)
