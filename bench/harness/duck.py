"""DuckDB, from its PyPI package, in this process."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import duckdb

from .compare import Rows, from_duckdb
from .dataset import Format, Table
from .guards import StatementFailed


class Duck:
    def __init__(self, directory: Path, threads: int, memory: str, timeout: float) -> None:
        self.file, self.threads, self.memory, self.timeout = directory / "bench.duckdb", threads, memory, timeout
        self.remove()
        self.open()

    def open(self) -> None:
        self.connection = duckdb.connect(str(self.file))
        self.connection.execute(f"SET threads = {self.threads}; SET memory_limit = '{self.memory}'; SET TimeZone = 'UTC'")
        self.connection.execute(f"SET temp_directory = '{self.file}.tmp'")

    def close(self) -> None:
        self.connection.close()

    def remove(self) -> None:
        for path in (self.file, self.file.with_name(self.file.name + ".wal")):
            path.unlink(missing_ok=True)

    def run(self, sql: str) -> tuple[float, Rows]:
        """Seconds of the statement and of fetching its rows; a statement that runs too long is interrupted."""
        timer = threading.Timer(self.timeout, self.connection.interrupt)
        timer.start()
        try:
            start = time.perf_counter()
            cursor = self.connection.execute(sql)
            rows = cursor.fetchall()
            seconds = time.perf_counter() - start
        except duckdb.Error as error:
            raise StatementFailed(" ".join(str(error).split())[:500]) from error
        finally:
            timer.cancel()
        names = tuple(column[0] for column in cursor.description or ())
        return seconds, Rows(names, None, [tuple(from_duckdb(value) for value in row) for row in rows])

    def load(self, table: Table, form: Format) -> float:
        sql = (f"INSERT INTO {table.name} SELECT * FROM read_csv('{table.file}', header = {str(form.header).lower()}, "
               f"columns = {self.columns(table.name)}, delim = ',', quote = '\"', escape = '\"', nullstr = '{form.null}', "
               "allow_quoted_nulls = false, auto_detect = false)")
        seconds, _ = self.run(sql)
        return seconds

    def columns(self, table: str) -> str:
        _, rows = self.run(f"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '{table}' ORDER BY column_index")
        return "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in rows.rows) + "}"

    def checkpoint(self) -> int:
        """Bytes of the database file."""
        self.run("CHECKPOINT")
        return self.file.stat().st_size
