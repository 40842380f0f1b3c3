"""Tokens by themselves: made, looked up, compared, ended, and what they cover."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.mint import Mint
from smidgen.service.http.tokens import EVERYTHING, Rights, Scope, Tokens, require
from smidgen.service.refusals import Impossible, NotAllowed, OutOfScope, Unknown
from smidgen.service.store.memory import MemoryStore
from smidgen.service.store.places import open_store


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
    assert tokens.rights(f"Bearer {token}") == Rights(frozenset({"decide", "feedback"}), "search")
    assert tokens.rights(f"bearer  {admin} ") == Rights(frozenset({"admin"}), None)
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


def test_the_same_in_memory() -> None:
    store = MemoryStore()
    assert Tokens(store).rights(None) == EVERYTHING
    assert store.token(b"?" * 32) is None


@pytest.mark.parametrize("scopes", [[], ["decide", "everything"], [""]])
def test_scopes_are_those_that_there_are(scopes: list[str], mint: Mint) -> None:
    with pytest.raises(Impossible, match="the scopes are"):
        mint.create(scopes, None, 1.0)


@pytest.mark.parametrize("scope", ["decide", "feedback", "admin"])
def test_rights_cover_what_they_say(scope: Scope) -> None:
    for held in ("decide", "feedback", "admin"):
        rights = Rights(frozenset({held}), None)
        if held in (scope, "admin"):
            require(rights, scope)
            require(rights, scope, "any")
        else:
            with pytest.raises(OutOfScope, match=f"may not {scope}"):
                require(rights, scope)
    bound = Rights(frozenset({scope}), "mine")
    require(bound, scope, "mine")
    for model in ("other", None):
        with pytest.raises(OutOfScope, match="another model"):
            require(bound, scope, model)
