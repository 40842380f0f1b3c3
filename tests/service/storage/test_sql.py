"""SQL stands in two modules, by name; no class of the stores is spread over files."""

from __future__ import annotations

import ast
import re
import sqlite3
from pathlib import Path

import pytest

import smidgen
from smidgen.service.storage import sql, sql_writes
from smidgen.service.storage.sqlite_schema import connect

ROOT = Path(smidgen.__file__).parent
STORAGE = ROOT / "service" / "storage"
SQL = {"sql.py", "sql_writes.py"}
SCHEMA = {"sqlite_schema.py", "postgres_schema.py"}
WRITES = re.compile(r"\b(INSERT (OR \w+ )?INTO|DELETE FROM|UPDATE \w+ (AS \w+ |INDEXED BY \w+ )?SET)\b")
READS = re.compile(r"\bSELECT\b|\bWITH (RECURSIVE )?\w+ (\([^)]*\) )?AS \(")
#: The first statement of SQLite alone or PostgreSQL alone in each module.
FOR_POSTGRES = {"sql": "POSTGRES_BYTES", "sql_writes": "UPSERT_STATE"}


def strings(path: Path) -> list[str]:
    """All texts in a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def named(module: object) -> dict[str, str]:
    """The statements of a module that others may use, in their order."""
    return {
        name: " ".join(value.split())
        for name, value in vars(module).items()
        if re.fullmatch(r"[A-Z][A-Z_]*", name) and isinstance(value, str) and name != "SEEN"
    }


def test_sql_stands_in_two_modules() -> None:
    files = [path for path in ROOT.rglob("*.py") if path.parent != STORAGE or path.name not in SQL | SCHEMA]
    assert len(files) > 200
    found = [
        (str(path.relative_to(ROOT)), text.strip()[:60])
        for path in files
        for text in strings(path)
        if READS.search(text) or WRITES.search(text)
    ]
    assert found == []


def test_one_module_reads_and_the_other_writes() -> None:
    reads, writes = named(sql), named(sql_writes)
    assert len(reads) > 50
    assert len(writes) > 40
    assert [name for name, text in reads.items() if not READS.match(text) or WRITES.search(text)] == []
    assert [
        name for name, text in writes.items() if not re.match("INSERT|UPDATE|DELETE|WITH (held|closed|moved) AS", text)
    ] == []


def test_every_statement_has_a_user() -> None:
    others = "\n".join(path.read_text() for path in STORAGE.glob("*.py"))
    for module, prefix in ((sql, "sql."), (sql_writes, "sql_writes.")):
        names = [*named(module), *(name for name in vars(module) if name.startswith("_") and name.isupper())]
        text = Path(str(module.__file__)).read_text()
        unused = [
            name
            for name in names
            if not re.search(rf"\b{re.escape(prefix)}{name}\b", others) and len(re.findall(rf"\b{name}\b", text)) < 2
        ]
        assert unused == []


@pytest.mark.parametrize("module", [sql, sql_writes], ids=["sql", "sql_writes"])
def test_sqlite_accepts_its_statements(module: object, tmp_path: Path) -> None:
    """Tables, columns and indexes exist, for every statement that is not of PostgreSQL alone."""
    statements = named(module)
    last = list(statements).index(FOR_POSTGRES[module.__name__.rsplit(".", 1)[1]])
    ours = list(statements.values())[:last]
    if module is sql:
        ours += [*sql.QUESTIONS.values(), sql.decision_by_request(2)]
        ours += [make(table) for make in (sql.select_all, sql.count_rows) for table in sql.TABLES]
    else:
        ours += [sql_writes.update_decision(("measure", "shown")), *map(sql_writes.insert_row, sql.TABLES)]
    connection = connect(tmp_path)
    for statement in ours:
        values = dict.fromkeys(re.findall(r":(\w+)", statement), 1) or [1] * _places(statement)
        try:
            connection.execute(f"EXPLAIN {statement}", values)
        except sqlite3.Error as error:
            pytest.fail(f"{error}: {statement}")
    connection.close()


def _places(statement: str) -> int:
    numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
    return max(numbered) if numbered else statement.count("?")


def test_no_class_is_spread_over_files() -> None:
    """A class of one module may have a base in another only if that is a protocol, a tuple, or the facade of stores."""
    spread = []
    for path in STORAGE.glob("*.py"):
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("smidgen.service.storage")
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                spread += [f"{node.name}({base})" for base in bases & imported if "Protocol" not in bases]
    assert sorted(spread) == ["PostgresStore(SqlStore)", "SQLiteStore(SqlStore)"]
