"""Loading an arm's tables, and proving what was loaded before anything is timed on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import checksum, guards
from .arms import Arm
from .dataset import Dataset, Table, byte_ranges
from .duck import Duck
from .guards import StatementFailed
from .pg import Session

Connect = Callable[[], Session]


@dataclass
class Loaded:
    """Of one arm; seconds without the building of indexes and VACUUM, which are times of their own."""

    seconds: list[float] = field(default_factory=list)  # tries
    index_seconds: float = 0.0
    vacuum_seconds: float = 0.0
    table_bytes: int = 0
    index_bytes: int = 0
    indexes: list[str] = field(default_factory=list)
    checksums: dict[str, str] = field(default_factory=dict)


def create(connect: Connect, arm: Arm, data: Dataset) -> None:
    with connect() as session:
        session.execute(f"DROP SCHEMA IF EXISTS {arm.schema} CASCADE")
        session.execute(f"CREATE SCHEMA {arm.schema}")
        session.execute(f"SET search_path = {arm.schema}, public")
        session.execute(f"SET default_table_access_method = {arm.access_method}")
        session.execute(data.create)
        for table in data.tables:
            if arm.name == "timescale" and table.name in data.time_column:
                column = data.time_column[table.name]
                session.execute(f"SELECT create_hypertable('{table.name}', '{column}', chunk_time_interval => interval '7 days')")
                session.execute(f"ALTER TABLE {table.name} SET (timescaledb.compress)")
                continue
            method = session.text(f"SELECT a.amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = '{table.name}'::regclass")
            guards.access_method(arm.name, table.name, arm.access_method, method)
        session.execute("CHECKPOINT")


def fill(connect: Connect, arm: Arm, data: Dataset) -> float:
    """Seconds of loading all tables of an arm, one after the other."""
    total = 0.0
    for table in data.tables:
        if arm.method == "parallel_copy":
            total += parallel_copy(connect, arm, data, table)
        elif arm.processes > 1:
            total += concurrent_copy(connect, arm, data, table)
        else:
            with connect() as session:
                session.execute(f"SET search_path = {arm.schema}, public")
                total += session.timed(f"COPY {table.name} FROM '{table.file}' WITH {data.format.copy_options()}")[0]
    if arm.name == "timescale":
        with connect() as session:
            session.execute(f"SET search_path = {arm.schema}, public")
            for table in data.tables:
                if table.name in data.time_column:
                    total += session.timed(f"SELECT compress_chunk(c) FROM show_chunks('{table.name}') c")[0]
    return guards.seconds(total, f"load of {arm.name}")


def concurrent_copy(connect: Connect, arm: Arm, data: Dataset, table: Table) -> float:
    """As many sessions as processes, each with its byte range of the file; from the first start to the last end."""
    options = data.format.copy_options().replace("HEADER true", "HEADER false")
    ranges = byte_ranges(table.file, arm.processes, data.format.header)
    sessions = [connect() for _ in ranges]
    failures: list[str] = []
    gate = threading.Barrier(len(ranges) + 1)

    def work(session: Session, first: int, length: int) -> None:
        gate.wait()
        try:
            session.execute(f"COPY {arm.schema}.{table.name} FROM PROGRAM "
                            f"'tail -c +{first + 1} \"{table.file}\" | head -c {length}' WITH {options}")
        except StatementFailed as error:
            failures.append(str(error))

    threads = [threading.Thread(target=work, args=(s, *r)) for s, r in zip(sessions, ranges)]
    for thread in threads:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    for session in sessions:
        session.close()
    if failures:
        raise guards.Refused(f"{arm.name}: {failures[0]}")
    return seconds


def parallel_copy(connect: Connect, arm: Arm, data: Dataset, table: Table) -> float:
    with connect() as session:
        names = session.text("SELECT coalesce(array_to_string(proargnames, ','), '') FROM pg_proc WHERE proname = 'parallel_copy' "
                             "AND pronamespace = 'pgcolumnar'::regnamespace").split(",")
        arguments = [f"'{arm.schema}.{table.name}'::regclass", f"'{table.file}'", f"workers => {arm.processes}"]
        values = {"format": "csv" if data.format.csv else "text", "header": str(data.format.header).lower(), "null": data.format.null,
                  "options": data.format.copy_options()[1:-1]}
        arguments += [f"{name} => '{value}'" for name, value in values.items() if name in names]
        if data.format.csv and not {"format", "options"} & set(names):
            raise guards.Refused(f"{arm.name}: parallel_copy({', '.join(names)}) is not known to take a CSV file")
        seconds, result = session.timed(f"SELECT pgcolumnar.parallel_copy({', '.join(arguments)})")
        told = int((result.get_value(0, 0) or b"0").decode())
        guards.rows_loaded(f"{arm.name} (as parallel_copy tells)", table.name, table.rows, told)
    return seconds


def finish(connect: Connect, arm: Arm, data: Dataset, loaded: Loaded) -> None:
    """Indexes, then VACUUM (ANALYZE), the same for every arm; then sizes."""
    with connect() as session:
        session.execute(f"SET search_path = {arm.schema}, public")
        for statement in data.indexes:
            loaded.index_seconds += session.timed(statement)[0]
        for table in data.tables:
            loaded.vacuum_seconds += session.timed(f"VACUUM (ANALYZE) {table.name}")[0]
        session.execute("CHECKPOINT")
        names = ", ".join(f"'{table.name}'::regclass" for table in data.tables)
        tables = f"unnest(ARRAY[{names}]) r"
        if arm.name == "timescale":
            tables = f"(SELECT unnest(ARRAY[{names}]) r UNION ALL SELECT oid FROM pg_class WHERE relkind = 'r' AND " \
                     "relnamespace = '_timescaledb_internal'::regnamespace) t"
        loaded.table_bytes = int(session.text(f"SELECT sum(pg_table_size(r)) FROM {tables}"))
        loaded.index_bytes = int(session.text(f"SELECT sum(pg_indexes_size(r)) FROM {tables}"))
        # Without its name, which is the arm's own, so that arms can be compared.
        loaded.indexes = session.column(
            "SELECT regexp_replace(regexp_replace(indexdef, '^(CREATE (?:UNIQUE )?INDEX) \\S+ ', '\\1 '), "
            f"' ON (ONLY )?{arm.schema}\\.', ' ON ') FROM pg_indexes WHERE schemaname = '{arm.schema}' ORDER BY 1")


# ---- proof ----


def columns_of(session: Session, schema: str, table: str) -> list[checksum.Column]:
    rows = session.rows("SELECT a.attname::text, t.typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
                        f"WHERE a.attrelid = '{schema}.{table}'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum")
    return [(str(name), str(kind)) for name, kind in rows.rows]


def prove(arm: Arm, data: Dataset, ask: Callable[[str], tuple[int, str]], columns: dict[str, list[checksum.Column]],
          reference: dict[str, str] | None) -> dict[str, str]:
    """Counts and checksums of an arm's tables, by `ask`ing one statement each. `reference` are heap's checksums; heap has none."""
    sums = {}
    for table in data.tables:
        name = f"{arm.schema}.{table.name}" if arm.postgres else table.name
        count, sums[table.name] = ask(checksum.statement(name, columns[table.name], not arm.postgres))
        guards.rows_loaded(arm.name, table.name, table.rows, count)
        if reference is not None:
            guards.same_content(arm.name, table.name, reference[table.name], sums[table.name])
    return sums


def spread(connect: Connect, data: Dataset, schema: str) -> None:
    with connect() as session:
        for s in data.spread:
            distinct = int(session.text(f"SELECT count(DISTINCT {s.column}) FROM {schema}.{s.table}"))
            guards.sample_spread(s.table, s.column, distinct, s.least)


def export_csv(connect: Connect, data: Dataset, schema: str, table: Table, file: str) -> None:
    """DuckDB does not read COPY's text format: it is given heap's rows as CSV."""
    with connect() as session:
        session.execute(f"COPY {schema}.{table.name} TO '{file}' WITH (FORMAT csv)")


def create_duck(duck: Duck, data: Dataset) -> None:
    for table in data.tables:
        duck.run(f"DROP TABLE IF EXISTS {table.name}")
    for statement in data.create.split(";"):
        if statement.strip():
            duck.run(statement)
