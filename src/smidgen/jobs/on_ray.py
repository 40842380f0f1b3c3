"""Tasks on Ray: on the cluster that ``RAY_ADDRESS`` names, or on one of our own on this machine, which is closed.

Ray calls functions by pickling the call. What we hand it is a name, a text of JSON and, coming back, numbers and bytes.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec

from smidgen.errors import InvalidArgument, MissingExtra
from smidgen.jobs.listening import beyond_loopback
from smidgen.jobs.processes import Told
from smidgen.jobs.task import Task, WorkFailed, function, heard, told

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
    """So many tasks at a time on Ray.

    Parameters
    ----------
    jobs
        How many; of a cluster that was joined, as many as it holds.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(self, tasks: Sequence[Task]) -> Iterator[Told]:
        """Do tasks; tell how far each is, and its answer. Whatever ends this ends the work."""
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


def _next(ray: Any, task: Any, doing: dict[Any, int]) -> Iterator[Told]:
    """What a task says next."""
    try:
        said = ray.get(next(task))
    except StopIteration:
        raise WorkFailed("a task on Ray ended without an answer", "look into Ray's logs") from None
    except ray.exceptions.RayError as error:
        raise WorkFailed(
            f"a task on Ray failed: {error}", "with --backend processes everything stays on this machine"
        ) from error
    if isinstance(said, str):
        raise heard(msgspec.json.decode(said))
    place = doing[task]
    if isinstance(said, bytes):
        del doing[task]
    yield place, said


def _work(work: str, settings: str) -> Iterator[int | bytes | str]:
    """Do a task there; an error comes back as JSON."""
    try:
        yield from function(work)(msgspec.json.decode(settings))
    except Exception as error:  # whatever a task does: the one who asked is told
        if not told(error)["error"]:
            raise
        yield msgspec.json.encode(told(error)).decode()


@contextmanager
def started(jobs: int) -> Iterator[Any]:
    """Ray, joined or started, and left in the end.

    A cluster of our own listens on the loopback address only, asks for a token that nobody is told, has no dashboard,
    sends no statistics, and keeps its files in a folder that others cannot read. If anything listens further after
    all, it is ended at once and refused.
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
    """The word without which nobody is let in; one for all of this process, since Ray keeps the first that it sees."""
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
            "unset it: smidgen then starts one of its own on this machine",
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
            f"Ray {ray.__version__} listens on {', '.join(found)}, and must not be reached from elsewhere",
            "use --backend processes, or a version of Ray that smidgen is tested with",
        )
