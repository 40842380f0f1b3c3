"""Names at the places that a log says: the same table, whether it was folded by order or by places, with or without
some of its events."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from smidgen import Vectorizer
from smidgen.features.state import Carried, Places
from smidgen.serialization import same

NONE = np.empty(0, np.uint32)
WORDS = ("se", "no", "de", "fi", "dk")
RECORDS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.fixed_dictionaries(
            {"country": st.sampled_from(WORDS)},
            optional={"age": st.integers(0, 90), "price": st.floats(0, 9), "note": st.sampled_from(("a b", "b c"))},
        ),
    ),
    min_size=1,
    max_size=12,
)


def played(records: list[tuple[int, dict[str, object]]]) -> list[tuple[int, object, Places, Carried]]:
    """Entries of a log: key, encoded record, places of new names, repeated names."""
    table, known, log = Vectorizer(dim=16, text=("note",)), {}, []
    for who, record in records:
        encoded = table.encode(record)
        ids = table.planned(encoded)[0]
        places, carried = table.places(encoded, ids), table.carried(encoded, known.get(who, NONE))
        known[who] = np.union1d(known.get(who, NONE), [i for i, _, _ in carried]).astype(np.uint32)
        table.absorb(encoded, ids)
        log.append((who, encoded, places, carried))
    return log


@settings(max_examples=40, deadline=None)
@given(RECORDS)
def test_a_fold_by_places_is_the_fold_by_order(records: list[tuple[int, dict[str, object]]]) -> None:
    by_order, by_places = Vectorizer(dim=16, text=("note",)), Vectorizer(dim=16, text=("note",))
    for _, record in records:
        by_order.learn(record)
    for _, encoded, places, carried in played(records):
        by_places.absorb_at(encoded, places, carried)
    assert same(by_order.state(), by_places.state())
    restored = Vectorizer(dim=16, text=("note",))
    restored.restore(by_places.state())
    assert same(restored.state(), by_places.state())


@settings(max_examples=40, deadline=None)
@given(RECORDS)
def test_without_somebody_the_others_keep_their_columns_and_his_own_names_are_gone(
    records: list[tuple[int, dict[str, object]]],
) -> None:
    log = played([*records, (0, {"country": "only he", "height": 2.0})])
    whole, rest = Vectorizer(dim=16, text=("note",)), Vectorizer(dim=16, text=("note",))
    for _, encoded, places, carried in log:
        whole.absorb_at(encoded, places, carried)
    others = [each for each in log if each[0] != 0]
    for _, encoded, places, carried in others:
        rest.absorb_at(encoded, places, carried)
    assert not {"country=only he", "height"} & set(rest.names)
    before = {name: place for place, name in whole.named_columns()}
    for column, name in rest.named_columns():
        if " | " not in name and " | " not in dict(whole.named_columns())[column]:
            assert before[name] == column
    fields = {f"country={record['country']}" for who, record in records if who != 0}
    if len(whole.names) <= 16:
        assert fields <= set(rest.names)
    again = Vectorizer(dim=16, text=("note",))
    again.restore(rest.state())
    assert same(again.state(), rest.state())
    assert again.names == rest.names
