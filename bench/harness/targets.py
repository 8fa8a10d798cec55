"""Arms that can be asked: PostgreSQL's and DuckDB's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from . import guards
from .arms import Arm
from .cluster import Cluster, cold_label, evict
from .compare import Row, Rows
from .duck import Duck
from .guards import StatementFailed
from .pg import Session, rows_of
from .queries import Query


class PgTarget:
    def __init__(self, arm: Arm, cluster: Cluster, timeout: float) -> None:
        self.arm, self.name, self.cluster, self.timeout = arm, arm.name, cluster, timeout
        self.session: Session | None = None
        self.left_cached: list[float] = []

    def sql(self, query: Query) -> str | None:
        return query.sql

    def open(self) -> Session:
        if self.session is None or self.session.connection.closed:
            session = Session(self.cluster.sockets, self.cluster.port)
            if self.arm.access_method == "pgcolumnar":
                session.execute("LOAD 'pgcolumnar'")  # so that its settings are known before they are set
            session.execute(f"SET search_path = {self.arm.schema}, public")
            session.execute(f"SET statement_timeout = {int(self.timeout * 1000)}")
            for name, value in self.arm.settings:
                session.execute(f"SET {name} = '{value}'")
                guards.setting_holds(self.name, name, value, session.value(f"SELECT setting FROM pg_settings WHERE name = '{name}'"))
            self.session = session
        return self.session

    def close(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None

    def cold(self) -> None:
        """The restart ends the sessions of the other arms too: they open new ones when they are asked next."""
        self.close()
        self.left_cached.append(self.cluster.restart_cold())
        self.open()

    def time(self, sql: str) -> tuple[float, int]:
        self.ensure()
        seconds, result = self.open().timed(sql)
        return seconds, result.ntuples

    def ensure(self) -> None:
        """A session that a restart has ended is replaced before a statement is timed on it."""
        if self.session is not None:
            try:
                self.session.execute("SELECT 1")
            except StatementFailed:
                self.close()
        self.open()

    def spilled(self) -> tuple[int, int]:
        session = self.open()
        session.execute("SELECT pg_stat_force_next_flush()")
        row = session.rows("SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = current_database()").rows[0]
        return int(str(row[0])), int(str(row[1]))

    def fetch(self, sql: str) -> tuple[Rows, int | None, int | None]:
        self.ensure()
        before = self.spilled()
        rows = rows_of(self.open().execute(sql))
        after = self.spilled()
        return rows, after[0] - before[0], after[1] - before[1]

    def stream(self, sql: str) -> Iterable[Row]:
        self.ensure()
        return self.open().stream(sql)

    def cold_label(self) -> str:
        return cold_label(max(self.left_cached)) if self.left_cached else "no cold run"


class DuckTarget:
    def __init__(self, duck: Duck) -> None:
        self.name, self.duck = "duckdb", duck
        self.left_cached: list[float] = []

    def sql(self, query: Query) -> str | None:
        return query.duckdb

    def cold(self) -> None:
        self.duck.close()
        self.left_cached.append(evict(Path(self.duck.file)))
        self.duck.open()

    def time(self, sql: str) -> tuple[float, int]:
        seconds, rows = self.duck.run(sql)
        return seconds, len(rows.rows)

    def fetch(self, sql: str) -> tuple[Rows, int | None, int | None]:
        _, rows = self.duck.run(sql)
        return rows, None, None

    def stream(self, sql: str) -> Iterable[Row]:
        raise NotImplementedError("heap is the reference")

    def close(self) -> None:
        self.duck.close()

    def cold_label(self) -> str:
        return cold_label(max(self.left_cached)).replace("server restarted", "database reopened") if self.left_cached else "no cold run"
