"""A PostgreSQL server of one's own, in a temporary folder, on a Unix socket: start, stop, kill, databases."""

from __future__ import annotations

import atexit
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 120
shared_buffers = 16MB
max_wal_size = 128MB
fsync = on
synchronous_commit = on
full_page_writes = on
autovacuum = off
logging_collector = off
"""


def binaries() -> Path | None:
    """Folder of the server's programs, or None."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (config := shutil.which("pg_config")) is not None:
        said = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        places.insert(0, Path(said.stdout.strip()))
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


def missing() -> str | None:
    """Why there can be no server here, or None."""
    if binaries() is None:
        return "there is no PostgreSQL server (Debian: postgresql)"
    if os.getuid() == 0 and _user() is None:
        return "a PostgreSQL server does not run as root, and there is no user postgres"
    return None


class Cluster:
    """A server with its data.

    Attributes
    ----------
    folder
        Where its data, its socket and its log are.
    """

    def __init__(self) -> None:
        place = binaries()
        assert place is not None
        self._binaries = place
        self.folder = _folder()
        self._numbers = itertools.count()
        _run(self.folder, "cp", "--archive", str(_new_data(place)), self._data)
        (self.folder / "data" / "postgresql.auto.conf").write_text(_SETTINGS.format(folder=self.folder))
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    @property
    def log(self) -> str:
        """Output of the server."""
        return (self.folder / "log").read_text()

    def start(self) -> None:
        """Start it, and wait until it can be asked."""
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", self._data, "-l", str(self.folder / "log"))

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop it; ``immediate`` is as if the machine had lost its power, but for what the system still writes."""
        self._run("pg_ctl", "stop", "-w", "-t", "60", "-m", mode, "-D", self._data)

    def restart(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop it and start it again."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """Stop it, and leave nothing."""
        self._run("pg_ctl", "stop", "-w", "-t", "60", "-m", "immediate", "-D", self._data, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres", **options: str) -> str:
        """URL of a database."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://postgres@/{database}?host={self.folder}{more}"

    def fresh(self, **options: str) -> str:
        """URL of a new, empty schema."""
        patient = {"idle_s": "60"}  # kernels may have to be compiled in the midst of a batch
        return self.url(schema=f"s{os.getpid()}_{next(self._numbers)}", **(patient | options))

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        _run(self.folder, str(self._binaries / program), *arguments, check=check)


@cache
def _new_data(place: Path) -> Path:
    """Data of a server that nobody has used: to make it takes a second, to copy it a moment."""
    folder = _folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    data = folder / "data"
    initdb = [str(place / "initdb"), "--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8"]
    _run(folder, *initdb, "-D", str(data))
    return data


def _folder() -> Path:
    """A new folder of the user who runs the server."""
    folder = Path(tempfile.mkdtemp(prefix="smidgen-postgres-"))
    if (user := _user()) is not None and os.getuid() == 0:
        os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o755)
    return folder


def _run(folder: Path, program: str, *arguments: str, check: bool = True) -> None:
    command = [program, *arguments]
    if os.getuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
    # Output goes to a file: the server inherits it, and a pipe would never end.
    with (folder / "said").open("a") as said:
        done = subprocess.run(command, stdout=said, stderr=said, check=False, cwd=folder)
    if check and done.returncode:
        log = folder / "log"
        raise AssertionError(
            f"{program} failed: {(folder / 'said').read_text()}{log.read_text() if log.exists() else ''}"
        )


def _user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None
