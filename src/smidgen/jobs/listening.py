"""Where this process and its children listen, as the operating system says it."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

_PROC = Path("/proc")
_LISTENING = "0A"


def beyond_loopback(pid: int | None = None) -> list[str]:
    """The addresses beyond loopback on which a process or one of its children accepts TCP connections.

    Parameters
    ----------
    pid
        The process; this one if left out.

    Returns
    -------
    ``"address:port"`` each, sorted; none on systems without ``/proc``, where nobody can say.

    Examples
    --------
    >>> from smidgen.jobs.listening import beyond_loopback
    >>> beyond_loopback()
    []
    """
    if not (_PROC / "net" / "tcp").exists():
        return []
    ours = {inode for each in family(pid) for inode in _sockets(each)}
    found = {
        f"{address}:{port}"
        for table in ("tcp", "tcp6")
        for address, port, inode in _listeners(table)
        if inode in ours and not _is_loopback(address)
    }
    return sorted(found)


def family(pid: int | None) -> set[int]:
    """A process and all that it started, and they."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            after = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        children.setdefault(int(after[1]), []).append(int(folder.name))
    found: set[int] = set()
    waiting = [pid if pid is not None else int((_PROC / "self").resolve().name)]
    while waiting:
        each = waiting.pop()
        found.add(each)
        waiting += children.get(each, [])
    return found


def _sockets(pid: int) -> set[str]:
    """The inodes of a process's sockets."""
    found = set()
    try:
        for each in (_PROC / str(pid) / "fd").iterdir():
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(each.readlink())):
                found.add(match[1])
    except OSError:  # gone meanwhile
        return found
    return found


def _listeners(table: str) -> list[tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int, str]]:
    """Address, port and inode of every listening socket."""
    try:
        lines = (_PROC / "net" / table).read_text().splitlines()[1:]
    except OSError:
        return []
    rows = (line.split() for line in lines)
    return [(*_address(row[1]), row[9]) for row in rows if row[3] == _LISTENING]


def _address(text: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    """An address as Linux writes it: words of four bytes, each in the order of this machine."""
    host, _, port = text.partition(":")
    words = bytes.fromhex(host)
    raw = b"".join(words[i : i + 4][::-1] for i in range(0, len(words), 4))
    return ipaddress.ip_address(raw), int(port, 16)


def _is_loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
