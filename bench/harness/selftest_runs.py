"""The self-test's whole runs: arms that are played here, one of which misbehaves, and results that were tampered with."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from . import record, stats
from .compare import Comparison, Row, Rows, Value, from_duckdb
from .guards import Refused, StatementFailed
from .measure import Plan, measure
from .queries import Query
from .stats import Cell

INT, FLOAT, TEXT, NUMERIC, STAMP = 20, 701, 25, 1700, 1184
ORDERED = Query("q01", "ordered", "SELECT k, n FROM t ORDER BY n DESC", "SELECT k, n FROM t ORDER BY n DESC")
PLAIN = Query("q02", "plain", "SELECT k, n FROM t", "SELECT k, n FROM t")
TIES = Query("q03", "ties", "SELECT k, n FROM t ORDER BY n DESC LIMIT 2", None, unordered=True)
OPEN = Query("q04", "open", "SELECT k, n FROM t", None, unordered=True)
HEAP: list[Row] = [("a", 3), ("b", 2), ("c", 1)]


class Played:
    """An arm of which is known how it answers."""

    def __init__(self, name: str, rows: list[Row] | None = None, fails: bool = False, timed_rows: int | None = None, seconds: float = 0.01) -> None:
        self.name, self.fails, self.seconds = name, fails, seconds
        self.rows = HEAP if rows is None else rows
        self.timed_rows = len(self.rows) if timed_rows is None else timed_rows

    def sql(self, query: Query) -> str | None:
        return query.sql if self.name != "duckdb" else query.duckdb

    def cold(self) -> None:
        pass

    def time(self, sql: str) -> tuple[float, int]:
        if self.fails:
            raise StatementFailed("ERROR: not implemented")
        return self.seconds, self.timed_rows

    def fetch(self, sql: str) -> tuple[Rows, int | None, int | None]:
        if self.fails:
            raise StatementFailed("ERROR: not implemented")
        return Rows(("k", "n"), (TEXT, INT), self.rows), 0, 0

    def stream(self, sql: str) -> Iterable[Row]:
        return iter([*HEAP, ("d", 2)])


def cell_of(arm: Played, query: Query = ORDERED, heap: Played | None = None) -> Cell:
    """How an arm fares against heap, as a refusal where its cell failed."""
    cells = measure([heap or Played("heap"), arm], Plan([query], 1, 3, False, lambda line: None))
    cell = cells[query.name][arm.name]
    if cell.status == stats.FAILED:
        if cell.hot_time is not None or cell.cold_time is not None or cell.hot or cell.cold:
            raise AssertionError("a failed cell has a time")
        raise Refused(cell.reason)
    return cell


def compared(expected: Iterable[Value], got: Iterable[object], oid: int, across: bool = False) -> str:
    """One column of heap's against the same of another arm, or of DuckDB."""
    reference = Rows(("x",), (oid,), [(v,) for v in expected])
    rows: list[Row] = [(from_duckdb(v),) for v in got]
    return Comparison(Query("q", "", "SELECT x FROM t", None), reference, Rows(("x",), None if across else (oid,), rows), False).outcome()


def other_columns() -> None:
    Comparison(PLAIN, Rows(("k", "n"), (TEXT, INT), HEAP), Rows(("k", "n"), (TEXT, NUMERIC), HEAP), False).outcome()


def failing_statement_counts() -> None:
    """A failed arm has no total, no mean, no win."""
    arms = [Played("heap"), Played("columnar", fails=True, seconds=0.0001)]
    cells = measure(arms, Plan([ORDERED], 0, 3, False, lambda line: None))
    summary = stats.summarize(["heap", "columnar"], cells)["columnar"]
    if (summary.wins, summary.failed, summary.geometric_mean, summary.total) != (0, 1, None, None):
        raise AssertionError(f"{summary}")


def means_stay_with_their_arms() -> None:
    arms = [Played("heap", seconds=0.1), Played("columnar", seconds=0.05), Played("duckdb", seconds=0.2)]
    summary = stats.summarize([a.name for a in arms], measure(arms, Plan([ORDERED, PLAIN], 0, 3, False, lambda line: None)))
    found = {name: (round(s.geometric_mean or 1, 9), s.wins, s.losses, round(s.total or 0, 9)) for name, s in summary.items()}
    if found != {"heap": (1, 0, 0, 0.2), "columnar": (0.5, 2, 0, 0.1), "duckdb": (2.0, 0, 2, 0.4)}:
        raise AssertionError(f"{found}")


def tampered(change: Callable[[dict], None]) -> Callable[[], object]:  # type: ignore[type-arg]
    """A sound result, written, changed by hand, and read again."""

    def read_back() -> object:
        arms = [record.ArmRecord(name, name, "COPY", 1, "heap", "", True, {}, load_seconds=[1.0], checksums={"t": "77"}) for name in ("heap", "columnar")]
        cells = measure([Played("heap"), Played("columnar")], Plan([ORDERED], 1, 3, False, lambda line: None))
        whole = record.Record("x", "now", {}, {}, {}, {}, arms, {}, [{"name": "q01", "title": "ordered"}], cells)
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "x.json"
            whole.write(file)
            content = json.loads(file.read_text())
            change(content)
            file.write_text(json.dumps(content))
            return record.read(file)

    return read_back


CASES: list[tuple[str, Callable[[], object], str]] = [
    ("an arm that is right", lambda: cell_of(Played("columnar")), ""),
    ("a failed statement", lambda: cell_of(Played("columnar", fails=True)), "not implemented"),
    ("a failed statement is no win", failing_statement_counts, ""),
    ("means and totals under their arms", means_stay_with_their_arms, ""),
    ("a wrong result in one arm", lambda: cell_of(Played("columnar", [("a", 3), ("b", 2), ("c", 9)])), "wrong result: row 3"),
    ("rows swapped where they are ordered", lambda: cell_of(Played("columnar", [HEAP[1], HEAP[0], HEAP[2]])), "wrong result: row 1"),
    ("rows swapped where they are not", lambda: cell_of(Played("columnar", [HEAP[1], HEAP[0], HEAP[2]]), PLAIN), ""),
    ("values swapped between rows", lambda: cell_of(Played("columnar", [("a", 2), ("b", 3), ("c", 1)]), PLAIN), "wrong result"),
    ("columns of another type", other_columns, "wrong result: columns"),
    ("rows left open without a LIMIT", lambda: cell_of(Played("columnar", [HEAP[0], HEAP[0], HEAP[2]]), OPEN), "wrong result: row 2"),
    ("too few rows", lambda: cell_of(Played("columnar", HEAP[:2])), "2 rows, heap has 3"),
    ("no rows", lambda: cell_of(Played("columnar", [])), "0 rows, heap has 3"),
    ("fewer rows when timed than when checked", lambda: cell_of(Played("columnar", timed_rows=1)), "1 rows in a timed run"),
    ("an arm whose heap failed", lambda: cell_of(Played("columnar"), heap=Played("heap", fails=True)), "no result to compare with"),
    ("a time of zero", lambda: cell_of(Played("columnar", seconds=0.0)), "0.0 seconds"),
    ("another choice among ties", lambda: cell_of(Played("columnar", [("a", 3), ("d", 2)]), TIES, Played("heap", HEAP[:2])), ""),
    ("ties that heap does not have", lambda: cell_of(Played("columnar", [("a", 3), ("e", 2)]), TIES, Played("heap", HEAP[:2])), "does not have"),
    ("one row twice at a LIMIT", lambda: cell_of(Played("columnar", [("b", 2), ("b", 2)]), TIES, Played("heap", [("b", 2), ("d", 2)])), "does not have"),
    ("a lower place at a LIMIT", lambda: cell_of(Played("columnar", [("a", 3), ("c", 1)]), TIES, Played("heap", HEAP[:2])), "in the order of column n"),
    ("a float that differs by rounding", lambda: compared([0.1 + 0.2], [0.3], FLOAT), ""),
    ("a float that differs by more", lambda: compared([0.3], [0.3000001], FLOAT), "wrong result"),
    ("a numeric of another scale", lambda: compared(["1.50"], ["1.5"], NUMERIC), "wrong result"),
    ("NULL and the empty string", lambda: compared([None], [""], TEXT), "wrong result"),
    ("a bigint average that DuckDB has as float", lambda: compared(["12.5000000000000000"], [12.5], NUMERIC, across=True), ""),
    ("a point in time of DuckDB", lambda: compared(["2026-01-01 10:00:00.5+00"], ["2026-01-01 10:00:00.500000"], STAMP, across=True), ""),
    ("a wrong count of DuckDB", lambda: compared([12], [13], INT, across=True), "wrong result"),
    ("a result as it was written", tampered(lambda c: None), ""),
    ("a result that lost an arm", tampered(lambda c: c["cells"]["q01"].pop("columnar")), "columnar is missing"),
    ("a result that lost heap", tampered(lambda c: c["arms"][0].update(name="columnar2", queried=False) or c["cells"]["q01"].pop("heap")), "heap is missing"),
    ("a result with a time as text", tampered(lambda c: c["cells"]["q01"]["heap"].update(hot=["9.1 ms"])), "not a number"),
    ("a failed cell given a time", tampered(lambda c: c["cells"]["q01"]["columnar"].update(status="failed")), "has times"),
    ("a result of other rows", tampered(lambda c: c["arms"][1].update(checksums={"t": "78"})), "are not heap's"),
    ("a result of another format", tampered(lambda c: c.update(format=9)), "format 9"),
    ("a result with half its fields", tampered(lambda c: c.pop("server")), "server"),
]
