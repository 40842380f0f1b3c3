"""Tasks on Ray: on the cluster that ``RAY_ADDRESS`` names, or on one of our own on this machine, which is closed.

Ray calls functions by pickling the call. What we hand it is a name, a text of JSON and, coming back, numbers and bytes.
A cluster of our own may not listen beyond this machine: the operating system says where its processes listen.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from smidgen.errors import InvalidArgument, MissingExtra
from smidgen.jobs.processes import TaskMessage
from smidgen.jobs.task import Task, WorkFailed, dump_error, function, load_error

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
    ``"address:port"`` each, sorted; empty on systems without ``/proc``.

    Examples
    --------
    >>> from smidgen.jobs.ray import beyond_loopback
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


LOOPBACK = "127.0.0.1"
#: Bytes of Ray's shared memory: answers are small.
SHARED = 128 << 20
#: How our own cluster is started. The first makes Ray keep the loopback address that it is given; without it, Ray puts
#: the machine's outside address in its place on Linux, and listens everywhere (2.60). Ray reads it when it is imported.
CLOSED = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
}


class OnRay:
    """Run tasks on Ray.

    Parameters
    ----------
    jobs
        Number of tasks at a time; for an existing cluster, the number that it can hold.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskMessage]:
        """Run tasks; yield the progress and the answer of each. Closing the iterator ends the work."""
        with started(self.jobs) as ray:
            remote = ray.remote(num_cpus=1, num_returns="streaming", max_retries=0)(_work)
            doing = {
                remote.remote(task.work, msgspec.json.encode(task.settings).decode()): place
                for place, task in enumerate(tasks)
            }
            try:
                while doing:
                    ready, _ = ray.wait(list(doing), num_returns=1)
                    yield from _next(ray, ready[0], doing)
            finally:
                for each in doing:
                    ray.cancel(each, force=True)


def _next(ray: Any, task: Any, doing: dict[Any, int]) -> Iterator[TaskMessage]:
    """Next message of a task."""
    try:
        said = ray.get(next(task))
    except StopIteration:
        raise WorkFailed("a task on Ray ended without a result", "check Ray's logs") from None
    except ray.exceptions.RayError as error:
        raise WorkFailed(
            f"a task on Ray failed: {error}", "use --backend processes to run on this machine only"
        ) from error
    if isinstance(said, str):
        raise load_error(msgspec.json.decode(said))
    place = doing[task]
    if isinstance(said, bytes):
        del doing[task]
    yield place, said


def _work(work: str, settings: str) -> Iterator[int | bytes | str]:
    """Do a task there; an error comes back as JSON."""
    try:
        yield from function(work)(msgspec.json.decode(settings))
    except Exception as error:  # any exception is reported to the caller
        if not dump_error(error)["error"]:
            raise
        yield msgspec.json.encode(dump_error(error)).decode()


@contextmanager
def started(jobs: int) -> Iterator[Any]:
    """Ray, joined or started, and left in the end.

    A cluster that smidgen starts listens on the loopback address only, requires a secret token, has no dashboard, sends
    no statistics, and keeps its files in a private folder. If it listens on another address after all, smidgen stops it
    at once and raises an error.
    """
    address, before = os.environ.get("RAY_ADDRESS"), dict(os.environ)
    if not address:
        os.environ.update(CLOSED, RAY_AUTH_TOKEN=_token())
    folder = tempfile.mkdtemp(prefix="smidgen-ray-")
    try:
        ray = _ray()
        if address:
            _join(ray, address)
        else:
            _start(ray, jobs, folder)
        try:
            yield ray
        finally:
            ray.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for name in (*CLOSED, "RAY_AUTH_TOKEN"):
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]


@cache
def _token() -> str:
    """The token of the cluster; one per process, because Ray keeps the first one that it sees."""
    return secrets.token_hex(32)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("the Ray backend needs ray", 'pip install "smidgen[ray]"') from error
    if ray.is_initialized():
        raise InvalidArgument("Ray is running in this process already", "call ray.shutdown() first")
    return ray


def _join(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False)
    except ConnectionError as error:
        raise InvalidArgument(
            f"there is no Ray cluster at RAY_ADDRESS={address}",
            "unset it, and smidgen starts a cluster on this machine",
        ) from error


def _start(ray: Any, jobs: int, folder: str) -> None:
    ray.init(
        address="local",
        num_cpus=jobs,
        num_gpus=0,
        include_dashboard=False,
        object_store_memory=SHARED,
        log_to_driver=False,
        logging_level="error",
        _node_ip_address=LOOPBACK,
        _temp_dir=folder,
    )
    if found := beyond_loopback():
        ray.shutdown()
        raise WorkFailed(
            f"Ray {ray.__version__} listens on {', '.join(found)}, which other machines can reach",
            "use --backend processes, or a version of Ray that smidgen is tested with",
        )
