"""Texts that are nested deep are refused in our words by every reader: no RecursionError gets out."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import smidgen
from service.asgi import Caller
from smidgen import serialization
from smidgen.client.wire import ServiceError, refusal
from smidgen.data import read_ubi
from smidgen.errors import SmidgenError
from smidgen.serialization import UNREADABLE
from smidgen.service.admin.backup import Archive
from smidgen.service.engine import teach
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.engine.lifecycle import from_learner, from_log
from smidgen.service.http.middleware import decode
from smidgen.service.integrations.ubi import read as read_ubi_body
from smidgen.service.log import codec
from smidgen.service.log.codec import parse
from smidgen.service.ope.sources import open_log
from smidgen.service.ope.whatif import parse_learner_spec
from smidgen.service.schemas import ModelBody

SOURCES = Path(smidgen.__file__).parent
#: How deep: within Python's own limit for what is read, but not for what is then done; just beyond it; far beyond.
LEVELS = (100, 400, 900, 1_000, 100_000)


#: Calls in the words of others, which leave out what has no plain meaning, as a list inside a list.
LENIENT = ("m:import", "/personalizer/v1.0/rank")


def lists(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def objects(levels: int) -> bytes:
    return b'{"a":' * levels + b"0" + b"}" * levels


def packed(levels: int) -> bytes:
    """Lists in MessagePack."""
    return b"\x91" * levels + b"\xc0"


def _manifest(content: bytes) -> bytes:
    text = b'{"smidgen_backup":1,"version":"","made_at":"","models":0,"events":0,"files":%s}' % content
    out = io.BytesIO()
    head = tarfile.TarInfo("manifest.json")
    head.size = len(text)
    out.write(head.tobuf(tarfile.GNU_FORMAT) + text + bytes(-len(text) % 512 + 1024))
    return out.getvalue()


def _archive(content: bytes, folder: Path) -> None:
    (folder / "backup").write_bytes(_manifest(content))
    with (folder / "backup").open("rb") as file:
        Archive(file, "the backup")


def _replayed(content: bytes, folder: Path) -> None:
    path = folder / "log.dsjson"
    path.write_bytes(b'{"_label_cost":0,"c":%s}\n' % content)
    with open_log(str(path), folder) as recording:
        list(recording.lines())


def _ubi(content: bytes, folder: Path) -> None:
    path = folder / "ubi.ndjson"
    path.write_bytes(b'{"query_id":%s}\n' % content)
    read_ubi(path, path)


def _header(content: bytes) -> bytes:
    """A saved learner whose header holds this."""
    text = b'{"kind":"PreferencePerceptron","params":{"dim":%s}}' % content
    return b"smidgen learner 2\n" + bytes(2) + len(text).to_bytes(4, "little") + bytes(40) + text


#: Every reader of JSON that takes what others wrote.
READERS: dict[str, Callable[[bytes, Path], Any]] = {
    "records": lambda content, folder: serialization.from_json(content),
    "records inside": lambda content, folder: serialization.from_json(b'{"$":"tuple","items":%s}' % content),
    "decisions": lambda content, folder: smidgen.Decision.from_json(content),
    "saved learners": lambda content, folder: smidgen.Learner.from_bytes(_header(content)),
    "imported learners": lambda content, folder: from_learner(_header(content)),
    "log lines": lambda content, folder: parse(
        b'{"seq":1,"type":"created","learn":%s}' % content, "a line"
    ).learner_input(),
    "settings of a log": lambda content, folder: from_log(
        b'{"seq":1,"type":"created","model":{"loop":"rank"},"resolved":{"settings":%s}}' % content
    ),
    "bodies": lambda content, folder: Blueprint(decode(b'{"loop":"rank","params":{"a":%s}}' % content, ModelBody)),
    "learners to try": lambda content, folder: _tried(content),
    "dsjson": lambda content, folder: teach.read_dsjson(b'{"_label_cost":0,"c":%s}' % content, "id"),
    "dsjson files": _replayed,
    "UBI bodies": lambda content, folder: read_ubi_body("application/json", content),
    "UBI files": _ubi,
    "manifests": _archive,
}
#: Every reader of MessagePack.
PACKED: dict[str, Callable[[bytes], Any]] = {
    "records": serialization.decode,
    "many records": lambda content: serialization.decode_many([content, content]),
    "decisions": smidgen.Decision.from_bytes,
    "bodies of decisions": lambda content: codec.read_decision(content, 1),
    "bodies of feedback": lambda content: codec.read_feedback(content, 1),
    "what others tell": lambda content: codec.read_value(codec.encode(content), 1),
}


def _tried(content: bytes) -> None:
    body = ModelBody(loop="choose", learner="LinUCB", params={"dim": 3})
    Blueprint(parse_learner_spec(body, f"LinUCB:ridge={content.decode()}"))


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("name", READERS)
def test_deep_json_is_refused(name: str, levels: int, tmp_path: Path) -> None:
    for content in (lists(levels), objects(levels)):
        with pytest.raises(SmidgenError) as refused:
            READERS[name](content, tmp_path)
        assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("name", PACKED)
def test_deep_bytes_are_refused(name: str, levels: int) -> None:
    with pytest.raises(SmidgenError):
        PACKED[name](packed(levels))


@pytest.mark.parametrize("levels", LEVELS)
def test_a_client_takes_a_deep_reply_for_somebody_elses(levels: int) -> None:
    assert isinstance(refusal(500, lists(levels)), ServiceError)


def test_deep_bodies_are_refused_by_every_call(tmp_path: Path) -> None:
    """Every route that takes a body answers with 4xx, whatever the media type."""
    with Caller(tmp_path) as caller:
        assert caller.put("/v1/models/m", {"loop": "choose"}).status_code == 201
        paths = caller.get("/openapi.json").json()["paths"]
        tried = 0
        for path, item in paths.items():
            for method in {"post", "put", "patch", "delete"} & item.keys():
                for media in item[method].get("requestBody", {}).get("content", {}):
                    for content in (lists(900), lists(100_000), objects(100_000)):
                        where = path.format_map(_Names())
                        answer = caller(method.upper(), where, content=content, headers={"content-type": media})
                        assert 400 <= answer.status_code < 500, (method, where, media, answer.text[:200])
                        tried += 1
        assert tried > 30


def test_deep_features_are_refused_or_flat(tmp_path: Path) -> None:
    """Features that are nested deep, in every way that they come."""
    with Caller(tmp_path) as caller:
        for name, body in (("m", {"loop": "choose"}), ("label", {"loop": "label", "labels": ["a", "b"]})):
            assert caller.put(f"/v1/models/{name}", body).status_code == 201
        for levels in LEVELS:
            for content in (lists(levels), objects(levels)):
                line = b'{"_label_cost":-1,"_label_Action":1,"c":{"_multi":[{"f":%s},{"f":1}]}}' % content
                asked = b'{"candidates":[{"id":"a","features":{"f":%s}}]}' % content
                single = b'{"features":{"f":%s}}' % content
                rank = b'{"contextFeatures":[{"f":%s}],"actions":[{"id":"a","features":[{"f":%s}]}]}' % (
                    content,
                    content,
                )
                for path, sent, media in (
                    ("m:import", line, "application/x-dsjson"),
                    ("/personalizer/v1.0/rank", rank, "application/json"),
                    ("m/decisions", asked, "application/json"),
                    ("m/decisions:batch", b'{"decisions":[%s]}' % asked, "application/json"),
                    ("label/decisions", single, "application/json"),
                    (
                        "label/examples",
                        b'{"examples":[{"features":{"f":%s},"answer":"a"}]}' % content,
                        "application/json",
                    ),
                ):
                    where = path if path.startswith("/") else f"/v1/models/{path}"
                    answer = caller("POST", where, content=sent, headers={"content-type": media})
                    least = 200 if path in LENIENT else 400
                    assert least <= answer.status_code < 500, (path, levels, answer.text[:200])


class _Names(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "m"


def test_decoders_are_guarded_against_depth() -> None:
    """Code that catches the errors of a decoder catches RecursionError too, by `smidgen.serialization.UNREADABLE`."""
    alone = [
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if path.name != "serialization.py"
        if any(word in path.read_text("utf-8") for word in ("msgspec.DecodeError", "msgspec.MsgspecError"))
    ]
    assert alone == []
    assert issubclass(msgspec.ValidationError, UNREADABLE)
