"""Lines between workers on different machines: both ends prove that they know a secret, and so does every frame.

The secret is kept in the store, so everyone who can read the store can be a peer. Each end sends a random number; from
both numbers and the secret follows one key for each direction. A frame carries an HMAC-SHA256 of its number on the line
and its content. A frame that is foreign, changed, repeated, missing or of another line does not fit, and ends the line.
Frames are not encrypted.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
from contextlib import suppress
from typing import NamedTuple

from smidgen.service.errors import NotAllowed

_MARK = b"smidgen peer 1\n\0"
_RANDOM, _DIGEST = 16, 32
#: Bytes that each end sends first.
HELLO = len(_MARK) + _RANDOM
#: Seconds within which both ends must have proved that they know the secret.
PROOF_S = 5.0
#: The largest frames that are accepted: of requests, whose bodies have at most 64 KB, and of replies.
LARGEST_REQUEST, LARGEST_REPLY = 256 << 10, 16 << 20


class PeerAddress(NamedTuple):
    """Address at which a worker listens for workers of other machines.

    Attributes
    ----------
    host, port
        The address; port 0 is any free one.
    """

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> PeerAddress:
        """Read ``HOST:PORT``, or ``[HOST]:PORT`` for an address of IPv6.

        Examples
        --------
        >>> from smidgen.service.http.peers import PeerAddress
        >>> PeerAddress.of("10.0.0.7:8480"), str(PeerAddress.of("[::1]:8480"))
        (PeerAddress(host='10.0.0.7', port=8480), '[::1]:8480')
        """
        host, found, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
        is_everywhere = host == "*"
        if not found or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise NotAllowed(f"--peer is {text!r}", "give an address and a port, e.g. --peer 10.0.0.7:8480")
        with suppress(ValueError):
            is_everywhere = ipaddress.ip_address(host).is_unspecified
        if is_everywhere:
            raise NotAllowed(
                f"--peer is {text!r}, and other machines cannot connect to {host}",
                "give the address of this machine in the network of the workers",
            )
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Seal:
    """The proofs of one end of a line.

    Parameters
    ----------
    secret
        Known to both ends.
    is_front
        Whether this end sends requests.

    Attributes
    ----------
    hello
        The first bytes that this end sends.
    """

    def __init__(self, secret: bytes, *, is_front: bool) -> None:
        self._secret = secret
        self._is_front = is_front
        self._own = os.urandom(_RANDOM)
        self._keys = b"", b""  # of frames that are sent, and of those that are received
        self._sent = self._received = 0
        self.hello = _MARK + self._own

    @property
    def is_agreed(self) -> bool:
        """True if the keys are known."""
        return bool(self._keys[0])

    def agree(self, hello: bytes) -> bool:
        """Derive the keys from the first bytes of the other end; False if it is not a peer."""
        other = hello[len(_MARK) :]
        if not hello.startswith(_MARK) or len(hello) != HELLO or other == self._own:
            return False
        both = self._own + other if self._is_front else other + self._own
        front, engine = (hmac.digest(self._secret, name + both, "sha256") for name in (b"front", b"engine"))
        self._keys = (front, engine) if self._is_front else (engine, front)
        return True

    def close(self, content: bytes) -> bytes:
        """Add the proof to a frame that is sent."""
        self._sent += 1
        return _digest(self._keys[0], self._sent, content) + content

    def open(self, frame: bytes) -> bytes | None:
        """Remove the proof of a frame that was received; None if it does not fit."""
        self._received += 1
        content = frame[_DIGEST:]
        fits = hmac.compare_digest(_digest(self._keys[1], self._received, content), frame[:_DIGEST])
        return content if fits else None


def _digest(key: bytes, number: int, content: bytes) -> bytes:
    return hmac.digest(key, number.to_bytes(8, "big") + content, "sha256")
