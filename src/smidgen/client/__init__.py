"""The two verbs over HTTP: `Client` and `AsyncClient` speak to a decision service (``smidgen serve``)."""

from __future__ import annotations

from smidgen.errors import MissingExtra

try:
    from smidgen.client.asynchronous import AsyncClient
    from smidgen.client.asynchronous_model import AsyncModel
    from smidgen.client.model import Model
    from smidgen.client.refusals import ServiceError, Unreachable
    from smidgen.client.replies import Answer, Learnt
    from smidgen.client.synchronous import Client
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise MissingExtra("smidgen.Client needs httpx", 'pip install "smidgen[client]"') from error

__all__ = ["Answer", "AsyncClient", "AsyncModel", "Client", "Learnt", "Model", "ServiceError", "Unreachable"]
