"""One run: a private server, the data into every arm, proof of what was loaded, then the queries."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from . import guards, load, preflight, record
from .arms import Arm, catalogue, choose
from .checksum import Column
from .cluster import Cluster
from .dataset import Dataset, Request, make
from .duck import Duck
from .load import Loaded
from .measure import Plan, Target, measure
from .pg import Session
from .targets import DuckTarget, PgTarget

SHOWN = ("server_version", "debug_assertions", "shared_buffers", "work_mem", "hash_mem_multiplier", "maintenance_work_mem", "effective_cache_size",
         "max_worker_processes", "max_parallel_workers", "max_parallel_workers_per_gather", "max_prepared_transactions", "jit", "wal_level",
         "fsync", "synchronous_commit", "full_page_writes", "max_wal_size", "checkpoint_timeout", "autovacuum", "huge_pages",
         "random_page_cost", "io_method", "data_checksums", "shared_preload_libraries")


@dataclass
class Options:
    request: Request
    pg_config: Path
    directory: Path
    port: int
    label: str
    arms: list[str]
    bulk: list[int]
    workers: int
    cold_tries: int
    hot_tries: int
    load_tries: int
    only: list[str]
    timeout: float
    duckdb_memory: str
    settings: dict[str, str] = field(default_factory=dict)
    force: bool = False
    keep: bool = False


def configuration(options: Options) -> dict[str, str]:
    """Of the private cluster; the command line has the last word."""
    workers = max(options.workers, *options.bulk, 1)
    return {
        "shared_buffers": "1GB", "work_mem": "64MB", "maintenance_work_mem": "256MB", "effective_cache_size": "4GB",
        "max_worker_processes": str(workers + 8), "max_parallel_workers": str(workers + 4),
        "max_parallel_workers_per_gather": str(options.workers), "max_prepared_transactions": str(workers + 4), "max_connections": "50",
        "jit": "off", "autovacuum": "off", "max_wal_size": "4GB", "checkpoint_timeout": "30min", "checkpoint_completion_target": "0.9",
        "min_wal_size": "1GB", "logging_collector": "off", "log_min_messages": "warning", **options.settings,
    }


class Run:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.cluster = Cluster(options.pg_config, options.directory / "cluster", options.port, configuration(options),
                               os.environ.get("SERVER_USER", "postgres"))
        self.duck: Duck | None = None
        self.loaded: dict[str, Loaded] = {}
        self.server: dict[str, object] = {}

    def connect(self) -> Session:
        return Session(self.cluster.sockets, self.cluster.port)

    def go(self) -> record.Record:
        when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        machine = record.machine()
        with ExitStack() as stack:
            stack.callback(self.clean)
            arms, not_run = self.prepare()
            data = self.data(arms, stack)
            self.print_plan(arms, not_run, data)
            guards.queries_known(self.options.only, [q.name for q in data.queries])
            asked = [q for q in data.queries if not self.options.only or q.name in self.options.only]
            self.load(arms, data)
            targets = self.targets(arms)
            stack.callback(lambda: [target.close() for target in targets])
            plan = Plan(asked, self.options.cold_tries, self.options.hot_tries, data.ties_allowed)
            cells = measure(list[Target](targets), plan)
            cold = {target.name: target.cold_label() for target in targets}
            if self.duck is not None:
                self.server["duckdb"] = {"version": self.duck.run("SELECT version()")[1].rows[0][0], "threads": self.options.workers,
                                         "memory_limit": self.options.duckdb_memory}
            machine["load_average_after"] = os.getloadavg()[0]
            return record.Record(self.options.label, when, machine, self.server, self.described(data), self.method(),
                                 self.arm_records(arms, cold), not_run, [{"name": q.name, "title": q.title} for q in asked], cells)

    # ---- what there is ----

    def prepare(self) -> tuple[list[Arm], dict[str, str]]:
        """The server is up; the arms that it can run, and why not the others."""
        arms, not_run = choose(self.options.arms, catalogue(self.options.bulk, self.options.workers), self.missing)
        ours = any(arm.extension == "pgcolumnar" for arm in arms)
        self.server["debug_library"] = ours and guards.release_library(self.cluster.library_dir / "pgcolumnar.so", self.options.force)
        self.start(arms)
        arms, late = choose([], {arm.name: arm for arm in arms}, self.missing_on_server)
        guards.arms_available(self.options.arms, late)
        return arms, {**not_run, **late}

    def data(self, arms: list[Arm], stack: ExitStack) -> Dataset:
        scratch = self.options.request.scratch
        self.room(self.options.request.estimated_bytes, arms, True)
        scratch.mkdir(parents=True, exist_ok=True)
        scratch.chmod(0o755)
        stack.callback(shutil.rmtree, scratch, True)
        data = make(self.options.request)
        self.preflight(arms, data)
        return data

    def missing(self, arm: Arm) -> str:
        if arm.extension and not self.cluster.has_extension(arm.extension):
            return f"extension {arm.extension} is not installed in the server"
        return ""

    def missing_on_server(self, arm: Arm) -> str:
        if arm.method != "parallel_copy":
            return ""
        with self.connect() as session:
            found = session.text("SELECT count(*) FROM pg_proc WHERE proname = 'parallel_copy' AND pronamespace = 'pgcolumnar'::regnamespace")
        return "" if found != "0" else "this version has no pgcolumnar.parallel_copy"

    def start(self, arms: list[Arm]) -> None:
        extensions = sorted({arm.extension for arm in arms if arm.extension})
        preload = {"citus_columnar": "citus_columnar", "timescaledb": "timescaledb"}
        libraries = ",".join(preload[e] for e in extensions if e in preload)
        if libraries:
            self.cluster.settings.setdefault("shared_preload_libraries", libraries)
        self.cluster.create()
        self.cluster.start()
        with Session(self.cluster.sockets, self.cluster.port, "postgres") as session:
            guards.release_server(session.text("SHOW debug_assertions"), self.options.force)
            session.execute("CREATE DATABASE bench")
        with self.connect() as session:
            for extension in extensions:
                session.execute(f"CREATE EXTENSION {extension}")
            if "pgcolumnar" in extensions:
                session.execute("LOAD 'pgcolumnar'")
                self.server["library"] = session.text("SELECT pgcolumnar.library_version()")
            rows = session.rows("SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY ('{" + ",".join(SHOWN) + "}') "
                                "OR name LIKE 'pgcolumnar.%' ORDER BY name").rows
            self.server["settings"] = {str(name): str(value) for name, value in rows}
            self.server["version"] = session.text("SELECT version()")

    def preflight(self, arms: list[Arm], data: Dataset) -> None:
        settings: Mapping[str, str] = self.server["settings"]  # type: ignore[assignment]
        workers = max(self.options.workers, *(arm.processes for arm in arms))
        preflight.worker_processes(int(settings["max_worker_processes"]), workers)
        parallel = [arm.processes for arm in arms if arm.method == "parallel_copy"]
        preflight.prepared_transactions(int(settings["max_prepared_transactions"]), max(parallel, default=0))
        self.room(data.bytes, arms, False)
        for table in data.tables:
            preflight.readable(str(table.file), self.cluster.user, self.cluster.can_read(table.file))

    def room(self, size: int, arms: list[Arm], generated: bool) -> None:
        needed = preflight.room_needed(size, sum(arm.stored for arm in arms), generated)
        preflight.disk_room(str(self.options.directory), shutil.disk_usage(self.options.directory).free, needed)

    def print_plan(self, arms: list[Arm], not_run: Mapping[str, str], data: Dataset) -> None:
        settings: Mapping[str, str] = self.server["settings"]  # type: ignore[assignment]
        print(self.server["version"])
        print(self.server.get("library", "pgcolumnar is not used"), "(DEBUG BUILD)" if self.server["debug_library"] else "(release build)")
        print(record.describe_settings(settings))
        print(f"data: {data.origin}: " + ", ".join(f"{t.name} {t.rows:,} rows" for t in data.tables) + f", {data.bytes / 1e6:,.0f} MB")
        for arm in arms:
            print(f"arm {arm.name}: {arm.title}; loaded by {arm.method}; " + self.index_line(arm, data))
        for name, why in not_run.items():
            print(f"arm {name} not run: {why}")

    @staticmethod
    def index_line(arm: Arm, data: Dataset) -> str:
        if not arm.postgres:
            return "indexes: none"
        return f"index set {data.index_set}"

    # ---- loading ----

    def load(self, arms: list[Arm], data: Dataset) -> None:
        """Every arm as often as asked, in turns; the last load stays. Heap is first, as the one that the others must equal."""
        self.duck_wanted = any(not arm.postgres for arm in arms)
        if self.duck_wanted:
            self.duck = Duck(self.options.directory, self.options.workers, self.options.duckdb_memory, self.options.timeout)
        stored = [arm for arm in arms if arm.stored]
        columns: dict[str, list[Column]] = {}
        for turn in range(self.options.load_tries):
            heap, others = stored[0], stored[1:]
            for arm in [heap, *others[turn % len(others) :], *others[: turn % len(others)]] if others else [heap]:
                loaded = self.loaded.setdefault(arm.name, Loaded())
                loaded.seconds.append(self.load_once(arm, data))
                if arm.name == "heap" and not columns:
                    with self.connect() as session:
                        columns = {t.name: load.columns_of(session, arm.schema, t.name) for t in data.tables}
                reference = None if arm.name == "heap" else self.loaded["heap"].checksums
                loaded.checksums = load.prove(arm, data, self.asker(arm), columns, reference)
                if not arm.queried:
                    with self.connect() as session:
                        session.execute(f"DROP SCHEMA {arm.schema} CASCADE")
                print(f"loaded {arm.name}: {loaded.seconds[-1]:.2f} s; counts and checksums "
                      + ("are the reference" if arm.name == "heap" else "equal heap's"))
        load.spread(self.connect, data, "arm_heap")
        for arm in stored:
            if arm.postgres and arm.queried:
                load.finish(self.connect, arm, data, self.loaded[arm.name])
                if arm.name != "timescale":  # which makes one of its own
                    guards.same_indexes(arm.name, self.loaded["heap"].indexes, self.loaded[arm.name].indexes)
                print(f"indexes of {arm.name}: " + ("; ".join(self.loaded[arm.name].indexes) or "none"))
            elif self.duck is not None and not arm.postgres:
                self.loaded[arm.name].table_bytes = self.duck.checkpoint()

    def load_once(self, arm: Arm, data: Dataset) -> float:
        if arm.postgres:
            load.create(self.connect, arm, data)
            return load.fill(self.connect, arm, data)
        assert self.duck is not None
        load.create_duck(self.duck, data)
        total, form = 0.0, data.format
        for table in data.tables:
            if not form.csv:
                exported = self.cluster.directory / f"{table.name}.csv"
                load.export_csv(self.connect, data, "arm_heap", table, str(exported))
                total += self.duck.load(type(table)(table.name, exported, table.rows), type(form)())
                exported.unlink()
            else:
                total += self.duck.load(table, form)
        return guards.seconds(total, "load of duckdb")

    def asker(self, arm: Arm) -> Callable[[str], tuple[int, str]]:
        def ask(sql: str) -> tuple[int, str]:
            if arm.postgres:
                with self.connect() as session:
                    rows = session.rows(sql).rows
            else:
                assert self.duck is not None
                rows = self.duck.run(sql)[1].rows
            return int(str(rows[0][0])), str(rows[0][1])

        return ask

    # ---- the end ----

    def targets(self, arms: list[Arm]) -> list[PgTarget | DuckTarget]:
        targets: list[PgTarget | DuckTarget] = []
        for arm in arms:
            if arm.queried and arm.postgres:
                targets.append(PgTarget(arm, self.cluster, self.options.timeout))
            elif arm.queried and self.duck is not None:
                targets.append(DuckTarget(self.duck))
        return targets

    def arm_records(self, arms: list[Arm], cold: dict[str, str]) -> list[record.ArmRecord]:
        records = []
        for arm in arms:
            loaded = self.loaded.get(arm.name)
            shared = self.loaded[arm.tables_of or arm.name]
            entry = record.ArmRecord(arm.name, arm.title, arm.method, arm.processes, arm.load_reference, arm.tables_of, arm.queried,
                                     dict(arm.settings), shared.indexes, cold=cold.get(arm.name, ""))
            if loaded is not None:
                entry.load_seconds, entry.checksums = loaded.seconds, loaded.checksums
                if arm.queried:
                    entry.table_bytes, entry.index_bytes = loaded.table_bytes, loaded.index_bytes
                    entry.index_seconds, entry.vacuum_seconds = loaded.index_seconds, loaded.vacuum_seconds
            records.append(entry)
        return records

    def described(self, data: Dataset) -> dict[str, object]:
        return {"name": data.name, "origin": data.origin, "index_set": data.index_set, "bytes": data.bytes,
                "tables": {t.name: t.rows for t in data.tables}, "checksums": data.checksums, "ties_allowed": data.ties_allowed}

    def method(self) -> dict[str, object]:
        o = self.options
        return {"cold_tries": o.cold_tries, "hot_tries": o.hot_tries, "load_tries": o.load_tries, "timeout": o.timeout, "forced": o.force}

    def clean(self) -> None:
        if self.duck is not None:
            self.duck.close()
            if not self.options.keep:
                self.duck.remove()
        if not self.options.keep:
            self.cluster.remove()
