"""Features that say that a number is absent: which names are theirs, and a record without them."""

from __future__ import annotations

import numpy as np

from smidgen import Vectorizer
from smidgen.features.crossing import Indicators, indicator
from smidgen.features.names import bounded


def test_crosses_belong_to_them_on_either_side() -> None:
    found = Indicators(["pay", "context.pay"])
    for name in ("pay (missing)", "context.pay (missing)", "context.pay (missing) × id=a", "os=web × pay (missing)"):
        assert found.has(name), name
    for name in ("pay", "pay=1", "repay (missing)", "context.age (missing) × id=a", "pay (missing)=x", ""):
        assert not found.has(name), name
    assert not Indicators(())


def test_a_long_cross_is_known_by_its_parts() -> None:
    found, other = Indicators(["context.pay"]), "title=" + "long " * 60
    cross = bounded(indicator("context.pay") + " × " + other)
    assert "…#" in cross
    turned = bounded(other + " × " + indicator("context.pay"))
    assert not found.has(turned)
    assert found.has(turned, lambda: ["id=a", other])
    assert not found.has(bounded(other + " × " + other), lambda: ["id=a", other])


def test_a_record_without_some_names_is_the_one_that_never_had_them() -> None:
    found, silent = Vectorizer(dim=64, scale=False), Vectorizer(dim=64, scale=False)
    silent.learn({"age": 3.0, "os": "web"})
    found.learn({"age": 3.0, "os": "web", "pay": 7.0})
    record = {"kind": "x", "new": "n"}
    whole, expected = found.encode(record), silent.encode(record)
    names = np.array([name == "pay (missing)" for name in whole.names], np.bool_)
    assert names.any()
    left = whole.without(np.empty(0, np.int64), names)
    assert [left.names, left.new_rows.tolist(), left.new_names.tolist(), left.new_values.tolist()] == [
        expected.names,
        expected.new_rows.tolist(),
        expected.new_names.tolist(),
        expected.new_values.tolist(),
    ]
    assert left.indices.tolist() == expected.indices.tolist()
    found.learn({"os": "tv"})  # now the name has a column
    again = found.encode(record)
    column = found.names.index("pay (missing)")
    assert column in again.indices.tolist()
    cut = again.without(np.array([column]), np.zeros(len(again.names), np.bool_))
    assert column not in cut.indices.tolist()
    assert len(cut.indices) == len(cut.values) == cut.starts[-1] == len(again.indices) - 1
    assert type(cut).from_record(cut.to_record()) == cut
