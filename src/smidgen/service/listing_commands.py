"""``smidgen models``: the models at a glance, from the store or from a running service."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from smidgen.service.commands import DATA, Data, Import

if TYPE_CHECKING:
    from smidgen.service.messages import Finding, ModelReply, Quality
    from smidgen.service.store.places import Place


def list_models(
    context: typer.Context,
    data: Data = DATA,
    url: Annotated[str | None, typer.Option(help="Ask a running service instead, e.g. http://127.0.0.1:8470.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="SMIDGEN_TOKEN", help="For --url, if the service needs one.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    modules: Import = None,
    health: Annotated[
        bool, typer.Option("--health", help="What was found about each: in words, with the way out.")
    ] = False,
) -> None:
    """List the models: what they learn with, how far they are, how well they do, and what is wrong with them."""
    if context.invoked_subcommand is not None:
        return
    import msgspec

    listed = _from_service(url, token) if url is not None else _from_database(data)
    if json:
        told = [msgspec.to_builtins(model) | {"findings": msgspec.to_builtins(found)} for model, found in listed]
        plain = told if health else [model for model, _ in listed]
        typer.echo(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
        return
    if health:
        for model, found in listed:
            for line in _in_words(model, found):
                typer.echo(line)
        return
    from rich.console import Console
    from rich.table import Table

    heads = ("model", "loop", "learner", "version", "decisions", "late", "how well", "health")
    table = Table(*heads, box=None, header_style="bold")
    for model, found in listed:
        name = model.name if model.archived_at is None else f"{model.name} (archived)"
        learner = f"{model.learner} × {model.keys} keys" if model.keys is not None else model.learner
        counts = (str(count) for count in (model.model_version, model.decisions, model.late))
        table.add_row(name, model.loop, learner, *counts, _how_well(model.quality), _worst(found))
    Console().print(table if listed else "there are no models")


def _from_database(data: Place) -> list[tuple[ModelReply, list[Finding]]]:
    from smidgen.service.insight.health import Health
    from smidgen.service.insight.quality import at_a_glance
    from smidgen.service.store.inspection import Inspection

    now, health = time.time(), Health()
    with Inspection(data) as seen:
        return [
            (at_a_glance(seen.reading, model, now), health.of(seen.reading, model, now).findings)
            for model in seen.models()
        ]


def _from_service(url: str, token: str | None) -> list[tuple[ModelReply, list[Finding]]]:
    import msgspec

    from smidgen.client import Client
    from smidgen.service.messages import Finding, ModelReply

    with Client(url, token=token) as client:
        models = msgspec.convert(client.models(), list[ModelReply])
        return [(model, msgspec.convert(client.health(model.name), list[Finding])) for model in models]


def _how_well(quality: Quality) -> str:
    if quality.value is None:
        return f"{quality.measure}: nothing yet"
    silent = f" closed, {quality.silent} silent" if quality.silent else " closed"
    value = f"{quality.value:.3f} ({quality.low:.3f} … {quality.high:.3f})"
    return f"{quality.measure} {value}, last {quality.of}{silent}"


def _worst(found: list[Finding]) -> str:
    if not found:
        return "good"
    worst = [each.code for each in found if each.severity == found[0].severity]
    return f"{found[0].severity}: {', '.join(dict.fromkeys(worst))}"


def _in_words(model: ModelReply, found: list[Finding]) -> list[str]:
    lines = [f"{model.name}: {_worst(found)}"]
    for each in found:
        lines += [f"  {each.severity} {each.code}: {each.message}", f"    {each.hint}"]
    return lines
