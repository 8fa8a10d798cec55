"""Query files.

    -- q07: description                a header, then one statement
    -- q08 [unordered]: description    which rows come back is left open (ties at a LIMIT, say)
    -- q09 [pg-only]: description      DuckDB needs another wording, given below a line '-- duckdb:', or is spared it

A file without headers is a list of statements, as the published ClickBench queries.sql is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .guards import Refused

HEADER = re.compile(r"^--\s*(q\d+)((?:\s*\[[a-z-]+\])*)\s*:\s*(.*)$")
DUCKDB = re.compile(r"^--\s*duckdb:\s*(.*)$")
FLAGS = {"unordered", "pg-only"}


@dataclass(frozen=True)
class Query:
    name: str
    title: str
    sql: str
    duckdb: str | None  # None: DuckDB is spared this one
    unordered: bool = False

    @property
    def sorted(self) -> bool:
        """Whether the statement itself orders its rows."""
        return order_items(self.sql) != []


def parse(text: str) -> list[Query]:
    lines = text.splitlines()
    starts = [(n, match) for n, line in enumerate(lines) if (match := HEADER.match(line))]
    if not starts:
        statements = [s.strip() for s in re.split(r";[ \t]*(?:\n|$)", text) if s.strip()]
        return [Query(f"q{n:02}", first_words(s), s, s) for n, s in enumerate(statements, 1)]
    result: list[Query] = []
    for (start, match), end in zip(starts, [n for n, _ in starts[1:]] + [len(lines)]):
        name, title = match[1], match[3]
        flags = set(re.findall(r"\[([a-z-]+)\]", match[2]))
        if flags - FLAGS:
            raise Refused(f"{name}: unknown flags {sorted(flags - FLAGS)}")
        body = lines[start + 1 : end]
        split = next((n for n, line in enumerate(body) if DUCKDB.match(line)), None)
        sql = statement(body[:split])
        duckdb: str | None = sql
        if split is not None:
            found = DUCKDB.match(body[split])
            rest = [found[1] if found else "", *body[split + 1 :]]
            commented = all(line.startswith("--") for line in rest[1:] if line.strip())
            duckdb = statement([re.sub(r"^--\s?", "", line) if commented else line for line in rest])
        elif "pg-only" in flags:
            duckdb = None
        if not sql or duckdb == "":
            raise Refused(f"{name} has no statement")
        result.append(Query(name, title, sql, duckdb, "unordered" in flags))
    names = [q.name for q in result]
    if len(set(names)) != len(names):
        raise Refused("two queries have one name")
    return result


def statement(lines: list[str]) -> str:
    return "\n".join(line for line in lines if not line.lstrip().startswith("--")).strip().rstrip(";").strip()


def first_words(sql: str) -> str:
    """A title that tells the shape without repeating the statement."""
    return " ".join(re.findall(r"\b(COUNT|SUM|AVG|MIN|MAX|DISTINCT|LIKE|GROUP BY|ORDER BY|HAVING|LIMIT|OFFSET)\b", sql.upper())).lower()[:60]


def read(path: Path) -> list[Query]:
    if not path.is_file():
        raise Refused(f"{path} is missing")
    return parse(path.read_text())


# ---- the end of a statement ----


def top_level(sql: str) -> str:
    """The statement with everything in parentheses and quotes blanked, so that places stay."""
    out, depth, quote = [], 0, ""
    for char in sql:
        if quote:
            out.append(" ")
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
            out.append(" ")
        elif char in "()":
            depth += 1 if char == "(" else -1
            out.append(" ")
        else:
            out.append(" " if depth and char != "\n" else char)
    return "".join(out)


def order_items(sql: str) -> list[str]:
    """The items of the outermost ORDER BY."""
    flat = top_level(sql)
    found = list(re.finditer(r"\border\s+by\b", flat, re.I))
    if not found:
        return []
    start = found[-1].end()
    ends = [m.start() for m in re.finditer(r"\b(limit|offset|fetch)\b", flat, re.I) if m.start() > start]
    end = ends[0] if ends else len(sql)
    items, last = [], start
    for n in range(start, end):
        if flat[n] == ",":
            items.append(sql[last:n])
            last = n + 1
    return [item.strip() for item in [*items, sql[last:end]]]


def without_limit(sql: str) -> str | None:
    """The statement without its outermost LIMIT and OFFSET; None where it has none."""
    found = [m for m in re.finditer(r"\b(limit|offset)\s+\d+", top_level(sql), re.I)]
    if not found:
        return None
    return sql[: found[0].start()].rstrip()
