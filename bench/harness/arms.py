"""The arms: how rows are stored, loaded and read, under names that say so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import guards


@dataclass(frozen=True)
class Arm:
    name: str
    title: str
    access_method: str  # 'duckdb' for DuckDB
    method: str = "COPY"  # COPY, concurrent COPY, parallel_copy, or none where the tables are another arm's
    processes: int = 1
    tables_of: str = ""  # the arm whose tables are read
    settings: tuple[tuple[str, str], ...] = ()
    extension: str = ""
    queried: bool = True

    @property
    def schema(self) -> str:
        return "arm_" + (self.tables_of or self.name)

    @property
    def stored(self) -> bool:
        return not self.tables_of

    @property
    def postgres(self) -> bool:
        return self.access_method != "duckdb"

    @property
    def load_reference(self) -> str:
        """The arm whose load this one's is compared with: heap, loaded by as many processes."""
        return "heap" if self.processes == 1 else f"heap_bulk{self.processes}"


def catalogue(bulk: Iterable[int], threads: int) -> dict[str, Arm]:
    """`threads` are DuckDB's, which loads with all of them."""
    arms = [
        Arm("heap", "heap", "heap"),
        Arm("columnar", "pgcolumnar", "pgcolumnar", extension="pgcolumnar"),
        Arm("columnar_rows", "pgcolumnar, vectorization off", "pgcolumnar", "none", tables_of="columnar",
            settings=(("pgcolumnar.enable_vectorized", "off"),), extension="pgcolumnar"),
        Arm("citus", "Citus columnar", "columnar", extension="citus_columnar"),
        Arm("timescale", "TimescaleDB, compressed chunks", "heap", extension="timescaledb"),
        Arm("duckdb", "DuckDB", "duckdb", "read_csv", threads),
    ]
    for n in bulk:
        arms += [
            Arm(f"heap_bulk{n}", f"heap, {n} concurrent COPY", "heap", "concurrent COPY", n, queried=False),
            Arm(f"columnar_bulk{n}", f"pgcolumnar, {n} concurrent COPY", "pgcolumnar", "concurrent COPY", n,
                extension="pgcolumnar", queried=False),
            Arm(f"columnar_parallel{n}", f"pgcolumnar, parallel_copy with {n} workers", "pgcolumnar", "parallel_copy", n,
                extension="pgcolumnar", queried=False),
        ]
    return {arm.name: arm for arm in arms}


def choose(asked: list[str], known: dict[str, Arm], missing: Callable[[Arm], str]) -> tuple[list[Arm], dict[str, str]]:
    """The arms to run, and why others do not. `missing` tells what an arm lacks, or nothing. Those named must run; without
    names, all that can."""
    guards.arms_known(asked, known.keys())
    reasons = {name: why for name, arm in known.items() if (why := missing(arm))}
    guards.arms_available(asked, reasons)
    chosen = [arm for name, arm in known.items() if name not in reasons and (not asked or name in asked)]
    names = {arm.name for arm in chosen}
    if "heap" not in names:
        raise guards.Refused("heap is what every other arm is compared with: it cannot be left out")
    for arm in chosen:
        if arm.tables_of and arm.tables_of not in names:
            raise guards.Refused(f"arm {arm.name} reads the tables of {arm.tables_of}, which is not among the arms")
    return chosen, {name: why for name, why in reasons.items() if name not in names}
