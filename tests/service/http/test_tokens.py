"""Tokens by themselves: made, looked up, compared, ended, and what they cover."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import Clock
from service.memory import MemoryStore
from service.older_schema import SQLITE
from service.tokens import Mint
from smidgen.service.engine.inspection import Inspection, open_for_change
from smidgen.service.errors import Impossible, NotAllowed, OutOfScope, Unknown
from smidgen.service.http import resources
from smidgen.service.http.auth import EVERYTHING, USED_S, Rights, Tokens, create, expiry
from smidgen.service.http.rights import ModelAccess, Rule, judge
from smidgen.service.log.events import stamp
from smidgen.service.storage.address import open_store
from smidgen.service.storage.records import SCOPES


@pytest.fixture
def mint(tmp_path: Path) -> Mint:
    open_store(tmp_path).close()
    return Mint(tmp_path)


def test_a_token_from_its_making_to_its_end(mint: Mint) -> None:
    store = open_store(mint.folder)
    tokens = Tokens(store)
    assert not tokens.any()
    assert tokens.rights(None) == tokens.rights("nonsense") == EVERYTHING, "as long as there is none, none is needed"
    id, token = mint.create(["feedback", "decide", "decide"], "search", 1.0)
    other, admin = mint.create(["admin"], None, 2.0)
    assert tokens.any()
    assert tokens.rights(f"Bearer {token}") == Rights(frozenset({"decide", "feedback"}), "search", id)
    assert tokens.rights(f"bearer  {admin} ") == Rights(frozenset({"admin"}), None, other)
    assert [(row.id, row.scopes, row.model) for row in tokens.list()] == [
        (id, "decide,feedback", "search"),
        (other, "admin", None),
    ]
    for header in (None, "", "Bearer", "Bearer ", f"Basic {token}", f"Bearer {token[:-1]}", f"Bearer {token}x"):
        with pytest.raises(NotAllowed):
            tokens.rights(header)
    mint.revoke(id, 3.0)
    with pytest.raises(NotAllowed, match="not valid"):
        tokens.rights(f"Bearer {token}")
    assert tokens.rights(f"Bearer {admin}").model is None
    with pytest.raises(Unknown, match="no valid token"):
        mint.revoke(id, 4.0)
    mint.revoke(other, 4.0)
    with pytest.raises(NotAllowed):
        tokens.rights(None)  # also when all are ended
    store.close()


def test_tokens_of_an_older_schema_are_kept(mint: Mint) -> None:
    id, token = mint.create(["decide"], "m", 1.0)
    with closing(sqlite3.connect(mint.folder / "smidgen.db")) as connection:
        for column in ("name", "expires_at", "used_at"):
            connection.execute(f"ALTER TABLE tokens DROP COLUMN {column}")
        for statement in SQLITE:
            connection.execute(statement)
        connection.execute("DELETE FROM migrations WHERE version > 5")
        connection.commit()
    with Inspection(mint.folder) as seen:
        assert [row.id for row in seen.reading.tokens()] == [id], "who only looks reads it as it is"
    store = open_store(mint.folder)
    assert Tokens(store).rights(f"Bearer {token}") == Rights(frozenset({"decide"}), "m", id)
    (row,) = store.tokens()
    assert (row.name, row.expires_at, row.used_at) == (None, None, None)
    store.close()
    with closing(sqlite3.connect(mint.folder / "smidgen.db")) as connection:
        records = connection.execute("SELECT version, what FROM migrations ORDER BY version").fetchall()
    assert (6, "names, expiry and last use of tokens") in records


def test_the_same_in_memory() -> None:
    store = MemoryStore()
    assert Tokens(store).rights(None) == EVERYTHING
    assert store.token(b"?" * 32) is None


@pytest.mark.parametrize("scopes", [[], ["decide", "everything"], [""]])
def test_scopes_are_those_that_there_are(scopes: list[str], mint: Mint) -> None:
    with pytest.raises(Impossible, match="the scopes are"):
        mint.create(scopes, None, 1.0)


def test_a_token_expires(mint: Mint) -> None:
    clock = Clock()
    with open_for_change(mint.folder) as store:
        _, token = create(store, ["read"], None, clock(), name="Grafana", expires_at=clock() + 60.0)
    store = open_store(mint.folder)
    tokens = Tokens(store, clock=clock)
    assert tokens.rights(f"Bearer {token}").scopes == {"read"}
    clock.now += 59.9
    assert tokens.rights(f"Bearer {token}").scopes == {"read"}
    clock.now += 0.1
    with pytest.raises(NotAllowed, match="has expired"):
        tokens.rights(f"Bearer {token}")
    with pytest.raises(NotAllowed, match="the request has no token"):
        tokens.rights(None)  # an expired token does not open the service
    store.close()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("12h", 43_200.0),
        ("30d", 2_592_000.0),
        ("8w", 4_838_400.0),
        ("1970-01-31", 2_592_000.0 - 1000.0),
        ("1970-01-31T00:00:00Z", 2_592_000.0 - 1000.0),
        ("1970-01-31T01:00:00+01:00", 2_592_000.0 - 1000.0),
    ],
)
def test_an_expiry_is_a_span_or_a_time(text: str, seconds: float) -> None:
    assert expiry(text, 1000.0) == 1000.0 + seconds


@pytest.mark.parametrize(
    "text", ["", "30", "d", "30y", "-1d", "1.5d", "tomorrow", "2026-13-01", "30d ", "3٣d", "9" * 40]
)
def test_an_expiry_that_is_none(text: str) -> None:
    with pytest.raises(Impossible, match="the token's expiry is"):
        expiry(text, 0.0)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"expires_at": 5.0}, "has passed"),
        ({"expires_at": 2e11}, "a thousand years"),
        ({"expires_at": float("nan")}, "a thousand years"),
        ({"name": ""}, "the token's name"),
        ({"name": "x" * 101}, "the token's name"),
        ({"name": "a\nb"}, "the token's name"),
    ],
)
def test_names_and_expiries_that_are_refused(mint: Mint, more: dict[str, Any], problem: str) -> None:
    with pytest.raises(Impossible, match=problem), open_for_change(mint.folder) as store:
        create(store, ["read"], None, 5.0, **more)


def test_the_last_use_is_due_once_a_minute(mint: Mint) -> None:
    clock = Clock()
    id, token = mint.create(["read"], None, 0.0)
    store = open_store(mint.folder)
    tokens = Tokens(store, clock=clock)
    assert tokens.uses() == {}
    tokens.rights(f"Bearer {token}")
    first = clock.now
    assert tokens.uses() == {id: first}
    assert tokens.uses() == {}
    clock.now += USED_S - 1.0
    tokens.rights(f"Bearer {token}")
    assert tokens.uses() == {}, "not yet a minute"
    clock.now += 1.0
    tokens.rights(f"Bearer {token}")
    due = {id: clock.now}
    assert tokens.uses() == due
    tokens.put_back(due)
    assert tokens.uses() == due, "it could not be written, so it stays due"
    with pytest.raises(NotAllowed):
        tokens.rights(f"Bearer {token}x")
    assert tokens.uses(0.0) == {}, "a wrong token is no use"
    store.close()


@pytest.mark.parametrize("scope", SCOPES)
def test_a_rule_admits_the_scopes_that_it_names_and_admin(scope: str) -> None:
    rule = Rule((scope,), ModelAccess.PATH)
    for held in SCOPES:
        rights = Rights(frozenset({held}), None)
        if held in (scope, "admin"):
            judge(rule, rights)
            judge(rule, rights, "any")
        else:
            with pytest.raises(OutOfScope, match="scopes do not allow"):
                judge(rule, rights)
    bound = Rights(frozenset({scope}), "mine")
    judge(rule, bound, "mine")
    for names in (("other",), ("mine", "other")):
        with pytest.raises(OutOfScope, match="another model"):
            judge(rule, bound, *names)
    with pytest.raises(OutOfScope, match="another model"):
        judge(rule._replace(models=ModelAccess.SERVICE), bound)


class TestOverHttp:
    """Tokens listed, created and revoked by calls."""

    @pytest.fixture
    def admin(self, call: Caller, tmp_path: Path) -> dict[str, str]:
        """The header of a token that may do everything."""
        return {"authorization": f"Bearer {Mint(tmp_path).create(['admin'], None, 0.0)[1]}"}

    def test_from_creation_to_revocation(self, call: Caller, clock: Clock, admin: dict[str, str]) -> None:
        body = {"scopes": ["read", "decide"], "name": "Web shop", "model": "m", "expires": "1h"}
        made = call.post("/v1/tokens", body, headers=admin)
        assert made.status_code == 201
        reply = made.json()
        secret = reply.pop("token")
        assert secret.startswith("smidgen_")
        assert (reply["name"], reply["scopes"], reply["model"]) == ("Web shop", ["decide", "read"], "m")
        assert (reply["created_at"], reply["expires_at"]) == (stamp(clock.now), stamp(clock.now + 3600.0))
        assert reply["last_used_at"] is reply["revoked_at"] is None
        listed = call.get("/v1/tokens", headers=admin)
        assert listed.json()["tokens"][-1] == reply
        assert secret not in listed.text
        assert hashlib.sha256(secret.encode()).hexdigest() not in listed.text
        own = {"authorization": f"Bearer {secret}"}
        assert call.get("/v1/models", headers=own).status_code == 200
        assert call.get("/v1/tokens", headers=own).status_code == 403
        ended = call("DELETE", f"/v1/tokens/{reply['id']}", headers=admin)
        assert ended.json() == reply | {"revoked_at": stamp(clock.now)}
        assert call.get("/v1/models", headers=own).status_code == 401
        again = call("DELETE", f"/v1/tokens/{reply['id']}", headers=admin)
        assert (again.status_code, again.json()["error"]["code"]) == (404, "unknown")

    def test_one_that_has_expired_is_401(self, call: Caller, clock: Clock, admin: dict[str, str]) -> None:
        secret = call.post("/v1/tokens", {"scopes": ["read"], "expires": "1h"}, headers=admin).json()["token"]
        own = {"authorization": f"Bearer {secret}"}
        assert call.get("/v1/models", headers=own).status_code == 200
        clock.now += 3600.0
        answer = call.get("/v1/models", headers=own)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not_allowed")
        assert "expired" in answer.json()["error"]["message"]

    @pytest.mark.parametrize(
        "body",
        [
            {"scopes": []},
            {"scopes": ["everything"]},
            {},
            {"scopes": ["read"], "expires": "soon"},
            {"scopes": ["read"], "expires": "1970-01-02"},
            {"scopes": ["read"], "name": "\u0000"},
            {"scopes": ["read"], "model": "a b"},
            {"scopes": ["read"], "id": "x"},
        ],
    )
    def test_what_is_none(self, call: Caller, admin: dict[str, str], body: Any) -> None:
        before = call.get("/v1/tokens", headers=admin).json()
        answer = call.post("/v1/tokens", body, headers=admin)
        assert answer.status_code == 422, answer.text
        assert call.get("/v1/tokens", headers=admin).json() == before

    def test_no_admin_of_one_model_may(self, call: Caller, tmp_path: Path) -> None:
        own = {"authorization": f"Bearer {Mint(tmp_path).create(['admin'], 'm', 0.0)[1]}"}
        id, _ = Mint(tmp_path).create(["read"], None, 0.0)
        answers = [
            call.get("/v1/tokens", headers=own),
            call.post("/v1/tokens", {"scopes": ["read"], "model": "m"}, headers=own),
            call("DELETE", f"/v1/tokens/{id}", headers=own),
            call("DELETE", "/v1/tokens/nobody", headers=own),
        ]
        assert {(each.status_code, each.content) for each in answers} == {(403, answers[0].content)}

    def test_the_first_one_closes_the_service(self, call: Caller) -> None:
        secret = call.post("/v1/tokens", {"scopes": ["admin"]}).json()["token"]
        assert call.get("/v1/tokens").status_code == 401
        assert call.get("/v1/tokens", headers={"authorization": f"Bearer {secret}"}).status_code == 200

    def test_the_last_use_is_written_while_it_runs_and_at_the_end(
        self, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(resources, "NOTE_S", 0.01)
        id, secret = Mint(tmp_path).create(["admin"], None, 0.0)
        own = {"authorization": f"Bearer {secret}"}

        def seen() -> str | None:
            (reply,) = call.get("/v1/tokens", headers=own).json()["tokens"]
            return None if reply["last_used_at"] is None else str(reply["last_used_at"])

        with Caller(tmp_path, clock=clock) as call:
            first, until = stamp(clock.now), time.monotonic() + 20.0
            seen()
            while seen() is None and time.monotonic() < until:
                time.sleep(0.02)
            assert seen() == first
            commits = call.app.state.service.writer.commits
            clock.now += 30.0
            for _ in range(5):
                seen()
                time.sleep(0.02)
            assert (seen(), call.app.state.service.writer.commits) == (first, commits), "at most once a minute"
        with Inspection(tmp_path) as inspection:
            (row,) = inspection.reading.tokens()
        assert (row.id, row.used_at) == (id, clock.now), "what is due at the end is written then"
