"""The two verbs over HTTP: `Client` and `AsyncClient` speak to a decision service (``smidgen serve``)."""

from __future__ import annotations

from smidgen.errors import MissingExtra

try:
    from smidgen.client.aio import AsyncClient, AsyncModel
    from smidgen.client.sync import Client, Model
    from smidgen.client.wire import Answer, Learnt, ServiceError, Unreachable
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise MissingExtra("smidgen.Client needs httpx", 'pip install "smidgen[client]"') from error

__all__ = ["Answer", "AsyncClient", "AsyncModel", "Client", "Learnt", "Model", "ServiceError", "Unreachable"]
