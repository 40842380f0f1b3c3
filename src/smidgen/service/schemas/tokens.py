"""Bodies of tokens: the body that creates one, and the replies."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from smidgen.service.schemas.common import Message, Name


class TokenBody(Message, kw_only=True):
    """A token to create.

    ``scopes`` are what it is valid for. ``model`` limits it to one model. ``expires`` is a span from now (``12h``,
    ``30d``, ``8w``) or a date or time in UTC (``2026-12-31``); without it the token does not expire.

    Attributes
    ----------
    scopes
        What the token is valid for.
    name
        A label for people.
    model
        Limits the token to one model.
    expires
        A span from now (12h, 30d, 8w), or a date or time in UTC.
    """

    scopes: Annotated[list[Literal["decide", "feedback", "read", "admin"]], Meta(min_length=1, max_length=4)]
    name: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    model: Name | None = None
    expires: Annotated[str, Meta(max_length=40)] | None = None


class TokenReply(Struct, kw_only=True):
    """A token without its secret. ``last_used_at`` is exact to about a minute.

    Attributes
    ----------
    id
        The token's id, which is no secret.
    name
        Its label, or null.
    scopes
        What it is valid for.
    model
        The only model that it is valid for, or null.
    created_at
        When it was created.
    expires_at
        When it expires, or null.
    last_used_at
        When it was last used, to about a minute, or null.
    revoked_at
        When it was revoked, or null.
    """

    id: str
    name: str | None
    scopes: list[str]
    model: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class CreatedTokenReply(TokenReply, kw_only=True):
    """A token that was just created: ``token`` is the secret, shown this once.

    Attributes
    ----------
    token
        The secret, shown this once.
    """

    token: str


class TokensReply(Struct, kw_only=True):
    """All tokens, in the order of their creation.

    Attributes
    ----------
    tokens
        Tokens in the order of their creation.
    """

    tokens: list[TokenReply]
