"""Check a data folder for damage."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from smidgen.errors import FOREIGN, InvalidRecord, SmidgenError
from smidgen.serialization import UNREADABLE
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.inspection import Inspection, query_offline
from smidgen.service.engine.model import ServedModel, count_of_models, name_and_part
from smidgen.service.engine.recovery import state_problem
from smidgen.service.engine.registry import load_models, recorded_blueprint
from smidgen.service.errors import NoData, StorageFailed
from smidgen.service.log import codec
from smidgen.service.log.checkpoint import RETAINED, Checkpoint, checkpoint_digest
from smidgen.service.log.events import DECIDED, DIGEST, ERASED, Chain, Event, is_rewritten, present_digest
from smidgen.service.schemas import ModelBody, Name
from smidgen.service.storage import data_dir, integrity
from smidgen.service.storage.address import Place, parse_address
from smidgen.service.storage.data_dir import in_use
from smidgen.service.storage.integrity import Problem, Problems
from smidgen.service.storage.records import Counts, ModelRow, State
from smidgen.service.storage.snapshots import NAME, Heads, TailCheck
from smidgen.service.storage.sqlite_schema import FILE, RESTORE

# A model's events from the first to the last: the chain, the numbers, and what the counts must be at the end.

#: Types after which the first event is no longer all that is known of the settings.
_CHANGES = ("amended", "imported", "promoted")


class ChainChecker:
    """Follows the log of one model; says what is wrong as pairs of a code and words.

    Parameters
    ----------
    row
        The model as its table has it.
    counts
        How far it is, as its table has it.
    base, digest
        Where the log begins, if not with its first event, and the digest of that.
    """

    def __init__(self, row: ModelRow, counts: Counts, base: Checkpoint | None = None, digest: bytes = b"") -> None:
        self._row = row
        self._counts = counts
        self._base = base
        self._digest = digest
        self._stated: bytes | None = None
        self._chain = Chain(base.seq, base.chain) if base is not None else Chain()
        self._created: Event | None = None
        self._version = base.version if base is not None else 0
        self._decisions = base.decisions if base is not None else 0
        self._late = base.late if base is not None else 0
        self._erased = False
        self._changed = False
        self._rewritten: dict[int, bytes] = {}  # what events say that were rewritten
        self._rewrites: dict[int, bytes] = {}  # and what the log tells of that
        self.events = 0

    def may_carry(self, event: Event, digest: bytes) -> bool:
        """Return True if a kept event can have this digest; it may have been rewritten since."""
        if present_digest(event) == digest:
            return True
        self._rewritten[event.seq] = present_digest(event)
        return is_rewritten(event)

    def check(self, event: Event) -> Iterator[tuple[str, str]]:
        """Take the next event."""
        self.events += 1
        if (problem := self._chain.check(event)) is not None:
            yield "chain", problem
        if event.seq == 1:
            self._created = event
        if event.made is not None:
            if event.made != self._version + 1:
                yield "chain", f"event {event.seq} made version {event.made} after version {self._version}"
            self._version = event.made
        self._decisions += event.type in DECIDED
        self._late += event.type == "feedback" and event.made is None
        self._erased = self._erased or event.type == ERASED
        if is_rewritten(event):
            self._rewritten[event.seq] = present_digest(event)
        if event.type == ERASED and event.salt is not None:
            fields = codec.read_fields(event.body, event.seq)
            seqs, digests = fields.get("rewritten", ()), fields.get("digests", b"")
            self._rewrites |= {seq: digests[DIGEST * i : DIGEST * (i + 1)] for i, seq in enumerate(seqs)}
        self._changed = self._changed or event.type in _CHANGES
        if event.type == RETAINED and self._base is not None:
            fields = codec.read_fields(event.body, event.seq)
            self._stated = fields.get("digest") if fields.get("base") == self._base.seq else self._stated

    def end(self) -> Iterator[tuple[str, str]]:
        """There is no more; hold the counts against what there was."""
        kept = self._counts
        if self._chain.seq != kept.seq or self._chain.chain != kept.chain:
            yield "counts", f"the log ends with event {self._chain.seq} and should end with {kept.seq}"
        if kept.version != self._version:
            yield "counts", f"the version that is kept is {kept.version} and the log makes it {self._version}"
        if not self._erased:  # forgotten events cannot be checked
            for what, count, counted in (
                ("decisions", kept.decisions, self._decisions),
                ("late answers", kept.late, self._late),
            ):
                if count != counted:
                    yield "counts", f"{count} {what} are counted and the log has {counted}"
        if self._base is not None and self._stated != self._digest:
            yield "base", f"the base state at event {self._base.seq} is not the one that the log tells of"
        for seq, digest in self._rewritten.items():
            if self._rewrites.get(seq) != digest:
                yield "chain", f"event {seq} was rewritten, and the log does not tell of what it says"
        yield from self._settings()

    def _settings(self) -> Iterator[tuple[str, str]]:
        """The table's settings are those of the first event, which the chain covers."""
        if self._created is None or self._created.type != "created" or self._changed:
            return
        try:
            fields = codec.read_fields(self._created.body, 1)
        except InvalidRecord as error:
            yield "settings", error.problem
            return
        try:
            asked = msgspec.json.decode(self._row.body)
        except UNREADABLE as error:
            yield "settings", f"the settings in the table of models cannot be read: {error}"
            return
        if fields.get("model", asked) != asked or fields.get("resolved", self._row.resolved) != self._row.resolved:
            yield "settings", "the settings in the table of models are not those that it was made with"


# Check a data folder: file, tables, chains, checkpoint files, snapshots, modes. Nothing is changed.

_OUTDATED = "it has states of an older arithmetic; they are not used, and the log is replayed at the next start"
_SKIPPED = "no data is lost: it is skipped, and written again when the key learns"
#: Called with the progress: the step, the amount done, and the total; 0 of 0 where it is unknown.
Progress = Callable[[str, int, int], None]


class FsckReport(msgspec.Struct):
    """Findings; `broken` lists the errors.

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
    findings: list[Problem] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def blocking_findings(self) -> list[Problem]:
        """The findings, but for learners that are only not installed here."""
        return [finding for finding in self.findings if finding.code != "learner"]


def fsck(where: Place | str, *, deep: bool = False, progress: Progress = lambda what, done, of: None) -> FsckReport:
    """Check a data folder, or a database, next to a running service or without.

    Parameters
    ----------
    where
        The data folder, or the database: of that, what stands in the tables; the files are its server's matter.
    deep
        Replay every log, and compare the result with every saved state, bit for bit.
    progress
        Called with the progress.
    """
    where = parse_address(where)
    if not isinstance(where, Path):
        with Inspection(where) as seen:
            return _Check(seen, deep, progress).run()
    folder = where
    if not folder.is_dir():
        raise NoData(f"there is no folder {folder}", "give the data folder of a service with --data")
    report, found = FsckReport(str(folder), running=in_use(folder), deep=deep), Problems()
    _check_modes(folder, found)
    try:
        tail = TailCheck(folder)  # before the database, which may go on
        tail.refuse_alone()
        return query_offline(folder, lambda seen: _FolderCheck(folder, seen, tail, deep, progress).run())
    except StorageFailed as error:
        if not any(folder.iterdir()):
            raise NoData(f"{folder} is empty", "give the data folder of a service with --data") from error
        found.add("database", FILE, str(error).removesuffix(f"; {error.hint}"), error.hint)  # with the path
    report.findings, report.sound = found.all(), False
    return report


def _is_name(row: str) -> bool:
    """Check that a model's name in the store is valid."""
    try:
        msgspec.convert(name_and_part(row)[0], Name)
    except msgspec.ValidationError:
        return False
    return True


def _check_modes(folder: Path, found: Problems) -> None:
    for path in data_dir.exposed_paths(folder):
        mode = stat.S_IMODE(path.stat().st_mode)
        found.add(
            "mode",
            str(path.relative_to(folder.parent)),
            f"others can open it (mode {mode:04o})",
            f"chmod go= {path}, or start the service, which does so",
        )


class _Check:
    """A check of a store.

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
        self._found = Problems()
        self._names: dict[int, str] = {}

    def run(self) -> FsckReport:
        """Everything, from the file upwards; what stands on something broken is not asked."""
        report = self._report
        try:
            if self._file():
                self._content()
        except SmidgenError as error:
            self._found.add("database", self.place, f"it cannot be read to the end: {error}", RESTORE)
        report.findings = self._found.all()
        report.sound = not report.findings
        return report

    def _file(self) -> bool:
        """Check that the file of the tables is intact."""
        return True

    def _content(self) -> None:
        reading, report = self._seen.reading, self._report
        models = reading.models()
        self._names = {row.shard: row.name for row in models}
        integrity.check_tables(reading, self._found, self._name, lambda: self._progress(self.place, 0, 0))
        report.tokens = integrity.check_tokens(reading, self._found)
        report.models = count_of_models(row.name for row in models)
        for row in models:
            if not _is_name(row.name):
                self._found.add("settings", f"model {row.name}", "it has a name that no model can have", RESTORE)
            self._model(row)
        self._heads()
        if report.deep and not self._found.all():
            for model in load_models(reading):
                self._replay(model)
        elif report.deep:
            report.notes.append("the logs were not replayed: fix the errors first")

    def _model(self, row: ModelRow) -> None:
        reading, report, where = self._seen.reading, self._report, f"model {row.name}"
        counts = reading.counts(row.shard) or Counts()
        follow = ChainChecker(row, counts, reading.checkpoint(row.shard), self._checkpoint(row, where))
        for kept in reading.carried_decisions(row.shard):
            carried = reading.event(row.shard, kept.seq)
            if carried is None or not follow.may_carry(carried, kept.digest):
                self._found.add("base", where, f"event {kept.seq}, which the base keeps, is damaged", RESTORE)
        for done, event in enumerate(self._seen.log.events_of(row.shard), 1):
            for code, problem in follow.check(event):
                self._found.add(code, where, problem, RESTORE)
            if done % 1000 == 0:
                self._progress(row.name, done, counts.seq)
        for code, problem in follow.end():
            self._found.add(code, where, problem, RESTORE)
        report.events += follow.events
        if not self._learner_can_be_made(row, where):
            return
        forgotten, stale = reading.last_forgetting(row.shard), 0
        for state in self._snapshots(row.shard):
            report.snapshots += 1
            if state.seq < forgotten:
                stale += 1
            else:
                self._state("snapshot", where, state, counts)
        if stale:
            report.notes.append(
                f"{where}: {stale} snapshots are stale: they are from before a forgetting and hold what was erased;"
                " nobody uses them, and the next start deletes them"
            )
        for key in reading.state_keys(row.shard):
            for state in reading.states(row.shard, key):
                report.states += 1
                self._state("state", where, state, counts)

    def _snapshots(self, shard: int) -> Iterator[State]:
        yield from self._seen.reading.states(shard)

    def _checkpoint(self, row: ModelRow, where: str) -> bytes:
        """The digest of what a log begins with; its states and what it keeps are what was written."""
        reading = self._seen.reading
        if (base := reading.checkpoint(row.shard)) is None:
            return b""
        digests, carried = [], reading.carried_decisions(row.shard)
        for state in reading.checkpoint_states(row.shard):
            if not state.is_intact:
                who = "" if state.key is None else f" of key {state.key!r}"
                self._found.add("base", where, f"the base state{who} is damaged", RESTORE)
            digests.append(state.digest)
        if base.erased < base.seq:
            self._report.notes.append(f"{where}: what lies under its base is still being erased")
        return checkpoint_digest(base, digests, carried)

    def _replay(self, model: ServedModel) -> None:
        """Learn the log again, and compare."""
        done = audit_model(self._seen, model, lambda count: self._progress(model.label, count, model.seq))
        for problem in done.problems:
            self._found.add("replay", f"model {model.label}", problem, RESTORE)

    def _learner_can_be_made(self, row: ModelRow, where: str) -> bool:
        """Check that the model's learner can be created; without it, saved states cannot be read."""
        try:
            recorded_blueprint(msgspec.json.decode(row.body, type=ModelBody), row.resolved)
        except (SmidgenError, *UNREADABLE, *FOREIGN) as error:
            self._found.add(
                "learner",
                where,
                f"its learner cannot be made here: {error}",
                "say --import MODULE, or install what its learner is from; one of smidgen's own: restore a backup",
            )
            return False
        return True

    def _state(self, code: str, where: str, state: State, counts: Counts) -> None:
        """Check that a saved state can be read, and is not newer than the log."""
        name = Path(state.place).name if code == "snapshot" else state.place
        if (problem := state_problem(state)) is not None:
            hint = self._passed_over(state) if code == "snapshot" else _SKIPPED
            self._found.add(code, where, f"{name} cannot be used: {problem}", hint)
        elif state.seq > counts.seq and code == "state":
            self._found.add(code, where, f"{name} is ahead of the log", RESTORE)
        elif state.is_outdated and (note := f"{where}: {_OUTDATED}") not in self._report.notes:
            self._report.notes.append(note)

    def _passed_over(self, state: State) -> str:
        return "no data is lost: it is skipped, and more of the log is replayed at the next start"

    def _heads(self) -> None:
        """Check that the log ends where its checkpoint files say; in a database the shard's own row is the head."""

    def _name(self, shard: int) -> str:
        return f"model {self._names[shard]}" if shard in self._names else f"model number {shard}"


class _FolderCheck(_Check):
    """A check of a data folder.

    Parameters
    ----------
    folder, deep, progress
        See `fsck`.
    seen
        The folder as of one moment.
    tail
        What lies next to the database.
    """

    place = FILE

    def __init__(self, folder: Path, seen: Inspection, tail: TailCheck, deep: bool, progress: Progress) -> None:
        super().__init__(seen, deep, progress)
        self._folder = folder
        self._tail = tail
        self._report.running = in_use(folder)

    def run(self) -> FsckReport:
        """The files' modes as well."""
        _check_modes(self._folder, self._found)
        return super().run()

    def _file(self) -> bool:
        file = self._seen.file
        whole = integrity.check_file(file, self._found, lambda: self._progress(FILE, 0, 0))
        return whole and integrity.check_schema(file, self._found)

    def _snapshots(self, shard: int) -> Iterator[State]:
        for of, snapshot in self._tail.snapshots:
            if of == shard and snapshot.path.exists():  # a running service may have dropped it meanwhile
                yield snapshot.state(own=True)

    def _passed_over(self, state: State) -> str:
        return f"nothing is lost: delete {state.place}, and more of the log is replayed at the next start"

    def _heads(self) -> None:
        heads = Heads(self._folder)
        for lost in self._tail.find_lost(self._seen.reading.chain, self._seen.reading.floor):
            self._found.add(
                "lost",
                str(lost.source.relative_to(self._folder)),
                f"it has seen what the log does not have: {str(lost).format(self._name(lost.shard))}",
                f"{RESTORE}; to go on without what is lost, delete {heads.path} and the folder snapshots",
            )
        torn = heads.damaged_shards()
        for shard in torn:
            self._found.add(
                "head",
                NAME,
                f"what it says of {self._name(shard)} cannot be read",
                f"nothing is lost: delete {heads.path}; the next start writes it again",
            )
        silent = [shard for shard in self._names if shard not in self._tail.heads and shard not in torn]
        if silent:
            self._report.notes.append(
                f"{NAME} says nothing of {len(silent)} models; until the next start, a loss of theirs would not be seen"
            )
