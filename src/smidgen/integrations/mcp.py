"""A Model Context Protocol server: an agent asks a decision service, and reports what came of it.

``smidgen mcp --url http://127.0.0.1:8470`` speaks MCP over standard input and output, ``--http PORT`` over HTTP. Five
tools: ``decide``, ``report``, ``explain``, ``health``, ``models``. Each is one call of the service, with the client's
retries: a repeated call neither decides nor learns twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import anyio.to_thread
import msgspec

from smidgen import __version__
from smidgen.client import Client
from smidgen.errors import MissingExtra, SmidgenError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer

INSTRUCTIONS = """\
smidgen learns which option works best from rewards. The loop has two steps:
1. Call decide with a model's name and the options. Use the option it answers, and keep the decision's id.
2. When you know how it went, call report with that id and a reward from 0 (bad) to 1 (good).
Call models to see which models exist, explain to see why a decision was made, health to see what is wrong."""

#: Candidates of a decision: ids alone, or ids with features.
Candidates = list[str] | dict[str, dict[str, Any]]


def create_server(client: Client) -> MCPServer[Any]:
    """Create the MCP server of a decision service.

    Parameters
    ----------
    client
        Calls the service; its token needs the scopes decide and feedback, and read for explain, health and models.
    """
    try:
        from mcp.server import MCPServer
    except ImportError as error:
        raise MissingExtra("The MCP server needs the package mcp.", "pip install 'smidgen[mcp]'") from error
    tools = Tools(client)
    server: MCPServer[Any] = MCPServer(
        "smidgen", title="smidgen decision service", instructions=INSTRUCTIONS, version=__version__
    )
    for tool in (tools.decide, tools.report, tools.explain, tools.health, tools.models):
        server.add_tool(tool, structured_output=True)
    return server


def serve(
    url: str,
    token: str | None = None,
    *,
    transport: Literal["stdio", "streamable-http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8471,
) -> None:
    """Run the MCP server until the agent closes it, or until it is stopped."""
    with Client(url, token) as client:
        server = create_server(client)
        if transport == "stdio":
            server.run("stdio")
        else:
            server.run("streamable-http", host=host, port=port)


class Tools:
    """The tools of the server; an error of the service becomes the tool's error, with its hint."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def decide(
        self,
        model: str,
        candidates: Candidates | None = None,
        context: dict[str, Any] | None = None,
        features: dict[str, Any] | None = None,
        key: str | None = None,
        unit: str | None = None,
        id: str | None = None,
    ) -> dict[str, Any]:
        """Ask a model for a decision. Keep "decision" from the answer: report needs it.

        Parameters
        ----------
        model
            The model's name (call models for the list).
        candidates
            For choose and rank models: the options, as a list of ids, or as an object from id to features.
        context
            For choose, rank and tune models: what is known about the situation, as an object.
        features
            For label and filter models: what describes the thing to decide about, as an object.
        key
            For keyed models: whose decision it is, such as a user's id.
        unit
            For models with a holdout: the person or account that the decision is for.
        id
            An idempotency id of yours: the same id and request give the same decision again.
        """
        body: dict[str, Any] = {"context": context, "features": features, "key": key, "unit": unit, "id": id}
        given = {each: {} for each in candidates} if isinstance(candidates, list) else candidates
        known = {name: value for name, value in body.items() if value is not None}
        return await _call(lambda: self._client.model(model).decide(given, **known))

    async def report(
        self,
        decision: str,
        reward: float | None = None,
        correct: bool | None = None,
        label: str | None = None,
        relevant: bool | None = None,
        better: str | list[str] | None = None,
        clicked: list[str] | None = None,
        loss: float | None = None,
        edited: str | None = None,
    ) -> dict[str, Any]:
        """Report what came of a decision; the model learns from it. Give exactly one kind of feedback.

        Parameters
        ----------
        decision
            The decision's id, from decide.
        reward
            For choose models (and label models by reward): how good the result was, from 0 to 1.
        correct
            For label models: whether the label was right.
        label
            For label models: the right label.
        relevant
            For filter models: whether what was forwarded was relevant.
        better
            For choose and rank models: the better option, or several, best first.
        clicked
            For rank models: the ids that the user clicked, in order.
        loss
            For tune models: the loss at the point that was tried.
        edited
            For draft models: the text as the user left it.
        """
        given = {
            "reward": reward,
            "correct": correct,
            "label": label,
            "relevant": relevant,
            "better": better,
            "clicked": clicked,
            "loss": loss,
            "edited": edited,
        }
        known = {name: value for name, value in given.items() if value is not None}
        return await _call(lambda: self._client.learn(decision, **known))

    async def explain(self, decision: str) -> dict[str, Any]:
        """Tell the story of a decision: what was asked, what was answered and why, what came of it.

        Parameters
        ----------
        decision
            The decision's id.
        """
        return await _call(lambda: self._client.story(decision))

    async def health(self, model: str) -> dict[str, Any]:
        """List what is wrong with a model, the worst first, each with a hint. An empty list is good news.

        Parameters
        ----------
        model
            The model's name.
        """
        return await _call(lambda: {"findings": self._client.health(model)})

    async def models(self) -> dict[str, Any]:
        """List the models: name, loop, learner, how many decisions, how well each does."""
        return await _call(lambda: {"models": self._client.models()})


async def _call(work: Callable[[], Any]) -> dict[str, Any]:
    """Run a call of the blocking client in a thread; an error of ours is the tool's error."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        found: dict[str, Any] = msgspec.to_builtins(await anyio.to_thread.run_sync(work))
    except SmidgenError as error:
        raise ToolError(str(error)) from error
    return {name: value for name, value in found.items() if value not in (None, {}, [])} or found
