"""Write a long log quickly, as ``smidgen log export --format parquet`` would write that of a small label model.

``python -m benchmarks.long_log OUT.parquet --events 10000000`` takes some minutes. Half of the events are decisions of
a Banditron with four features and three labels, each followed by its answer, the right label: 470 bytes an event on
average, before compression. Only the columns that a replay reads are written. ``--table`` writes the same examples as
a plain table (key, features, label), which compiled streams play.
"""

from __future__ import annotations

import argparse
import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import smidgen
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.engine.registry import resolved_settings
from smidgen.service.schemas import ModelBody

LABELS = ["x", "y", "z"]
FEATURES = ["a", "b", "c", "d"]
GROUP = 10_000
AT = "2026-11-16T22:44:15.015Z"


def blocks(rounds: int, seed: int = 0) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Features and right labels, a block at a time: the label is the largest of three noisy scores."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(len(FEATURES), len(LABELS)))
    for start in range(0, rounds, GROUP):
        X = rng.normal(size=(min(GROUP, rounds - start), len(FEATURES)))
        yield X, (X @ w + rng.normal(scale=0.5, size=(len(X), len(LABELS)))).argmax(axis=1)


def lines(rounds: int, keys: int = 0) -> Iterator[tuple[str, bytes]]:
    """The type and the text of each event."""
    params = {"gamma": 0.1}
    body = ModelBody(loop="label", learner="Banditron", params=params, features=FEATURES, labels=LABELS, keyed=keys > 0)
    blueprint = Blueprint(body)
    event = {"seq": 1, "type": "created", "decision": None, "key": None, "at": AT, "format": "1.0"}
    event |= {"model": msgspec.to_builtins(body), "resolved": resolved_settings(blueprint)}
    yield "created", msgspec.json.encode(event)
    settings = msgspec.json.decode(smidgen.Banditron(dim=4, n_classes=3, **params).decide(np.ones(4)).to_json())
    rng, number = np.random.default_rng(1), 0
    for X, y in blocks(rounds):
        shown = np.where(rng.random(len(y)) < 0.7, y, rng.integers(3, size=len(y))).tolist()
        for x, true, label in zip(X, y.tolist(), shown, strict=True):
            number += 1
            id, key = f"{number:024x}", f'"k{number % keys}"' if keys else "null"
            values = base64.b64encode(x.tobytes()).decode()
            p = 0.9333333333333333
            yield (
                "decision",
                (
                    f'{{"seq":{2 * number},"type":"decision","decision":"{id}","key":{key},"at":"{AT}",'
                    f'"number":{number},"reply":{{"decision":"{id}","model":"l",'
                    f'"model_version":{number - 1},"explored":false,'
                    f'"propensity":{p},"expires_at":"{AT}","label":"{LABELS[label]}"}},"ids":[],'
                    f'"record":{{"kind":"Banditron","settings":"{settings["settings"]}","number":{number},'
                    f'"action":{label},"greedy":{label},"context":{{"$":"Row","indices":null,"values":{{"$":"array",'
                    f'"dtype":"<f8","shape":[4],"data":"{values}"}},"dim":4}},"explored":false,"propensity":{p},'
                    f'"scores":{{"$":"array","dtype":"<f8","shape":[3],"data":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}}}}}'
                ).encode(),
            )
            yield (
                "feedback",
                (
                    f'{{"seq":{2 * number + 1},"type":"feedback","decision":"{id}","key":{key},"at":"{AT}",'
                    f'"feedback":{{"label":"{LABELS[true]}"}},"status":"learnt",'
                    f'"learn":{"true" if true == label else "false"},"model_version":{number}}}'
                ).encode(),
            )


def write_log(path: Path, events: int, keys: int = 0) -> None:
    """A log in our own format."""
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema([("seq", pyarrow.int64()), ("type", pyarrow.string()), ("line", pyarrow.binary())])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as file:
        held: list[tuple[str, bytes]] = []
        seq = 0
        for each in lines(events // 2, keys):
            held.append(each)
            if len(held) == GROUP:
                seq = _put(file, pyarrow, schema, held, seq)
                held = []
        _put(file, pyarrow, schema, held, seq)


def _put(file: Any, pyarrow: Any, schema: Any, held: list[tuple[str, bytes]], seq: int) -> int:
    columns = [list(range(seq + 1, seq + 1 + len(held))), [each[0] for each in held], [each[1] for each in held]]
    file.write_table(pyarrow.table(columns, schema=schema))
    return seq + len(held)


def write_table(path: Path, rows: int, keys: int = 0) -> None:
    """The same examples as a plain table."""
    import pyarrow
    import pyarrow.parquet

    fields = [("features", pyarrow.list_(pyarrow.float64(), len(FEATURES))), ("label", pyarrow.string())]
    schema = pyarrow.schema([*([("key", pyarrow.string())] if keys else []), *fields])
    names, number = np.array(LABELS), 0
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as file:
        for X, y in blocks(rows):
            features = pyarrow.FixedSizeListArray.from_arrays(X.ravel(), X.shape[1])
            columns = [features, pyarrow.array(names[y].tolist())]
            if keys:
                columns.insert(0, pyarrow.array([f"k{i % keys}" for i in range(number + 1, number + 1 + len(y))]))
            number += len(y)
            file.write_table(pyarrow.table(columns, schema=schema))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=0, help="how many keys share the events; 0: no keys")
    parser.add_argument("--table", action="store_true", help="a plain table with so many rows")
    given = parser.parse_args()
    (write_table if given.table else write_log)(given.out, given.events, given.keys)
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
