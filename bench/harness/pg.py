"""A session of PostgreSQL. Times are those of a statement and of fetching its rows as text, without making Python values."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from .compare import Row, Rows, from_text
from .guards import StatementFailed


def connect(sockets: str, port: int, database: str, patience: float = 60) -> psycopg.Connection:
    """A server that has crashed on one statement recovers, and is asked the next one."""
    end = time.monotonic() + patience
    while True:
        try:
            return psycopg.connect(host=sockets, port=port, user="postgres", dbname=database, autocommit=True)
        except psycopg.OperationalError as error:
            if time.monotonic() > end:
                raise StatementFailed(f"no connection: {error}") from error
            time.sleep(0.2)


class Session:
    def __init__(self, sockets: str, port: int, database: str = "bench") -> None:
        self.connection = connect(sockets, port, database)
        self.execute("SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET client_min_messages = warning")

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, sql: str) -> PGresult:
        try:
            result = self.connection.pgconn.exec_(sql.encode())
        except psycopg.Error as error:
            raise StatementFailed(f"the connection is lost: {error}") from error
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            text = result.error_message.decode(errors="replace").strip()
            raise StatementFailed(" ".join(text.split())[:500] or f"status {result.status}")
        return result

    def timed(self, sql: str) -> tuple[float, PGresult]:
        start = time.perf_counter()
        result = self.execute(sql)
        return time.perf_counter() - start, result

    def rows(self, sql: str) -> Rows:
        return rows_of(self.execute(sql))

    def value(self, sql: str) -> str | None:
        result = self.execute(sql)
        data = result.get_value(0, 0) if result.ntuples else None
        return None if data is None else data.decode()

    def text(self, sql: str) -> str:
        value = self.value(sql)
        if value is None:
            raise StatementFailed(f"no value from {sql}")
        return value

    def column(self, sql: str) -> list[str]:
        result = self.execute(sql)
        return [(result.get_value(n, 0) or b"").decode() for n in range(result.ntuples)]

    def stream(self, sql: str, batch: int = 20_000) -> Iterator[Row]:
        """Rows of a large result, a batch at a time."""
        self.execute(f"BEGIN; DECLARE bench_rows NO SCROLL CURSOR FOR {sql}")
        try:
            while True:
                rows = rows_of(self.execute(f"FETCH {batch} FROM bench_rows")).rows
                yield from rows
                if len(rows) < batch:
                    return
        finally:
            self.execute("ROLLBACK")


def rows_of(result: PGresult) -> Rows:
    width = result.nfields
    types = tuple(result.ftype(n) for n in range(width))
    names = tuple((result.fname(n) or b"").decode() for n in range(width))
    rows: list[Row] = []
    for n in range(result.ntuples):
        row = []
        for column in range(width):
            data = result.get_value(n, column)
            row.append(from_text(None if data is None else data.decode(), types[column]))
        rows.append(tuple(row))
    return Rows(names, types, rows)
