"""Listening sockets, as the kernel reports them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from smidgen.jobs.ray import beyond_loopback


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(
    ("address", "family", "seen"),
    [
        ("127.0.0.1", socket.AF_INET, False),
        ("127.0.0.9", socket.AF_INET, False),
        ("0.0.0.0", socket.AF_INET, True),
        ("::1", socket.AF_INET6, False),
        ("::ffff:127.0.0.1", socket.AF_INET6, False),
        ("::", socket.AF_INET6, True),
    ],
)
def test_only_what_others_can_reach_is_named(address: str, family: int, seen: bool) -> None:
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        server.bind((address, 0))
    except OSError as error:
        server.close()
        pytest.skip(f"this machine cannot listen on {address}: {error}")
    with server:
        server.listen()
        port = server.getsockname()[1]
        assert any(each.endswith(f":{port}") for each in beyond_loopback()) is seen
    assert not any(each.endswith(f":{port}") for each in beyond_loopback())
