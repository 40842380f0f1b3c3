"""Amend, copy, import, promote, forget.

Exact forgetting: the events of a key are erased, and its learner is as if they had never been.

It follows into copies: whoever began with what this model had learnt of the key, directly or by way of another copy,
archived or not, forgets it too. What a copy was told of the key itself goes with it.
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
from smidgen.service.engine.blueprint import Blueprint, Terms, amended_terms, canonical, judged, largest, told_of
from smidgen.service.engine.champions import OWN, amended_as_far, named_models
from smidgen.service.engine.context import Commands
from smidgen.service.engine.model import PLACE, Era, HashedNames, Served, names_in
from smidgen.service.engine.rebuild import Room, rebuild_all
from smidgen.service.engine.recordings import FileRecording
from smidgen.service.engine.registry import resolved
from smidgen.service.engine.remainder import Remainder, Remainders
from smidgen.service.engine.shared_state import Group
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Conflict, Impossible, Retained, Unknown
from smidgen.service.log import codec
from smidgen.service.log.codec import Line
from smidgen.service.loops.features import write_knobs
from smidgen.service.schemas import AmendBody, ForgottenReply, ModelBody, PromotedReply
from smidgen.service.storage.crash_points import reach
from smidgen.service.storage.protocol import Reading

# Settings that change while a model lives: an event of the log; what was learnt stays, what is open stays open.


class Amending(Commands):
    """The amendments of all models."""

    def take(self, name: str, body: AmendBody) -> None:
        """Put what was sent in force; what says nothing new changes nothing."""
        model = self._models.get(name)
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived", "create another")
        given = body.given()
        if not given:
            raise Impossible("there is nothing to change", f"send one of {', '.join(AmendBody.__struct_fields__)}")
        _refuse_others(model, given)
        common = {name: value for name, value in given.items() if name not in OWN}
        for part in model.parts:
            self._amend(part, given)
            for other in part.beside if common else ():
                self._amend(other, common)

    def _amend(self, model: Served, given: dict[str, Any]) -> None:
        terms = amended_terms(model.blueprint, given)
        if terms == model.blueprint.terms:
            return
        told = told_of(model.blueprint, model.blueprint.terms, terms)
        blueprint = model.blueprint.amend(terms)
        amended = self._learners.amended(model, told)
        content = codec.write({"changes": given, "learn": serialization.encode(told)})
        seq = self._store.append(model.shard, "amended", self._clock(), content)
        for held in amended:
            held.seq = seq
        if terms.default_reward is None and model.blueprint.terms.default_reward is not None:
            self._store.unwait(model.shard)
        self._recent.clear()
        self._models.put(model, blueprint, tuple(_also(era, given) for era in model.past))


def _refuse_others(model: Served, given: dict[str, Any]) -> None:
    """Refuse what is the champion's to change, or nobody's."""
    challenger = model.blueprint.body.challenger_of is not None
    if "share" in given and not challenger:
        raise Impossible("this model is no challenger", 'share is for models made with "challenger_of"')
    if model.leader is not None and (others := [name for name in given if name not in OWN]):
        raise Impossible(
            f"{others[0]} is that of the champion {model.leader.name!r}", "change it there, and it changes here too"
        )


def _also(era: Era, given: dict[str, Any]) -> Era:
    """Settings that a return would put in force again, amended too; shares of exploration as far as they have any."""
    return era._replace(blueprint=era.blueprint.amend(amended_as_far(era.blueprint, given)))


# Models from elsewhere: a copy of another, a saved learner, what a log leads to. Each is an event of the log.

#: Learners by key; None is the key of a model without keys.
Learners = dict[str | None, Learner]


class Brought(NamedTuple):
    """What is brought from elsewhere.

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
    told
        The names that each key has told, where keys share them: so it is known whose they are.
    """

    blueprint: Blueprint
    learners: Learners
    groups: Mapping[int, Group] = {}
    names: Sequence[str] = ()
    named: Sequence[str] = ()
    told: Mapping[str | None, Carried] = {}


class _NamingRecording(FileRecording):
    """An exported log that notes which models its settings name while it is read."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path, name)
        self.named: set[str] = set()

    def lines(self) -> Iterator[Line]:
        for event in super().lines():
            if event.model is not None:
                self.named.update(named_models(event.model))
            yield event


class Bringing(Commands):
    """What is brought in, for all models."""

    def copy(self, name: str, to: str, *, learnt: bool) -> None:
        """Make a model with the settings of another, and, if it is asked for, with what that one has learnt."""
        source = self._models.get(name)
        if to in self._models.by_name:
            raise Conflict(f"there is a model {to!r} already", "choose another name")
        new = self._models.begin(to, source.blueprint.alone(), self._clock())
        for made, part in zip(new.parts, source.parts, strict=True) if learnt else ():
            if made.hashed is not None and part.hashed is not None and not part.keyed:
                made.hashed.add(part.hashed.told())
            origin = {"source": f"a copy of {name}", "of": [part.shard, part.seq]}
            self._share(made, self._learners.group(part), origin)
            for key in keys_of(self._store, part):
                self._imported(made, key, self._learners.rebuilt(part, key), origin)
            self._store.derive(made.shard, part.shard, part.seq)

    def fill(self, name: str, brought: Brought, source: str) -> None:
        """Make a model of learners that were brought, or fill an empty one that has the same settings.

        A new one stands next to no other model, whatever the settings say that were brought.
        """
        blueprint = brought.blueprint
        if (model := self._models.by_name.get(name)) is None:
            model = self._models.begin(name, blueprint.alone(), self._clock())
        elif model.decisions or model.version or model.archived_at is not None:
            raise Conflict(f"the model {name!r} is not empty", "choose another name")
        elif model.blueprint.record() != blueprint.record() or model.keyed != blueprint.body.keyed:
            raise Conflict(f"the model {name!r} has other settings", "choose another name, or make it alike")
        elif blueprint.body.shards not in (1, len(model.parts)):
            raise Conflict(
                f"the model {name!r} has {len(model.parts)} shards, and what is brought {blueprint.body.shards}",
                "choose another name, or make it alike; only what had one shard is spread over others",
            )
        elif model.blueprint.shared != blueprint.shared:
            raise Conflict(f"the keys of {name!r} share other things", "choose another name, or make it alike")
        if model.hashed is not None and not model.keyed:
            model.hashed.add(brought.names)
        self._models.hold(*model.parts)
        for part in model.parts:  # what was shared by the keys of one shard is known to all
            shared = brought.groups.get(part.part if blueprint.body.shards > 1 else 0)
            self._share(part, shared, {"source": source})
        for key, learner in brought.learners.items():
            names = {"names": brought.told[key]} if key in brought.told else {}
            self._imported(model.of(key), key, learner, {"source": source, **names})

    def _share(self, model: Served, group: Group | None, origin: Mapping[str, Any]) -> None:
        """What the keys share, as an event of its own, ahead of theirs; ``origin`` says where it is from."""
        if group is not None:
            content = codec.write({**origin, "group": group.to_bytes()})
            self._store.append(model.shard, "imported", self._clock(), content, changes=True)
            self._learners.leave_group(model)

    def _imported(self, model: Served, key: str | None, learner: Learner, origin: Mapping[str, Any]) -> None:
        told = {**origin, "learn": serialization.encode(np.frombuffer(learner.to_bytes(), np.uint8))}
        if model.hashed is not None and key is None:
            told["hashed"] = model.hashed.told()
        content = codec.write(told)
        self._store.append(model.shard, "imported", self._clock(), content, key=key, changes=True)
        self._learners.leave(model, key)


def keys_of(reading: Reading, model: Served) -> list[str | None]:
    """The keys whose learners a model has; None is that of a model without keys."""
    if not model.keyed:
        return [None]
    return [key for (key,) in reading.look("keys", model.shard, prefix="", limit=1 << 31)]


def from_learner(content: bytes) -> Brought:
    """The settings and the learner that a saved learner (`Learner.save`) makes a model of."""
    try:
        with judged():
            learner = Learner.from_bytes(content, "the body")
    except CorruptFile as error:  # the caller's file, not one of ours
        raise Impossible(error.problem, error.hint) from error
    inner, features = unwrap(learner), vectorizer_of(learner)
    params: dict[str, Any] = serialization.pack(inner.asked)
    labels = getattr(inner, "labels", None)
    named = isinstance(labels, list) and all(isinstance(each, str) for each in labels)
    if named:
        raise Impossible("the learner's labels have names", "save one that was made with n_classes, not with labels")
    if features is not None:
        params.pop("dim", None)  # the vectorizer has it
    space = inner.params.get("space")
    knobs = write_knobs(space) if isinstance(space, Knobs) else None
    if knobs is not None:
        del params["space"]  # the knobs are it
    body = ModelBody(loop=str(inner.card.loops[0]), learner=inner._kind, params=params, knobs=knobs)
    blueprint = Blueprint.recorded(body, serialization.pack(learner.fresh()), Terms.of(body), guarded=False)
    return Brought(blueprint, {None: learner})


def from_log(content: bytes) -> Brought:
    """The settings and the learners that an exported log leads to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.ndjson"
        path.write_bytes(content)
        recording, room = _NamingRecording(path, "the log"), Room(largest())
        found = rebuild_all(recording, room)
    first = found.get(0)
    if first is None or first.blueprint is None or len(found) != first.blueprint.body.shards:
        raise Impossible("the log makes no model", "export it from its start, with all shards of its model")
    room.check(sum(len(shard.numbers.keys() - shard.learners.keys()) for shard in found.values()), first.blueprint.size)
    try:
        with judged():
            learners = {
                key: shard.learner(key)
                for shard in found.values()
                for key in sorted(shard.numbers.keys() | shard.learners.keys(), key=lambda key: key or "")
            }
    except SmidgenError:
        raise
    except FOREIGN as error:
        raise InvalidRecord(f"the log leads to no learner: {error!r}", "give the log as it was exported") from error
    groups = {shard: each.group for shard, each in found.items() if each.group is not None}
    named = recording.named.union(named_models(first.blueprint.body))
    told: dict[str | None, Carried] = {}
    for shard in found.values():
        if shard.group is not None and shard.group.table is not None:
            known = shard.group.table.known()
            told |= {key: [each for each in known if each[0] in places] for key, places in shard.told.items()}
    return Brought(first.settings or first.blueprint, learners, groups, list(first.hashed), sorted(named), told)


# Promotion: from one event on, a champion's name decides with the settings and the state of the one beside it.


class Promoting(Commands):
    """The promotions of all models."""

    def take(self, name: str) -> PromotedReply:
        """Promote a shadow or a challenger into the place of its champion; it stays what it is, beside."""
        other = self._models.get(name)
        champion = other.leader
        if champion is None:
            raise Impossible(f"the model {name!r} stands beside nobody", "promote a challenger or a shadow")
        for each in (other, champion):
            if each.archived_at is not None:
                raise Conflict(f"the model {each.name!r} is archived", "only models that decide can be promoted")
        for part, place in zip(other.parts, champion.parts, strict=True):
            self._promote(part, place)
        self._recent.clear()
        reach("promoted")
        return PromotedReply(champion=champion.name, model_version=champion.versions)

    def _promote(self, other: Served, champion: Served) -> None:
        """Promote a model, or one shard of it."""
        name, blueprint, before = other.name, other.blueprint.alone(), champion.blueprint
        learner = None if champion.keyed else self._learners.get(other, None).learner.to_bytes()
        told = {
            "settings": blueprint.each,
            "guarded": blueprint.guarded,
            "amended": told_of(blueprint, Terms.of(blueprint.body), blueprint.terms),
            "state": _array(learner),
        }
        fields = {
            "source": name,
            "model": msgspec.json.decode(canonical(blueprint.body)),
            "resolved": resolved(blueprint),
            "learn": serialization.encode(told),
        }
        now = self._clock()
        seq = self._store.append(champion.shard, "promoted", now, codec.write(fields), changes=True)
        self._store.derive(champion.shard, other.shard, other.seq)  # what is forgotten there is forgotten here too
        era = Era(before, seq, champion.version, "promoted", name)
        self._models.put(champion, blueprint, (*champion.past, era))
        self._learners.leave(champion, None)
        if (group := self._learners.group(other)) is not None:  # an event of its own, so that it can be erased
            shared = codec.write({"source": name, "of": [other.shard, other.seq], "group": group.to_bytes()})
            self._store.append(champion.shard, "imported", now, shared, changes=True)
        if learner is not None:
            self._learners.enter(champion, Learner.from_bytes(learner, f"the model {name}"), seq)
        else:
            self._with_keys(champion, other, now)

    def _with_keys(self, champion: Served, other: Served, now: float) -> None:
        """Each key has an event of its own, so that it can be forgotten by itself."""
        for key in keys_of(self._store, other):
            told = {"state": _array(self._learners.rebuilt(other, key).to_bytes())}
            content = codec.write(
                {"source": other.name, "of": [other.shard, other.seq], "learn": serialization.encode(told)}
            )
            self._store.append(champion.shard, "promoted", now, content, key=key, changes=True)


def _array(content: bytes | None) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    return None if content is None else np.frombuffer(content, np.uint8)


#: Of a model whose snapshots are from before: the next one is due.
SOON = 1 << 62


class Forgetting(Commands):
    """What is forgotten, of all models."""

    def take(
        self,
        name: str,
        key: str,
        *,
        drop_base: bool = False,
        allowed: str | None = None,
        ready: Remainders | None = None,
    ) -> ForgottenReply:
        """Erase all that was said of a key; keys that were never heard of are unknown.

        What a base state holds of the key goes only if ``drop_base`` says so. ``allowed`` is the only model whose name
        the caller may see; ``ready`` is what was folded aside.
        """
        model = self._models.get(name, [key]).of(key)
        if not model.keyed:
            raise Impossible("this model has no keys", "only what belongs to a key can be forgotten")
        beside = list(model.followers)  # taught of the key's decisions, and deciding beside them
        all_ = {one.shard: one for one in related(self._store, self._models.by_shard, model)}
        self._models.hold(*all_.values(), *sources(self._store, self._models.by_shard, all_))
        family = [one for one in all_.values() if knows(self._store, one, key)]
        if not family:
            raise Unknown(f"there is no key {key!r}", "it has no events, so there is nothing to forget")
        for one in family:
            self._leave_base(one, key, drop_base, "a copy" if allowed not in (None, one.name) else repr(one.name))
        left = ready if ready is not None and ready.fresh() else Remainders(self._models.by_shard, key)
        found = left.follow(self._store, family)
        erased = {one.name: self._erase(one, key, found[one.shard]) for one in family}
        count = sum(erased.pop(one.name, 0) for one in (model, *beside))
        copies = erased if allowed is None else {}
        return ForgottenReply(forgotten=count, model_version=model.version, copies=copies, shard=model.told_shard)

    def _erase(self, model: Served, key: str, left: Remainder) -> int:
        known, group = self._learners.group(model), left.group()
        places = known.table.extent if known is not None and known.table is not None else None
        names = model.hashed is not None and any(map(names_in, self._store.of_key(model.shard, key)))
        self._store.unstage(model.shard)  # a base that is being made may hold the key
        count, verdict = self._store.forget(model.shard, key, self._clock(), places, left.rewrites)
        self._recent.clear()
        model.scaled.pop(key, None)
        self._log.let_go(model, key)
        for each in (key, *left.keys):
            self._learners.leave(model, each)
        if group is not None:
            group.reserve(places)
            self._learners.leave_group(model, group)
            self._undo.note(self._learners.leave_group, model)
            model.saved = -SOON
        if names and model.hashed is not None and model.blueprint.dim is not None and verdict.seq is not None:
            model.hashed = HashedNames.folded(self._store, model.shard, model.blueprint.dim)
            self._store.publish(model.shard, PLACE, verdict.seq, model.hashed.to_bytes())
        model.rewritten += 1
        return count

    def _leave_base(self, model: Served, key: str, drop: bool, name: str) -> None:
        """What was folded into a base is not to be had any more; whoever wants it dropped says so.

        That is exact as long as the learner of a key is a fold of its own events and nothing else.
        """
        if self._store.base_state(model.shard, key) is None:
            return
        if model.origin.grouped:  # no base passes a promotion
            raise Retained(
                f"events of key {key!r} of the model {name} are in its base state, and in what its keys share",
                "nobody can take them out of that any more; shorten retention only as far as you will not need to",
            )
        if not drop:
            raise Retained(
                f"events of key {key!r} of the model {name} are in its base state: retention has folded and"
                " erased them",
                "to drop what the base holds of the key as well, send the call with ?base=drop",
            )
        self._store.drop_base_state(model.shard, key, self._clock())


def related(reading: Reading, shards: Mapping[int, Served], model: Served) -> list[Served]:
    """A model, those who stand beside it, and all that began with what it had learnt, or with what those had."""
    found, lineage = [model.shard, *(each.shard for each in model.followers)], reading.lineage()
    for shard in found:  # grows meanwhile
        found += [row.shard for row in lineage if row.source == shard and row.shard not in found]
    return [shards[shard] for shard in dict.fromkeys(found) if shard in shards]


def sources(reading: Reading, shards: Mapping[int, Served], family: Iterable[int]) -> list[Served]:
    """The models that these shards, or those before them, took something over from."""
    found, lineage = list(family), reading.lineage()
    for shard in found:  # grows meanwhile
        found += [row.source for row in lineage if row.shard == shard and row.source not in found]
    return [shards[shard] for shard in found if shard in shards]


def knows(reading: Reading, model: Served, key: str) -> bool:
    """Whether a model has anything of a key."""
    return model.keyed and (key,) in reading.look("keys", model.shard, prefix=key, limit=1)


def folded_without(
    reading: Reading, shards: Mapping[int, Served], model: Served, key: str, progress: Progress | None = None
) -> Remainders:
    """What will be left of a model, and of all that have something of the key from it, over what is committed.

    Parameters
    ----------
    reading, shards
        What is committed, and all models by shard.
    model, key
        Who is to be forgotten where.
    progress
        Told how far it is.
    """
    left = Remainders(shards, key, progress)
    left.follow(reading, [one for one in related(reading, shards, model) if knows(reading, one, key)])
    return left
