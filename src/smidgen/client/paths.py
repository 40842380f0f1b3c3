"""Where things are at a service."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from smidgen.client.replies import Answer


def model(name: str) -> str:
    """Where a model is."""
    return f"/v1/models/{quote(name, safe='')}"


def decision(made: Answer | str) -> str:
    """Where a decision is."""
    return f"/v1/decisions/{quote(made if isinstance(made, str) else made.decision, safe='')}"


def weights(name: str, key: str | None, limit: int | None) -> str:
    """Where the weights of a model are."""
    return f"{model(name)}/weights{_asking(key=key, limit=limit)}"


def taste(name: str, key: str | None) -> str:
    """Where it is said what people's edits tell."""
    return f"{model(name)}/taste{_asking(key=key)}"


def key(name: str, of: str) -> str:
    """Where a key of a model is."""
    return f"{model(name)}/keys/{quote(of, safe='')}"


def token(id: str) -> str:
    """Where a token is."""
    return f"/v1/tokens/{quote(id, safe='')}"


def ubi(actions: Sequence[str] | None) -> str:
    """Where events of user behaviour insights go."""
    return f"/v1/ubi{_asking(actions=','.join(actions) if actions else None)}"


def _asking(**asked: str | int | None) -> str:
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    return f"?{query}" if query else ""
