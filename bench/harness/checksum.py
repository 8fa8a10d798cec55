"""One number for all rows of a table, whatever their order, the same in PostgreSQL and DuckDB.

Every row is printed in a form on which both agree; the sum of 60 bits of each row's MD5 is the checksum. Floats count
to a thousandth, where printing differs between the two.
"""

from __future__ import annotations

from collections.abc import Sequence

Column = tuple[str, str]  # name, PostgreSQL's name of the type


def printed(column: Column, duckdb: bool) -> str:
    name, kind = f'"{column[0]}"', column[1]
    text = "varchar" if duckdb else "text"
    match kind:
        case "text" | "varchar":
            return name
        case "bpchar":
            return f"rtrim({name}::{text})"
        case "timestamp" | "timestamptz":
            return f"epoch_us({name})::varchar" if duckdb else f"(extract(epoch from {name}) * 1000000)::bigint::text"
        case "float4" | "float8":
            double = "double" if duckdb else "float8"
            return f"floor({name}::{double} * 1000)::bigint::{text}"
        case _:
            return f"{name}::{text}"


def row_text(columns: Sequence[Column], duckdb: bool) -> str:
    """A function takes 100 arguments at most, so it is nested."""
    values = [f"coalesce({printed(c, duckdb)}, '~null~')" for c in columns]
    pieces = [f"concat({', chr(31), '.join(values[n : n + 40])}, chr(31))" for n in range(0, len(values), 40)]
    return f"concat({', '.join(pieces)})"


def statement(table: str, columns: Sequence[Column], duckdb: bool) -> str:
    row = row_text(columns, duckdb)
    if duckdb:
        bits = f"('0x' || substr(md5({row}), 1, 15))::bigint"
    else:
        bits = f"('x' || substr(md5({row}), 1, 15))::bit(60)::bigint"
    return f"SELECT count(*), coalesce(sum({bits}), 0) FROM {table}"
