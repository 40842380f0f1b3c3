"""Amend, copy, import, promote, forget.

Exact forgetting: the events of a key are erased, and its learner is as if they had never been.

It follows into copies: every model that started with what this model had learned of the key, directly or through
another copy, archived or not, forgets it too, with its own events of the key.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from smidgen import serialization
from smidgen.errors import FOREIGN, CorruptFile, InvalidRecord, SmidgenError
from smidgen.features.state import Carried
from smidgen.knobs import Knobs
from smidgen.learners import Learner
from smidgen.learners.pipeline import unwrap, vectorizer_of
from smidgen.service.engine.blueprint import (
    Blueprint,
    amended_holdout,
    amended_settings,
    canonical,
    enforce_limit,
    learner_size_limit,
    settings_diff,
    with_salt,
)
from smidgen.service.engine.champions import CHAMPIONS_OWN, OWN, amend_where_possible, named_models
from smidgen.service.engine.context import CommandHandler
from smidgen.service.engine.forgetting import LogsWithoutKey, LogWithoutKey
from smidgen.service.engine.forgetting_units import LogsWithoutUnit, LogWithoutUnit
from smidgen.service.engine.live_settings import LiveSettings
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.engine.model import PLACE, HashedNames, ServedModel, SettingsEpoch, names_in
from smidgen.service.engine.rebuild import MemoryBudget, rebuild_all
from smidgen.service.engine.registry import resolved_settings
from smidgen.service.engine.shared_state import SharedKeyState
from smidgen.service.engine.spending import drop_saved
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Conflict, Impossible, Retained, Unknown, json_text
from smidgen.service.log import codec
from smidgen.service.log.codec import EventLine
from smidgen.service.loops.features import write_knobs
from smidgen.service.schemas import AmendBody, ForgottenReply, Holdout, ModelBody, PromotedReply, Safe
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import WriteResult

# Settings that change while a model lives: an event of the log; what was learnt stays, what is open stays open.


class AmendHandler(CommandHandler):
    """The amendments of all models."""

    def handle(self, name: str, body: AmendBody) -> None:
        """Put what was sent in force; what says nothing new changes nothing."""
        model = self._models.get(name)
        if model.archived_at is not None:
            raise Conflict(
                f'the model "{name}" is archived',
                f"restore it with POST /v1/models/{name}:revive, or use another model",
            )
        given = body.given()
        if not given:
            raise Impossible("the body is empty", f"send one of {', '.join(AmendBody.__struct_fields__)}")
        _refuse_foreign_settings(model, given)
        if given.get("holdout") is not None:
            held = amended_holdout(model.blueprint.terms.holdout, given["holdout"])
            given["holdout"] = with_salt(held)  # so that the log says which
        common = {name: value for name, value in given.items() if name not in (*OWN, *CHAMPIONS_OWN)}
        for part in model.parts:
            self._amend(part, given)
            for other in part.arms if common else ():
                self._amend(other, common)

    def _amend(self, model: ServedModel, given: dict[str, Any]) -> None:
        terms = amended_settings(model.blueprint, given)
        if terms == model.blueprint.terms:
            return
        amendment = settings_diff(model.blueprint, model.blueprint.terms, terms)
        blueprint = model.blueprint.amend(terms)
        amended = self._learners.amend(model, amendment)
        content = codec.encode({"changes": given, "learn": serialization.encode(amendment)})
        seq = self._store.append(model.shard, "amended", self._clock(), content)
        for held in amended:
            held.seq = seq
        if terms.default_reward is None and model.blueprint.terms.default_reward is not None:
            self._store.cancel_expiries(model.shard)
        self._open_decisions.clear()
        self._models.replace_settings(model, blueprint, tuple(_amend_epoch(era, given) for era in model.past))


def _refuse_foreign_settings(model: ServedModel, given: dict[str, Any]) -> None:
    """Refuse what is the champion's to change, or nobody's."""
    challenger = model.blueprint.body.challenger_of is not None
    if "share" in given and not challenger:
        raise Impossible(
            "share is given and the model is not a challenger", 'remove "share": it is for models with "challenger_of"'
        )
    if model.leader is not None and (others := [name for name in given if name not in OWN]):
        raise Impossible(
            f'{others[0]} follows the champion "{model.leader.name}"', f'change it on "{model.leader.name}"'
        )


def _amend_epoch(era: SettingsEpoch, given: dict[str, Any]) -> SettingsEpoch:
    """Settings that a return would put in force again, amended too; shares of exploration as far as they have any."""
    return era._replace(blueprint=era.blueprint.amend(amend_where_possible(era.blueprint, given)))


# Models from elsewhere: a copy of another, a saved learner, what a log leads to. Each is an event of the log.

#: Learners by key; None is the key of a model without keys.
Learners = dict[str | None, Learner]


class ImportedState(NamedTuple):
    """Settings and learners from a saved learner or an exported log.

    Attributes
    ----------
    blueprint
        The settings.
    learners
        By key; None is the key of a model without keys.
    groups
        What the keys of each shard share, if they do.
    names
        Of hashed features.
    named
        The other models that its settings name, anywhere in what was brought.
    names_by_key
        The names that each key has sent, in models whose keys share names.
    """

    blueprint: Blueprint
    learners: Learners
    groups: Mapping[int, SharedKeyState] = {}
    names: Sequence[str] = ()
    named: Sequence[str] = ()
    names_by_key: Mapping[str | None, Carried] = {}


class _NamingLogFile(NdjsonSource):
    """An exported log that notes which models its settings name while it is read."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path, name)
        self.named: set[str] = set()

    def lines(self) -> Iterator[EventLine]:
        for event in super().lines():
            if event.model is not None:
                self.named.update(named_models(event.model))
            yield event


class ImportHandler(CommandHandler):
    """Copies models, and imports learners and logs."""

    def copy(self, name: str, to: str, *, learnt: bool) -> None:
        """Make a model with the settings of another, and, if it is asked for, with what that one has learnt."""
        source = self._models.get(name)
        if to in self._models.by_name:
            raise Conflict(f'a model "{to}" already exists', "choose another name")
        new = self._models.add(to, _as_copied(source.blueprint), self._clock())
        for target, part in zip(new.parts, source.parts, strict=True) if learnt else ():
            if target.hashed is not None and part.hashed is not None and not part.keyed:
                target.hashed.add(part.hashed.known())
            origin = {"source": f"a copy of {name}", "of": [part.shard, part.seq]}
            self._share(target, self._learners.shared_state(part), origin)
            for key in keys_of(self._store, part):
                self._append_imported(target, key, self._learners.read_learner(part, key), origin)
            self._store.derive(target.shard, part.shard, part.seq)

    def load_into(self, name: str, imported: ImportedState, source: str) -> None:
        """Make a model of learners that were brought, or fill an empty one that has the same settings.

        A new one stands next to no other model, whatever the settings say that were brought.
        """
        blueprint = imported.blueprint
        if (model := self._models.by_name.get(name)) is None:
            model = self._models.add(name, _as_copied(blueprint), self._clock())
        elif model.decisions or model.version or model.archived_at is not None:
            raise Conflict(f'the model "{name}" is not empty', "choose another name")
        elif model.blueprint.record() != blueprint.record() or model.keyed != blueprint.body.keyed:
            raise Conflict(
                f'the model "{name}" exists with other settings',
                "choose another name, or create it with the same settings",
            )
        elif blueprint.body.shards not in (1, len(model.parts)):
            raise Conflict(
                f'the model "{name}" has {len(model.parts)} shards and the import has {blueprint.body.shards}',
                "choose another name, or create it with as many shards; only an import with one shard can be spread",
            )
        elif model.blueprint.shared != blueprint.shared:
            raise Conflict(
                f'the keys of "{name}" share other state',
                "choose another name, or create it with the same shared_start",
            )
        if model.hashed is not None and not model.keyed:
            model.hashed.add(imported.names)
        self._models.acquire(*model.parts)
        for part in model.parts:  # what was shared by the keys of one shard is known to all
            shared = imported.groups.get(part.part if blueprint.body.shards > 1 else 0)
            self._share(part, shared, {"source": source})
        for key, learner in imported.learners.items():
            names = {"names": imported.names_by_key[key]} if key in imported.names_by_key else {}
            self._append_imported(model.shard_for(key), key, learner, {"source": source, **names})

    def _share(self, model: ServedModel, group: SharedKeyState | None, origin: Mapping[str, Any]) -> None:
        """Append the shared state as an event before those of the keys; ``origin`` names its source."""
        if group is not None:
            content = codec.encode({**origin, "group": group.to_bytes()})
            self._store.append(model.shard, "imported", self._clock(), content, changes=True)
            self._learners.evict_shared(model)

    def _append_imported(
        self, model: ServedModel, key: str | None, learner: Learner, origin: Mapping[str, Any]
    ) -> None:
        fields = {**origin, "learn": serialization.encode(np.frombuffer(learner.to_bytes(), np.uint8))}
        if model.hashed is not None and key is None:
            fields["hashed"] = model.hashed.known()
        content = codec.encode(fields)
        self._store.append(model.shard, "imported", self._clock(), content, key=key, changes=True)
        self._learners.evict(model, key)


def _as_copied(blueprint: Blueprint) -> Blueprint:
    """Return the settings of a copy: it has no champion, a holdout with members of its own, and the same budget."""
    return blueprint.without_champion(_unsalted(blueprint), blueprint.terms.budget)


def _unsalted(blueprint: Blueprint) -> Holdout | None:
    """Return the holdout of a model without its salt: a copy has members of its own."""
    holdout = blueprint.terms.holdout
    return msgspec.structs.replace(holdout, salt="") if holdout is not None else None


def keys_of(reading: StoreReader, model: ServedModel) -> list[str | None]:
    """The keys whose learners a model has; None is that of a model without keys."""
    if not model.keyed:
        return [None]
    return [key for (key,) in reading.query("keys", model.shard, prefix="", limit=1 << 31)]


def from_learner(content: bytes) -> ImportedState:
    """The settings and the learner that a saved learner (`Learner.save`) makes a model of."""
    try:
        with enforce_limit():
            learner = Learner.from_bytes(content, "the body")
    except CorruptFile as error:  # the caller's file, not one of ours
        raise Impossible(error.problem, error.hint) from error
    inner, features = unwrap(learner), vectorizer_of(learner)
    params: dict[str, Any] = serialization.pack(inner.asked)
    labels = getattr(inner, "labels", None)
    named = isinstance(labels, list) and all(isinstance(each, str) for each in labels)
    if named:
        raise Impossible(
            "the learner has named labels", "import a learner that was made with n_classes instead of labels"
        )
    if features is not None:
        params.pop("dim", None)  # the vectorizer has it
    space = inner.params.get("space")
    knobs = write_knobs(space) if isinstance(space, Knobs) else None
    if knobs is not None:
        del params["space"]  # the knobs are it
    safe = msgspec.convert(params.pop("safe", None), Safe | None)
    body = ModelBody(loop=str(inner.card.loops[0]), learner=inner._kind, params=params, knobs=knobs, safe=safe)
    blueprint = Blueprint.from_record(body, serialization.pack(learner.fresh()), LiveSettings.of(body), guarded=False)
    return ImportedState(blueprint, {None: learner})


def from_log(content: bytes) -> ImportedState:
    """The settings and the learners that an exported log leads to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.ndjson"
        path.write_bytes(content)
        recording, room = _NamingLogFile(path, "the log"), MemoryBudget(learner_size_limit())
        found = rebuild_all(recording, room)
    first = found.get(0)
    if first is None or first.blueprint is None or len(found) != first.blueprint.body.shards:
        raise Impossible("the log does not create a model", "export it from its start, with all shards of its model")
    room.check(sum(len(shard.numbers.keys() - shard.learners.keys()) for shard in found.values()), first.blueprint.size)
    try:
        with enforce_limit():
            learners = {
                key: shard.learner(key)
                for shard in found.values()
                for key in sorted(shard.numbers.keys() | shard.learners.keys(), key=lambda key: key or "")
            }
    except SmidgenError:
        raise
    except FOREIGN as error:
        raise InvalidRecord(
            f"the log cannot be replayed: {error!r}", "import the file as smidgen log export wrote it"
        ) from error
    groups = {shard: each.group for shard, each in found.items() if each.group is not None}
    named = recording.named.union(named_models(first.blueprint.body))
    names_by_key: dict[str | None, Carried] = {}
    for shard in found.values():
        if shard.group is not None and shard.group.table is not None:
            known = shard.group.table.known()
            names_by_key |= {  # a key that has learnt nothing yet has sent none
                key: [each for each in known if each[0] in shard.places_by_key.get(key, ())]
                for key in (shard.numbers.keys() | shard.learners.keys()) - shard.folded
            }
    return ImportedState(
        first.settings or first.blueprint, learners, groups, list(first.hashed), sorted(named), names_by_key
    )


# Promotion: from one event on, the champion decides with the settings and the state of its shadow or challenger.


class PromoteHandler(CommandHandler):
    """The promotions of all models."""

    def handle(self, name: str) -> PromotedReply:
        """Give a champion the settings and state of its shadow or challenger, which keeps its role."""
        other = self._models.get(name)
        champion = other.leader
        if champion is None:
            raise Impossible(
                f'the model "{name}" is neither a shadow nor a challenger', "promote a shadow or challenger"
            )
        for each in (other, champion):
            if each.archived_at is not None:
                raise Conflict(
                    f'the model "{each.name}" is archived', "restore it first: archived models cannot be promoted"
                )
        for part, place in zip(other.parts, champion.parts, strict=True):
            self._promote(part, place)
        self._open_decisions.clear()
        crash_point("promoted")
        return PromotedReply(champion=champion.name, model_version=champion.versions)

    def _promote(self, other: ServedModel, champion: ServedModel) -> None:
        """Promote a model, or one shard of it."""
        name, before = other.name, champion.blueprint
        blueprint = other.blueprint.without_champion(before.terms.holdout, before.terms.budget)
        learner = None if champion.keyed else self._learners.get(other, None).learner.to_bytes()
        settings = {
            "settings": blueprint.learner_template,
            "guarded": blueprint.guarded,
            "amended": settings_diff(blueprint, LiveSettings.of(blueprint.body), blueprint.terms),
            "state": _array(learner),
        }
        fields = {
            "source": name,
            "model": msgspec.json.decode(canonical(blueprint.body)),
            "resolved": resolved_settings(blueprint),
            "learn": serialization.encode(settings),
        }
        now = self._clock()
        seq = self._store.append(champion.shard, "promoted", now, codec.encode(fields), changes=True)
        self._store.derive(champion.shard, other.shard, other.seq)  # what is forgotten there is forgotten here too
        era = SettingsEpoch(before, seq, champion.version, "promoted", name)
        self._models.replace_settings(champion, blueprint, (*champion.past, era))
        self._learners.evict(champion, None)
        if (group := self._learners.shared_state(other)) is not None:  # an event of its own, so that it can be erased
            shared = codec.encode({"source": name, "of": [other.shard, other.seq], "group": group.to_bytes()})
            self._store.append(champion.shard, "imported", now, shared, changes=True)
        if learner is not None:
            self._learners.put(champion, Learner.from_bytes(learner, f"the model {name}"), seq)
        else:
            self._promote_keys(champion, other, now)

    def _promote_keys(self, champion: ServedModel, other: ServedModel, now: float) -> None:
        """Each key has an event of its own, so that it can be forgotten by itself."""
        for key in keys_of(self._store, other):
            state = {"state": _array(self._learners.read_learner(other, key).to_bytes())}
            content = codec.encode(
                {"source": other.name, "of": [other.shard, other.seq], "learn": serialization.encode(state)}
            )
            self._store.append(champion.shard, "promoted", now, content, key=key, changes=True)


def _array(content: bytes | None) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    return None if content is None else np.frombuffer(content, np.uint8)


#: Of a model whose snapshots are from before: the next one is due.
SOON = 1 << 62


class ForgetHandler(CommandHandler):
    """Forgets keys of models."""

    def handle(
        self,
        name: str,
        key: str,
        *,
        drop_base: bool = False,
        allowed: str | None = None,
        ready: LogsWithoutKey | LogsWithoutUnit | None = None,
    ) -> ForgottenReply:
        """Erase all data of a key, or of a unit if the model is not keyed. An unknown one is an error.

        What a base state holds of the key goes only if ``drop_base`` says so. ``allowed`` is the only model whose name
        the caller may see; ``ready`` is the state that was folded in the background.
        """
        model = self._models.get(name, [key]).shard_for(key)
        if not model.keyed:
            return self._forget_unit(model, key, ready if isinstance(ready, LogsWithoutUnit) else None)
        followers = list(model.followers)  # they decide on the key's requests, and learn from its feedback
        all_ = {one.shard: one for one in related_models(self._store, self._models.by_shard, model)}
        self._models.acquire(*all_.values(), *source_models(self._store, self._models.by_shard, all_))
        family = [one for one in all_.values() if has_key(self._store, one, key)]
        if not family:
            raise Unknown(f"there is no key {json_text(key)}", "nothing to forget: the model has no events of this key")
        for one in family:
            self._drop_from_checkpoint(
                one, key, drop_base, "a copy" if allowed not in (None, one.name) else repr(one.name)
            )
        known = isinstance(ready, LogsWithoutKey) and ready.is_fresh()
        left = ready if isinstance(ready, LogsWithoutKey) and known else LogsWithoutKey(self._models.by_shard, key)
        found = left.follow(self._store, family)
        erased = {one.name: self._erase(one, key, found[one.shard]) for one in family}
        count = sum(erased.pop(one.name, 0) for one in (model, *followers))
        copies = erased if allowed is None else {}
        return ForgottenReply(forgotten=count, model_version=model.version, copies=copies, shard=model.shard_in_reply)

    def _forget_unit(self, model: ServedModel, unit: str, ready: LogsWithoutUnit | None) -> ForgottenReply:
        """Erase all data of a unit of a model without keys, its shadow and challenger included."""
        if model.leader is not None:
            raise Conflict(
                f'the model "{model.name}" decides on the requests of "{model.leader.name}"',
                f'delete the unit there: the data of "{model.name}" goes with it',
            )
        family = units_of(model)
        self._models.acquire(*family)
        left = ready if ready is not None and ready.is_fresh() else LogsWithoutUnit(self._models.by_shard, unit)
        found = left.follow(self._store, family)
        if not left.any:
            raise Impossible(
                "the model is not keyed, and no decision has a unit",
                'send "unit" with the requests, or create the model with "keyed": true',
            )
        if not left.decisions:
            raise Unknown(f"there is no unit {json_text(unit)}", "nothing to forget: no decision was for this unit")
        count = sum(self._erase_unit(one, found[one.shard]) for one in family)
        return ForgottenReply(forgotten=count, model_version=model.version, copies={})

    def _erase_unit(self, model: ServedModel, left: LogWithoutUnit) -> int:
        if not left.own:
            return 0
        events = (self._store.event(model.shard, seq) for seq in left.own)
        names = model.hashed is not None and any(names_in(event) for event in events if event is not None)
        self._store.unstage(model.shard)
        drop_saved(self._store, model.shard)
        count, verdict = self._store.forget(model.shard, None, self._clock(), None, left.rewrites, left.own)
        self._open_decisions.clear()
        model.scaled.pop(None, None)
        model.lengths = None
        self._log.evict(model)
        self._learners.evict(model, None)
        model.saved = -SOON
        self._rebuild_hashed(model, verdict, names=names)
        model.rewritten += 1
        return count

    def _rebuild_hashed(self, model: ServedModel, verdict: WriteResult, *, names: bool) -> None:
        if names and model.hashed is not None and model.blueprint.dim is not None and verdict.seq is not None:
            model.hashed = HashedNames.rebuild(self._store, model.shard, model.blueprint.dim)
            self._store.publish(model.shard, PLACE, verdict.seq, model.hashed.to_bytes())

    def _erase(self, model: ServedModel, key: str, left: LogWithoutKey) -> int:
        known, group = self._learners.shared_state(model), left.shared_state()
        places = known.table.extent if known is not None and known.table is not None else None
        names = model.hashed is not None and any(map(names_in, self._store.events_of_key(model.shard, key)))
        self._store.unstage(model.shard)  # a base that is being made may hold the key
        drop_saved(self._store, model.shard)
        count, verdict = self._store.forget(model.shard, key, self._clock(), places, left.rewrites)
        self._open_decisions.clear()
        model.scaled.pop(key, None)
        self._log.evict(model, key)
        for each in (key, *left.keys):
            self._learners.evict(model, each)
        if group is not None:
            group.reserve(places)
            self._learners.evict_shared(model, group)
            self._undo.push(self._learners.evict_shared, model)
            model.saved = -SOON
        self._rebuild_hashed(model, verdict, names=names)
        model.rewritten += 1
        return count

    def _drop_from_checkpoint(self, model: ServedModel, key: str, drop: bool, name: str) -> None:
        """Drop a key from the checkpoint, if the caller asks for that; else refuse, because its events are gone.

        That is exact as long as the learner of a key is a fold of its own events and nothing else.
        """
        if self._store.checkpoint_state(model.shard, key) is None:
            return
        if model.origin.grouped:  # no base passes a promotion
            raise Retained(
                f'the retention checkpoint of the model "{name}" includes events of key {json_text(key)}'
                " and so does the state that its keys share",
                "they cannot be removed; choose a retention period that is longer than your deletion deadlines",
            )
        if not drop:
            raise Retained(
                f'the retention checkpoint of the model "{name}" includes events of key {json_text(key)}: retention has'
                " folded and erased them",
                "add ?base=drop to also drop the state of this key in the checkpoint",
            )
        self._store.drop_checkpoint_state(model.shard, key, self._clock())


def units_of(model: ServedModel) -> list[ServedModel]:
    """The models that have something of the units of a model without keys: itself, its shadow and challenger."""
    return [model, *model.followers]


def related_models(reading: StoreReader, shards: Mapping[int, ServedModel], model: ServedModel) -> list[ServedModel]:
    """A model, its shadows and challengers, and all models that began with the state of one of these."""
    found, lineage = [model.shard, *(each.shard for each in model.followers)], reading.lineage()
    for shard in found:  # grows meanwhile
        found += [row.shard for row in lineage if row.source == shard and row.shard not in found]
    return [shards[shard] for shard in dict.fromkeys(found) if shard in shards]


def source_models(reading: StoreReader, shards: Mapping[int, ServedModel], family: Iterable[int]) -> list[ServedModel]:
    """The models that these shards, or those before them, took something over from."""
    found, lineage = list(family), reading.lineage()
    for shard in found:  # grows meanwhile
        found += [row.source for row in lineage if row.shard == shard and row.source not in found]
    return [shards[shard] for shard in found if shard in shards]


def has_key(reading: StoreReader, model: ServedModel, key: str) -> bool:
    """Check whether a model has anything of a key."""
    return model.keyed and (key,) in reading.query("keys", model.shard, prefix=key, limit=1)


def refold_without(
    reading: StoreReader,
    shards: Mapping[int, ServedModel],
    model: ServedModel,
    key: str,
    progress: Progress | None = None,
) -> LogsWithoutKey | LogsWithoutUnit:
    """Fold a model, and all models that have something of the key from it, without the key, over committed events.

    Of a model without keys, ``key`` is a unit.

    Parameters
    ----------
    reading, shards
        What is committed, and all models by shard.
    model, key
        The model, and the key to forget in it.
    progress
        Receives the progress.
    """
    if not model.keyed:
        units = LogsWithoutUnit(shards, key, progress)
        units.follow(reading, units_of(model))
        return units
    left = LogsWithoutKey(shards, key, progress)
    left.follow(reading, [one for one in related_models(reading, shards, model) if has_key(reading, one, key)])
    return left
