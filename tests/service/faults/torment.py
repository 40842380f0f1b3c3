"""One data folder, its clients and its disk, and all that can happen to them: one life of a service after the other."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from service.bodies import engine_with
from service.faults.clients import Stubborn
from service.faults.journal import Kind, read
from service.faults.power import Disk as Model
from service.faults.shim import ANYTHING, Action, Control, Files
from service.faults.tally import Tally
from service.killable_services import (
    NAMES,
    OPTIONS,
    Disk,
    Line,
    Nursery,
    Refused,
    Victim,
    all_work,
    check_folder,
    check_here,
)
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.inspection import Inspection
from smidgen.service.errors import StorageFailed
from smidgen.service.storage import crash_points

#: Pages of the log after which it is copied into the database, so that short lives see it happen.
CHECKPOINT = 25
#: For how many acknowledgements one waits before something happens, at most, and for how many seconds.
SOME, LIFE = 30, 4.0
#: For how many seconds one waits for the first acknowledgement of a life that must have one.
PATIENCE = 30.0
POINTS = [name for name in crash_points.POINTS if name != "migration"]
PASSINGS = {"snapshot-aside": 3, "snapshot-renamed": 3, "snapshot-synced": 3, "key-state-written": 6}


class Torment:
    """A folder that is never left alone.

    Parameters
    ----------
    nursery
        Where services come from; with the shim, if there is to be more than kills.
    folder
        Where the disk is made.
    seed
        Decides everything that is drawn.
    tally
        What is counted.
    """

    def __init__(self, nursery: Nursery, folder: Path, seed: int, tally: Tally, clients: int = 3) -> None:
        self.root = folder / "disk"
        self.data = self.root / "data"
        self.rng = random.Random(seed)
        self.writers = [Stubborn(number, seed) for number in range(clients)]
        self.tally = tally
        self._nursery = nursery
        self._folder = folder
        self._lives = 0
        self.root.mkdir(parents=True)
        self.control = Control(folder / "control")

    def close(self) -> None:
        self.control.close()

    def settle(self) -> None:
        """Make the folder and its models in peace."""
        engine_with(self.data, list(NAMES)).store.close()

    # What can happen

    def kill(self) -> None:
        """Kill -9 at any time, or at a named point."""
        point = self.rng.choice(["", *POINTS])
        crash_at = f"{point}:{self.rng.randint(1, PASSINGS.get(point, 25))}" if point else ""
        self._life("kill -9", lambda victim: self._some(victim), crash_at)
        self._check("kill -9")

    def pause(self) -> None:
        """SIGSTOP in the midst of it, SIGCONT a little later; sometimes it is killed while it stands still."""

        def meanwhile(victim: Victim) -> None:
            for _ in range(self.rng.randint(1, 3)):
                self._some(victim, SOME // 3)
                os.kill(victim.pid, signal.SIGSTOP)
                time.sleep(self.rng.uniform(0.0, 0.2))
                if self.rng.random() < 0.3:
                    return
                os.kill(victim.pid, signal.SIGCONT)
            self._some(victim, SOME // 3)

        self._life("pause, then kill -9", meanwhile)
        self._check("pause, then kill -9")

    def clock(self) -> None:
        """The wall clock jumps by up to three days, forth and back."""

        def meanwhile(victim: Victim) -> None:
            for _ in range(3):
                self._some(victim, SOME // 4)
                self.control.set(clock_ns=int(self.rng.uniform(-3, 3) * 86_400 * 1e9))
            self._some(victim, SOME // 4)

        self._life("clock jumps, then kill -9", meanwhile)
        self._check("clock jumps, then kill -9")

    def slow(self) -> None:
        """Every write and every sync takes its time."""
        self.control.set(delay_us=self.rng.choice([200, 2_000, 20_000]))
        self._life("slow disk, then kill -9", lambda victim: self._some(victim))
        self.control.peace()
        self._check("slow disk, then kill -9")

    def full(self) -> None:
        """The disk is full for a while; then there is space again, and the service must go on by itself."""

        def meanwhile(victim: Victim) -> None:
            self._some(victim, SOME // 2)
            before = self._refusals()
            self.control.set(full=1)
            _wait(lambda: self._refusals() > before + 3, LIFE)
            self.control.set(full=0)
            self._until_ready(victim)
            self._some(victim, SOME // 2)

        self._life("disk full, then kill -9", meanwhile)
        self._check("disk full, then kill -9")

    def fault(
        self, action: Action, kind: Kind, files: Files, *, nth: int | None = None, times: int | None = None
    ) -> int:
        """An operation of the disk goes wrong, once or some times in a row; the service recovers by itself.

        Gives the number of those that went wrong.
        """
        what = WORDS[action].format(WHAT[kind])
        error = self.rng.choice([errno.EIO, errno.ENOSPC])
        self.control.order(
            action,
            kinds=(kind,),
            files=files,
            nth=nth or self.rng.randint(1, 30),
            times=times or self.rng.choice([1, 1, 2, 40]),
            error=error,
            part=self.rng.choice([1, 250, 500, 999]),
        )

        def meanwhile(victim: Victim) -> None:
            before = self._acknowledged()
            enough = before + 2 * SOME  # it may never come to this
            _wait(lambda: self.control.fired == self.control.times or self._acknowledged() > enough, LIFE)
            self.control.peace()
            if action is not Action.DROP:
                self._until_ready(victim)
                self._some(victim, 10)
            _wait(lambda: self._acknowledged() > before or not victim.alive, PATIENCE)

        self._life(what, meanwhile)
        fired = self.control.fired
        self.control.peace()
        self.tally.add(what, faults=fired)
        if action is Action.DROP and kind is not Kind.SYNC:
            self._check_lie(what)
        else:
            self._check(what)
        return fired

    def power(self, folders: int = 4, *, lie: bool = False) -> None:
        """The power fails at some operation of the disk. Several folders that may be left are looked at.

        With ``lie`` the disk has said of some syncs that they were done, and they were not.
        """
        what = "power loss after syncs that were a lie" if lie else "power loss"
        model, journal = Model(self.root), self._journal()
        self.control.set(unsynced=1)
        if lie:
            self.control.order(Action.DROP, kinds=(Kind.SYNC,), nth=self.rng.randint(5, 40), times=10_000)
        else:
            self.control.order(
                self.rng.choice([Action.KILL, Action.TEAR_AND_KILL]),
                kinds=ANYTHING,
                nth=int(self.rng.triangular(1, 500, 30)),
                part=self.rng.choice([1, 250, 500, 999]),
            )
        self._life(what, lambda victim: self._some(victim, SOME if lie else 4 * SOME), journal=journal)
        self.control.peace()
        self.control.set(unsynced=0)
        model.take(read(journal))
        copy = self._folder / "copy"
        for number in range(folders):
            model.lose_power(number if number < 2 else self.rng.randrange(2, 1 << 30), copy)
            (self._check_lie if lie else self._check)(what, copy / "data")
        if lie:
            shutil.rmtree(self.root)  # nothing that is left is owed to anybody
            self.root.mkdir()
            self.writers = [Stubborn(each.number, self.rng.randrange(1 << 30)) for each in self.writers]
        else:
            model.lose_power(self.rng.randrange(2, 1 << 30), self.root)

    def finish(self) -> None:
        """One more life in peace: what was cut off is sent again, and then everything is there, once."""
        victim = self._start("the last life", "", self._journal())
        assert victim is not None
        all_work(self.writers, victim.url, lambda: None, until_idle=True)
        assert victim.end(signal.SIGTERM) == 0
        self._check("the last life")
        assert all(writer.learnt.keys() | writer.late == writer.sent.keys() for writer in self.writers)

    # How it is done

    def _life(
        self, what: str, meanwhile: Callable[[Victim], None], crash_at: str = "", journal: Path | None = None
    ) -> None:
        """Start a service, let the clients write, and kill it."""
        before = self._acknowledged(), self._refusals()
        try:
            victim = self._start(what, crash_at, journal or self._journal())
        except Refused:
            self.tally.add(what, starts_refused=1)
            lied = self.control.action == Action.DROP
            self.control.peace()
            try:
                victim = self._start(what, "", journal or self._journal())
            except Refused:
                if not lied:  # the disk is well again, and nothing has been lost
                    raise
                victim = None
        if victim is not None:
            alive = victim  # for the function below

            def then_kill() -> None:
                meanwhile(alive)
                alive.kill()

            all_work(self.writers, victim.url, then_kill)
            code = victim.end(None)
            assert code == -signal.SIGKILL, (code, (self._folder / "errors.txt").read_text())
        after = self._acknowledged(), self._refusals()
        self.tally.add(what, kills=1, acknowledged=after[0] - before[0], refused=after[1] - before[1])

    def _start(self, what: str, crash_at: str, journal: Path) -> Victim | None:
        self.tally.add(what, lives=1)
        disk = Disk(self.root, journal, self.control.path)
        return self._nursery.start(self.data, crash_at, disk=disk, checkpoint=CHECKPOINT, **OPTIONS)

    def _journal(self) -> Path:
        self._lives += 1
        return self._folder / f"journal-{self._lives}"

    def _acknowledged(self) -> int:
        return sum(writer.acknowledged for writer in self.writers)

    def _refusals(self) -> int:
        return sum(sum(writer.refused.values()) for writer in self.writers)

    def _some(self, victim: Victim, most: int = SOME) -> None:
        """Wait for some acknowledgements, or for the end: a machine that is busy gives few in a second."""
        wanted = self._acknowledged() + self.rng.randint(0, most)
        _wait(lambda: self._acknowledged() >= wanted or not victim.alive, LIFE)

    def _until_ready(self, victim: Victim) -> None:
        """Without a restart a decision can be committed again."""
        line = Line(victim.url)
        try:
            for _ in range(200):
                if line("GET", "/readyz")[0] == 200:
                    return
                time.sleep(0.02)
            raise AssertionError("the disk is well again, and the service is not")
        finally:
            line.close()

    def _check(self, what: str, folder: Path | None = None) -> None:
        with self._counted(what):
            if folder is None:
                check_folder(self.data, self._folder / "copy", self.writers)
            else:
                check_here(folder, self.writers)

    def _check_lie(self, what: str, folder: Path | None = None) -> None:
        """After a disk that lied: all is there, or the service does not start, or `fsck` or `log verify` tells.

        If the power failed too, the end of the log may be gone together with the head that would tell of it. No folder
        proves that; but what is left is a log without a fault, and the weights are what it leads to.
        """
        looked_at = folder if folder is not None else self._folder / "copy"
        if folder is None:
            shutil.rmtree(looked_at, ignore_errors=True)
            shutil.copytree(self.data, looked_at)
        noticed, lost = False, ""
        try:
            check_here(looked_at, self.writers)
        except StorageFailed:
            noticed = True
        except AssertionError as error:
            noticed, lost = _tells(looked_at), str(error)
        self.tally.add(what, folders=1, noticed=noticed, lost=bool(lost and not noticed))
        if lost and not noticed:
            assert folder is not None, f"lost, and nobody tells: {lost}"
            check_here(looked_at, [], strange=True)

    @contextmanager
    def _counted(self, what: str) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.tally.add(what, lost=1)
            raise
        self.tally.add(what, folders=1)


WHAT = {Kind.WRITE: "a write", Kind.SYNC: "a sync", Kind.TRUNCATE: "a truncation", Kind.RENAME: "a rename"}
WORDS = {
    Action.FAIL: "{} fails",
    Action.TEAR: "{} is torn and fails",
    Action.SHORT: "{} is done in part, and says so",
    Action.DROP: "{} is dropped, and said to be done",
}


def _wait(until: Callable[[], bool], seconds: float) -> None:
    """Wait for something, but no longer than this."""
    ends = time.monotonic() + seconds
    while not until() and time.monotonic() < ends:
        time.sleep(0.005)


def _tells(folder: Path) -> bool:
    """True if a check finds something: of the files and tables, and of the logs."""
    if not fsck(folder).sound:
        return True
    with Inspection(folder) as seen:
        return any(audit_model(seen, model).problems for model in seen.models())
