"""The laws of structures, to be held against one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from smidgen.errors import SmidgenError
from smidgen.structures.structure import STRANGE, Structure, structured, vector
from smidgen.testing import structure_laws
from smidgen.testing.laws import kept
from smidgen.testing.structure_laws import Specimen

Law = Callable[[Specimen], None]

LAWS: tuple[Law, ...] = (
    structure_laws.it_has_phi_and_argmax,
    structure_laws.phi_gives_so_many_finite_numbers,
    structure_laws.argmax_repeats,
    structure_laws.what_it_is_given_stays_as_it_was,
    structure_laws.argmax_is_the_best,
    structure_laws.present_is_argmax_with_scores,
    structure_laws.strange_objects_raise_what_can_be_told,
    structure_laws.objects_are_told_from_others,
    structure_laws.difference_is_that_of_phi,
    structure_laws.other_dimensions_are_refused,
    structure_laws.a_record_brings_it_back,
    structure_laws.scaling_scales,
    structure_laws.every_coactive_learner_takes_it,
)


def check_structure(
    structure: Any,
    *,
    dim: int | None = None,
    objects: Iterable[Any] = (),
    edits: Iterable[Any] = (),
    impossible: Iterable[Any] = (),
) -> None:
    """Hold a structure against the laws that learners and the service rely on.

    Parameters
    ----------
    structure
        An instance: with ``phi`` and ``argmax``, and whatever more of `smidgen.Structure` it has. Call it for several
        instances: a small one, a large one, one with a single object.
    dim
        How many features it has; left out, as many as it says, or as many as ``phi`` of one of the objects has.
    objects
        Objects that may go out, beyond those that its ``candidates()`` lists.
    edits
        Objects that never go out, and yet may come back as better: an edited text, say.
    impossible
        Objects that may not come back, which it must refuse.

    Raises
    ------
    AssertionError
        At the first law that does not hold, with the law's name and a sentence.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.testing import check_structure
    >>> check_structure(smidgen.Choice(np.eye(3)), objects=[0, 1, 2], impossible=[3, -1])
    """
    name = type(structure).__name__
    known = structured(structure)
    if known is None:
        raise AssertionError(f"{name}: the law 'it has phi and argmax' does not hold: one of the methods is missing")
    listed = getattr(structure, "candidates", None)
    found = (*objects, *(listed() if callable(listed) else ()))
    size = _dim(known, name, found) if dim is None else dim
    it = Specimen(structure, size, found or (known.argmax(np.zeros(size)),), tuple(edits), tuple(impossible))
    for law in LAWS:
        kept(law, it, name)


def _dim(known: Structure, name: str, objects: tuple[Any, ...]) -> int:
    if known.dim is not None:
        return known.dim
    if not objects:
        raise AssertionError(f"{name}: nobody knows how many features it has; give dim=…, or objects=[…]")
    try:
        return len(vector(known.phi(objects[0])))
    except (SmidgenError, *STRANGE) as error:
        raise AssertionError(
            f"{name}: the law 'phi gives so many finite numbers' does not hold: phi({objects[0]!r}): {error}"
        ) from error
