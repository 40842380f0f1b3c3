"""Health checks of features and answers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from smidgen.features import Encoded
from smidgen.features.limits import VECTOR_CROSSES
from smidgen.learners import Feedback
from smidgen.learners.record_adapter import vectors_in
from smidgen.service.monitoring.evidence import Check, Evidence, Update, lines, percent
from smidgen.service.schemas import Finding

# Numbers that lie so far out that they are cut.

#: Minimum number of decisions with numbers (of records), or feedbacks (of rows).
CLIPPED_AFTER = 20
#: Minimum number of clipped numbers, or of rows, and minimum share.
CLIPPED_NUMBERS, CLIPPED_ROWS, CLIPPED_SHARE = 3, 1, 0.005
#: From this share on it is a warning.
CLIPPED_WARNING = 0.05


class Clipped(Check):
    """Of records: numbers more than four standard deviations from their mean. Of rows: rows scaled down by the guard.

    The latest 100 decisions of models that take records, the latest 100 feedbacks of others.
    """

    code = "clipped"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say how many, if they are more than a few."""
        if evidence.model.blueprint.features is not None:
            records = [d.context for d in evidence.decisions if isinstance(d.context, Encoded) and len(d.context.raw)]
            cut, of = sum(each.clipped for each in records), sum(len(each.raw) for each in records)
            if len(records) < CLIPPED_AFTER or cut < CLIPPED_NUMBERS:
                return None
            return self._finding_of(
                cut,
                of,
                "numbers were more than four standard deviations from their mean and were clipped",
                "Send such a number on another scale (its logarithm, a rank, a band as a string), or fix the rows with "
                "errors.",
            )
        steps = evidence.steps
        cut, of = sum(step.scaled for step in steps), len(steps)
        if of < CLIPPED_AFTER or cut < CLIPPED_ROWS:
            return None
        return self._finding_of(
            cut,
            of,
            "feedbacks had features with a norm ten times the usual one and were scaled down",
            "Check for rows in other units or with invalid numbers; send logarithms of numbers that span "
            "several magnitudes.",
        )

    def _finding_of(self, cut: int, of: int, what: str, hint: str) -> Finding | None:
        share = cut / of
        if share < CLIPPED_SHARE:
            return None
        return self.finding(
            "warning" if share >= CLIPPED_WARNING else "info",
            f"{cut} of {of:,} {what} ({percent(share)}).",
            hint,
            {"clipped": cut, "of": of, "share": share},
        )


# Vectors: more candidates than columns, and more dimensions than columns.

#: Minimum number of vectors of a field.
VECTORS_AFTER = 40
#: A projection that keeps less than this share of a direction is reported.
KEPT_SHARE = 0.5


class FewColumns(Check):
    """More candidates in the latest decisions than have columns for the vectors of their context."""

    code = "few_columns"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say how many go without."""
        features = evidence.model.blueprint.features
        if features is None or not features.vectors or not features.crosses:
            return None
        ids: set[Hashable] = set()
        columns = 0
        for decision in evidence.decisions:
            made = decision.context
            if isinstance(made, Encoded) and made.candidates and made.ids is not None:
                lengths = [n for path, n in made.lengths.items() if path.startswith("context.")]
                if lengths:
                    ids |= set(made.ids)
                    columns = max(columns, sum(min(n, features.vectors) for n in lengths))
        most = VECTOR_CROSSES // columns if columns else 0
        without = len(ids) - most
        if not columns or without <= 0:
            return None
        return self.finding(
            "info",
            f"{without:,} of {len(ids):,} candidates have no columns of their own for the vectors of the context: "
            f"{columns:,} columns each leave space for {most:,}.",
            'Lower "vectors" in features.auto, or send a vector with each candidate: their cosine is a feature.',
            {"candidates": len(ids), "without": without, "columns": columns},
        )


class Projection(Check):
    """Vectors of more dimensions than the columns that they are projected to.

    The dimension is 1 over the mean squared cosine between the vectors of the latest decisions.
    """

    code = "projection"

    def run(self, evidence: Evidence) -> Finding | None:
        """Name the field of which the projection keeps least."""
        features = evidence.model.blueprint.features
        if features is None or not features.vectors:
            return None
        found: defaultdict[str, list[Any]] = defaultdict(list)
        for decision in evidence.decisions:
            made = decision.context
            if isinstance(made, Encoded) and any(n > features.vectors for n in made.lengths.values()):
                for path, numbers in vectors_in(made):
                    if len(numbers) > features.vectors:
                        found[path].append(numbers)
        kept = {path: features.vectors / _dimension(each) for path, each in found.items() if len(each) >= VECTORS_AFTER}
        least = min(kept, key=lambda path: (kept[path], path), default=None)
        if least is None or kept[least] > KEPT_SHARE:
            return None
        dimension = round(features.vectors / kept[least])
        return self.finding(
            "info",
            f"{least} varies in about {dimension:,} dimensions, and {features.vectors:,} columns keep about "
            f"{percent(kept[least])} of a direction.",
            f'Create the model with "features": {{"auto": {{"vectors": {min(dimension, VECTOR_CROSSES)}}}}} if the '
            "vectors should explain more; more columns need more feedback.",
            {"columns": features.vectors, "dimension": dimension, "share": kept[least]},
        )


def _dimension(vectors: list[Any]) -> float:
    """The number of dimensions in which vectors vary; 1 where all are alike."""
    alike = [each for each in vectors if len(each) == len(vectors[0])]
    x = np.array(alike, np.float64)
    lengths = np.sqrt((x * x).sum(axis=1))
    x = x[lengths > 0.0] / lengths[lengths > 0.0, None]
    n = len(x)
    if n < 2:
        return 1.0
    squares = float(((x @ x.T) ** 2).sum()) - n
    return min(float(x.shape[1]), n * (n - 1) / max(squares, 1e-12))


# Features that tell nothing apart.

#: Minimum number of decisions.
CONSTANT_AFTER = 20
#: From this share of columns that never vary on it is a warning.
CONSTANT_WARNING = 0.5
#: Maximum number of columns that are named.
CONSTANT_NAMED = 5

#: Where this comes back, a constant is an offset.
OFFSET_WANTED = {Feedback.BIT, Feedback.LABEL, Feedback.RELEVANCE, Feedback.REWARD}


class Constant(Check):
    """Columns that never vary: among the candidates of a decision, or from one decision without candidates to the next.

    Where answers are judged one by one (labels, filters, rewards) one column of a fixed value is wanted, as an offset:
    if it is the only one, the finding reports it alone. Single columns of hashed names and of records are not checked,
    only whether rows differ at all.
    """

    code = "constant"

    def run(self, evidence: Evidence) -> Finding | None:
        """Name the columns, or say that all rows are the same."""
        seen = evidence.table
        if seen.decisions < CONSTANT_AFTER or not seen.compared:
            return None
        if seen.alike == seen.compared:
            return self.finding(
                "problem",
                f"In all of the last {seen.compared} decisions the features are the same, so the model cannot "
                f"distinguish them.",
                "Send features that differ between candidates, or between decisions.",
                {"decisions": seen.compared, "constant": len(seen.columns), "of": len(seen.columns)},
            )
        dim = evidence.model.blueprint.dim
        if evidence.model.blueprint.features is not None or evidence.loop.vectors.hashed or dim is None:
            return None
        varying = {int(c) for c in seen.columns[seen.varies]}
        still = [column for column in range(dim) if column not in varying]
        offsets = [int(c) for c in seen.columns[seen.fixed]]
        if not still:
            return None
        if still == offsets[:1] and evidence.kinds.keys() & OFFSET_WANTED:
            return self.finding(
                "info",
                f"One of {dim} features never varies in the last {seen.decisions} decisions: "
                f"{evidence.column(still[0])}.",
                "A constant feature is useful as an offset. If it should vary, check where the app gets it.",
                {"constant": 1, "of": dim, "decisions": seen.decisions, "first": evidence.column(still[0])},
            )
        listed = ", ".join(evidence.column(column) for column in still[:CONSTANT_NAMED])
        more = f" and {len(still) - CONSTANT_NAMED} more" if len(still) > CONSTANT_NAMED else ""
        many = len(still) >= CONSTANT_WARNING * dim
        return self.finding(
            "warning" if many else "info",
            f"{len(still)} of {dim} features never vary in the last {seen.decisions} decisions: {listed}{more}.",
            "Remove them, or check where the app gets them. Features that are the same for all candidates of "
            "a decision "
            'belong in "context" of a model that accepts records.',
            {"constant": len(still), "of": dim, "decisions": seen.decisions, "first": evidence.column(still[0])},
        )


# Features out of scale: one speaks a thousand times louder than another.

#: Minimum number of decisions.
SCALE_AFTER = 20
#: Ratio of the largest column to the smallest that is reported; from the second value on it is a problem.
SCALE_WARNING, SCALE_PROBLEM = 30.0, 1000.0


class Scale(Check):
    """Columns of very different size, by the root of their mean square where they are not zero.

    Of records the numbers are brought to comparable size by the model itself; there is nothing to find.
    """

    code = "scale"

    def run(self, evidence: Evidence) -> Finding | None:
        """Name the largest and the smallest column, if they are far apart."""
        if evidence.model.blueprint.features is not None:
            return None
        seen = evidence.table
        sizes = seen.size
        if seen.decisions < SCALE_AFTER or len(sizes) < 2:
            return None
        big, small = int(np.argmax(sizes)), int(np.argmin(sizes))
        ratio = float(sizes[big] / sizes[small])
        if ratio < SCALE_WARNING:
            return None
        largest, smallest = (evidence.column(int(seen.columns[place])) for place in (big, small))
        return self.finding(
            "problem" if ratio >= SCALE_PROBLEM else "warning",
            f"Features out of scale: {largest} is about {sizes[big]:.3g}, {smallest} about {sizes[small]:.3g}, "
            f"{ratio:,.0f} times smaller.",
            'Divide each feature by its usual size, or create the model without "features": it then accepts '
            "records and "
            "scales numbers itself.",
            {
                "ratio": ratio,
                "largest": largest,
                "largest_size": float(sizes[big]),
                "smallest": smallest,
                "smallest_size": float(sizes[small]),
            },
        )


# Numbers beyond the bound that the model was made with.

#: One feedback is enough.
BOUND_AFTER = 1
#: From this share of feedbacks beyond the bound on it is a problem.
BOUND_PROBLEM = 0.1
#: By how much a number may pass the bound, for rounding.
BOUND_TOLERANCE = 1e-9


class OutOfBound(Check):
    """Losses beyond ``loss_bound``, gradients longer than ``gradient_bound``, features beyond ``bound``.

    What the model was promised does not hold; its steps are too long, or cut, and its theorem is silent.
    """

    code = "out_of_bound"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say which bound, how many pass it, and by how much."""
        for name, kind, what in (
            ("loss_bound", Feedback.LOSS, "losses"),
            ("gradient_bound", Feedback.GRADIENT, "gradients"),
        ):
            if (bound := evidence.model.blueprint.settings.get(name)) is not None:
                sizes = [_size(step.value) for step in evidence.steps if step.kind == kind]
                return self._finding_of(name, float(bound), what, sizes)
        bound = evidence.model.blueprint.settings.get("bound")
        if bound is None or not len(evidence.table.size):
            return None
        sizes = [float(np.abs(context_values(step.decision.context)).max(initial=0.0)) for step in evidence.steps]
        return self._finding_of("bound", float(bound), "feedbacks with features", sizes)

    def _finding_of(self, name: str, bound: float, what: str, sizes: list[float]) -> Finding | None:
        beyond = [size for size in sizes if size > bound * (1.0 + BOUND_TOLERANCE)]
        if len(beyond) < BOUND_AFTER:
            return None
        share, largest = len(beyond) / len(sizes), max(beyond)
        return self.finding(
            "problem" if share >= BOUND_PROBLEM else "warning",
            f"{len(beyond)} of the last {len(sizes)} {what} exceed {name} = {bound:g} ({percent(share)}); the "
            f"largest is {largest:.4g}.",
            f"Create the model with a {name} of at least {largest:.4g}, or divide the values by a fixed number.",
            {"beyond": len(beyond), "of": len(sizes), "share": share, "bound": bound, "largest": largest},
        )


def context_values(context: Any) -> Any:
    """All numbers of a decision's features."""
    found = lines(context)
    return found.values if found is not None else np.zeros(0)


def _size(value: Any) -> float:
    """A loss as it is, a gradient by its length."""
    numbers = np.asarray(value, dtype=np.float64)
    return math.sqrt(float(np.square(numbers).sum())) if numbers.ndim else abs(float(numbers))


# The same question, answered both ways.

#: Minimum number of answers to questions that were asked before.
CONTRADICTION_AFTER = 20
#: From this share of pairs of answers to one question that disagree; answers at random disagree in half of them.
CONTRADICTION_SHARE = 0.45


class Contradiction(Check):
    """Answers to one and the same question that disagree.

    A question is which of two candidates is the better one, among the same candidates with the same features; or
    whether the same features have the same label, or are relevant. An answer that leaves what was shown as it was says
    that it is better than those that were preferred to it elsewhere. Rewards, losses and clicks are noisy by nature,
    and no contradiction.
    """

    code = "contradiction"

    def run(self, evidence: Evidence) -> Finding | None:
        """Say how often two answers to one question disagree."""
        asked: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
        for question, answer in _answers(evidence.steps):
            asked[question][answer] += 1
        again = [answers for answers in asked.values() if answers.total() > 1]
        n = sum(answers.total() for answers in again)
        if n < CONTRADICTION_AFTER:
            return None
        pairs = sum(answers.total() * (answers.total() - 1) // 2 for answers in again)
        agreeing = sum(count * (count - 1) // 2 for answers in again for count in answers.values())
        share = 1.0 - agreeing / pairs
        if share < CONTRADICTION_SHARE:
            return None
        questions = "one question was" if len(again) == 1 else f"{len(again)} questions were"
        return self.finding(
            "warning",
            f"Feedback contradicts itself: {questions} answered {n} times, and {percent(share)} of the pairs of "
            "answers to one question disagree.",
            'Different users may prefer different things: create a model with "keyed": true, or add features that '
            "distinguish them. If the outcome is random, send it as a reward.",
            {"questions": len(again), "answers": n, "share": share},
        )


def _answers(steps: list[Update]) -> Iterator[tuple[Hashable, Hashable]]:
    """Questions and answers; none where answers are a matter of chance, or nothing is known of what was asked."""
    rivals: defaultdict[Hashable, set[tuple[int, int]]] = defaultdict(set)
    kept: list[tuple[Hashable, int]] = []
    for step in steps:
        if (features := _features(step.decision.context)) is None:
            continue
        place: Hashable = (step.key, features)
        if step.kind == Feedback.BETTER:
            better, shown = _first(step.learner_input, step.decision.action)
            if better == shown:
                kept.append((place, shown))
                continue
            pair = (min(better, shown), max(better, shown))
            rivals[place].add(pair)
            yield (place, pair), better
        elif step.kind == Feedback.BIT:
            yield (place, str(step.decision.action)), bool(step.learner_input)
        elif step.kind in (Feedback.LABEL, Feedback.RELEVANCE):
            yield place, str(step.value)
    for place, shown in kept:
        for pair in rivals[place]:
            if shown in pair:
                yield (place, pair), shown


def _first(preferred: Any, action: Any) -> tuple[int, int]:
    """The first of what is better and of what was shown; of two that were shown, the better one and the other."""
    if isinstance(action, tuple):
        return int(np.ravel(action[preferred])[0]), int(np.ravel(action[1 - preferred])[0])
    better = preferred.order if hasattr(preferred, "order") else preferred
    return int(np.ravel(better)[0]), int(np.ravel(action)[0])


def _features(context: Any) -> Hashable | None:
    found = lines(context)
    return (found.starts.tobytes(), found.columns.tobytes(), found.values.tobytes()) if found is not None else None
