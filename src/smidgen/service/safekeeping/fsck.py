"""Whether a data folder is sound: file, tables, chains, witnesses, snapshots, modes. Nothing is changed by looking."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from smidgen.errors import SmidgenError
from smidgen.service.insight.audit import audit_model
from smidgen.service.messages import ModelBody
from smidgen.service.models.registry import recorded, served
from smidgen.service.models.served import Served
from smidgen.service.models.spreading import count_of_models
from smidgen.service.models.states import state_problem
from smidgen.service.refusals import StorageFailed
from smidgen.service.safekeeping.following import Following
from smidgen.service.store import modes, soundness
from smidgen.service.store.bases import base_digest
from smidgen.service.store.events import digest_of
from smidgen.service.store.finding import Fault, Findings
from smidgen.service.store.head import NAME, Heads
from smidgen.service.store.inspection import Inspection
from smidgen.service.store.lock import in_use
from smidgen.service.store.places import Place
from smidgen.service.store.rows import Counts, ModelRow, State
from smidgen.service.store.schema import FILE
from smidgen.service.store.still import look
from smidgen.service.store.witnesses import Witnesses

_SKIPPED = "nothing is lost: it is skipped, and written anew when the key learns again"
#: Told how far it is: what is being done, how much of it is done, of how much; 0 of 0 where nobody knows.
Progress = Callable[[str, int, int], None]


class FsckReport(msgspec.Struct):
    """What was found; `broken` is what speaks against keeping it.

    Attributes
    ----------
    data
        The folder.
    sound
        Whether nothing is wrong.
    running
        Whether a service held it meanwhile.
    deep
        Whether the log was learnt again.
    models, events, snapshots, states, tokens
        How many were looked at; states are those of keys.
    findings
        What is wrong.
    notes
        What is not wrong, and good to know.
    """

    data: str
    sound: bool = True
    running: bool = False
    deep: bool = False
    models: int = 0
    events: int = 0
    snapshots: int = 0
    states: int = 0
    tokens: int = 0
    findings: list[Fault] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def broken(self) -> list[Fault]:
        """The findings, but for learners that are only not installed here."""
        return [finding for finding in self.findings if finding.code != "learner"]


def fsck(where: Place, *, deep: bool = False, progress: Progress = lambda what, done, of: None) -> FsckReport:
    """Check a data folder, or a database, beside a running service or without.

    Parameters
    ----------
    where
        The data folder, or the database: of that, what stands in the tables; the files are its server's matter.
    deep
        Learn every log again, and hold the result against every state that was written aside, bit for bit.
    progress
        Told how far it is.
    """
    if not isinstance(where, Path):
        with Inspection(where) as seen:
            return _Check(seen, deep, progress).run()
    folder = where
    if not folder.is_dir():
        raise StorageFailed(f"there is no folder {folder}", "give the --data folder of a service")
    report, found = FsckReport(str(folder), running=in_use(folder), deep=deep), Findings()
    _check_modes(folder, found)
    try:
        witnesses = Witnesses(folder)  # before the database, which may go on
        witnesses.refuse_alone()
        return look(folder, lambda seen: _FolderCheck(folder, seen, witnesses, deep, progress).run())
    except StorageFailed as error:
        if not any(folder.iterdir()):
            raise StorageFailed(f"{folder} is empty", "give the --data folder of a service") from error
        found.add("database", FILE, error.problem, error.hint)
    report.findings, report.sound = found.all(), False
    return report


def _check_modes(folder: Path, found: Findings) -> None:
    for path in modes.loose(folder):
        mode = stat.S_IMODE(path.stat().st_mode)
        found.add(
            "mode",
            str(path.relative_to(folder.parent)),
            f"others can open it (mode {mode:04o})",
            f"chmod go= {path}, or start the service, which does so",
        )


class _Check:
    """One look at a store.

    Parameters
    ----------
    deep, progress
        See `fsck`.
    seen
        The store as of one moment.
    """

    #: What is said to be wrong if the tables are.
    place = "the database"

    def __init__(self, seen: Inspection, deep: bool, progress: Progress) -> None:
        self._seen = seen
        self._progress = progress
        self._report = FsckReport(str(seen.where), deep=deep)
        self._found = Findings()
        self._names: dict[int, str] = {}

    def run(self) -> FsckReport:
        """Everything, from the file upwards; what stands on something broken is not asked."""
        report = self._report
        try:
            if self._file():
                self._content()
        except SmidgenError as error:
            self._found.add("database", self.place, f"it cannot be read to the end: {error}", soundness.RESTORE)
        report.findings = self._found.all()
        report.sound = not report.findings
        return report

    def _file(self) -> bool:
        """Whether what the tables are in is whole."""
        return True

    def _content(self) -> None:
        reading, report = self._seen.reading, self._report
        models = reading.models()
        self._names = {row.slot: row.name for row in models}
        soundness.check_tables(reading, self._found, self._name, lambda: self._progress(self.place, 0, 0))
        report.tokens = soundness.check_tokens(reading, self._found)
        report.models = count_of_models(row.name for row in models)
        for row in models:
            self._model(row)
        self._heads()
        if report.deep and not self._found.all():
            for model in served(reading):
                self._replay(model)
        elif report.deep:
            report.notes.append("the logs were not learnt again: what is wrong comes first")

    def _model(self, row: ModelRow) -> None:
        reading, report, where = self._seen.reading, self._report, f"model {row.name}"
        counts = reading.counts(row.slot) or Counts()
        follow = Following(row, counts, reading.base(row.slot), self._base(row, where))
        for done, event in enumerate(self._seen.log.events_of(row.slot), 1):
            for code, problem in follow.take(event):
                self._found.add(code, where, problem, soundness.RESTORE)
            if done % 1000 == 0:
                self._progress(row.name, done, counts.seq)
        for code, problem in follow.end():
            self._found.add(code, where, problem, soundness.RESTORE)
        report.events += follow.events
        if not self._made(row, where):
            return
        for state in self._snapshots(row.slot):
            report.snapshots += 1
            self._state("snapshot", where, state, counts)
        for key in reading.state_keys(row.slot):
            for state in reading.states(row.slot, key):
                report.states += 1
                self._state("state", where, state, counts)

    def _snapshots(self, slot: int) -> Iterator[State]:
        yield from self._seen.reading.states(slot)

    def _base(self, row: ModelRow, where: str) -> bytes:
        """The digest of what a log begins with; its states and what it keeps are what was written."""
        reading = self._seen.reading
        if (base := reading.base(row.slot)) is None:
            return b""
        digests, carried = [], reading.carried(row.slot)
        for state in reading.base_states(row.slot):
            if not state.sound:
                who = "" if state.key is None else f" of key {state.key!r}"
                self._found.add("base", where, f"the base state{who} is damaged", soundness.RESTORE)
            digests.append(state.digest)
        for kept in carried:
            event = reading.event(row.slot, kept.seq)
            if event is None or digest_of(event) != kept.digest:
                self._found.add("base", where, f"event {kept.seq}, which the base keeps, is damaged", soundness.RESTORE)
        if base.erased < base.seq:
            self._report.notes.append(f"{where}: what lies under its base is still being erased")
        return base_digest(base, digests, carried)

    def _replay(self, model: Served) -> None:
        """Learn the log again, and compare."""
        done = audit_model(self._seen, model, lambda count: self._progress(model.label, count, model.seq))
        for problem in done.problems:
            self._found.add("replay", f"model {model.label}", problem, soundness.RESTORE)

    def _made(self, row: ModelRow, where: str) -> bool:
        """Whether the model's learner can be made; without it, what was written aside cannot be read."""
        try:
            recorded(msgspec.json.decode(row.body, type=ModelBody), row.resolved)
        except (SmidgenError, msgspec.MsgspecError, ValueError, KeyError, TypeError) as error:
            self._found.add(
                "learner",
                where,
                f"its learner cannot be made here: {error}",
                "say --import MODULE, or install what its learner is from; one of smidgen's own: restore a backup",
            )
            return False
        return True

    def _state(self, code: str, where: str, state: State, counts: Counts) -> None:
        """A state that is written aside can be read, and is not of a later time than the log."""
        name = Path(state.place).name if code == "snapshot" else state.place
        if (problem := state_problem(state)) is not None:
            hint = self._passed_over(state) if code == "snapshot" else _SKIPPED
            self._found.add(code, where, f"{name} cannot be used: {problem}", hint)
        elif state.seq > counts.seq and code == "state":
            self._found.add(code, where, f"{name} is ahead of the log", soundness.RESTORE)

    def _passed_over(self, state: State) -> str:
        return "nothing is lost: it is skipped, and more of the log is learnt again at the next start"

    def _heads(self) -> None:
        """Whether the log ends where its witnesses say; in a database the slot's own row is the head."""

    def _name(self, slot: int) -> str:
        return f"model {self._names[slot]}" if slot in self._names else f"model number {slot}"


class _FolderCheck(_Check):
    """One look at a data folder.

    Parameters
    ----------
    folder, deep, progress
        See `fsck`.
    seen
        The folder as of one moment.
    witnesses
        What lies beside the database.
    """

    place = FILE

    def __init__(self, folder: Path, seen: Inspection, witnesses: Witnesses, deep: bool, progress: Progress) -> None:
        super().__init__(seen, deep, progress)
        self._folder = folder
        self._witnesses = witnesses
        self._report.running = in_use(folder)

    def run(self) -> FsckReport:
        """The files' modes as well."""
        _check_modes(self._folder, self._found)
        return super().run()

    def _file(self) -> bool:
        reading = self._seen.file
        whole = soundness.check_file(reading, self._found, lambda: self._progress(FILE, 0, 0))
        return whole and soundness.check_schema(reading, self._found)

    def _snapshots(self, slot: int) -> Iterator[State]:
        for of, snapshot in self._witnesses.snapshots:
            if of == slot and snapshot.path.exists():  # a running service may have dropped it meanwhile
                yield snapshot.state(own=True)

    def _passed_over(self, state: State) -> str:
        return f"nothing is lost: delete {state.place}, and more of the log is learnt again at the next start"

    def _heads(self) -> None:
        heads = Heads(self._folder)
        for lost in self._witnesses.lost(self._seen.reading.chain, self._seen.reading.floor):
            self._found.add(
                "lost",
                str(lost.witness.relative_to(self._folder)),
                f"it has seen what the log does not have: {str(lost).format(self._name(lost.slot))}",
                f"{soundness.RESTORE}; to go on without what is lost, delete {heads.path} and the folder snapshots",
            )
        torn = heads.torn()
        for slot in torn:
            self._found.add(
                "head",
                NAME,
                f"what it says of {self._name(slot)} cannot be read",
                f"nothing is lost: delete {heads.path}; the next start writes it anew",
            )
        silent = [slot for slot in self._names if slot not in self._witnesses.heads and slot not in torn]
        if silent:
            self._report.notes.append(
                f"{NAME} says nothing of {len(silent)} models; until the next start, a loss of theirs would not be seen"
            )
