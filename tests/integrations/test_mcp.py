"""The MCP server: an agent closes the loop in three calls, in this process, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.live import Live
from smidgen.client import Client
from smidgen.integrations.mcp import create_server

BANNERS = ["red", "blue"]


@pytest.fixture(scope="module", autouse=True)
def mcp() -> Any:
    """The package, imported here: every test process collects this file, and one runs it."""
    return pytest.importorskip("mcp", reason="the package mcp is not installed")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Live(tmp_path_factory.mktemp("data")) as service:
        with Client(service.url) as client:
            client.create("banner", loop="choose")
        yield service.url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


async def call(agent: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await agent.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content
    return found


async def close_the_loop(mcp: Any, server: Any) -> None:
    async with mcp.Client(server) as agent:
        tools = {each.name: each for each in (await agent.list_tools()).tools}
        assert set(tools) == {"decide", "report", "explain", "health", "models"}
        assert all(each.description for each in tools.values())
        made = await call(agent, "decide", model="banner", candidates=BANNERS, context={"device": "phone"})
        assert made["choice"] in BANNERS
        learnt = await call(agent, "report", decision=made["decision"], reward=1.0)
        assert learnt["status"] == "learnt"
        story = await call(agent, "explain", decision=made["decision"])
        assert story["learnt_version"] == learnt["model_version"]


def test_three_calls_close_the_loop_in_this_process(mcp: Any, client: Client) -> None:
    asyncio.run(close_the_loop(mcp, create_server(client)))


def test_three_calls_close_the_loop_over_stdio(mcp: Any, url: str) -> None:
    arguments = ["-m", "smidgen", "mcp", "--url", url]
    asyncio.run(close_the_loop(mcp, mcp.StdioServerParameters(command=sys.executable, args=arguments)))


def test_three_calls_close_the_loop_over_http(mcp: Any, url: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "smidgen", "mcp", "--url", url, "--http", str(port)]
    with (tmp_path / "out").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            _wait(port)
            asyncio.run(close_the_loop(mcp, f"http://127.0.0.1:{port}/mcp"))
        finally:
            process.terminate()


def _wait(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the MCP server does not listen")


def test_health_and_models_are_lists(mcp: Any, client: Client) -> None:
    async def ask() -> None:
        async with mcp.Client(create_server(client)) as agent:
            assert [each["name"] for each in (await call(agent, "models"))["models"]] == ["banner"]
            assert isinstance((await call(agent, "health", model="banner"))["findings"], list)

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("decide", {"model": "nowhere", "candidates": BANNERS}, "nowhere"),
        ("decide", {"model": "banner", "candidates": []}, "candidates"),
        ("report", {"decision": "0" * 24, "reward": 1.0}, "0" * 24),
        ("report", {"decision": "0" * 24}, ""),
    ],
)
def test_an_error_of_the_service_is_the_error_of_the_tool(
    mcp: Any, client: Client, tool: str, arguments: dict[str, Any], says: str
) -> None:
    async def ask() -> Any:
        async with mcp.Client(create_server(client)) as agent:
            return await agent.call_tool(tool, arguments)

    result = asyncio.run(ask())
    assert result.is_error
    assert says in result.content[0].text
