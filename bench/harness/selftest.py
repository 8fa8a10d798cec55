"""Feeds each guard the case that it is there for, and shows that it refuses; then a good case, and shows that it lets it pass.

No server and no package is needed. Closes with `guards: N passed, N failed`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import guards, preflight, queries
from .arms import catalogue, choose
from .cluster import cold_label, evict
from .dataset import byte_ranges, count_lines, sample
from .guards import Refused
from .selftest_runs import CASES as RUNS
from .stats import Cell, geometric_mean, verdict

Case = tuple[str, Callable[[], object], str]  # name, what to do, words of the refusal; none where it must pass


def same(got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"{got!r}, not {expected!r}")


def failed_with_time() -> None:
    cell = Cell(hot=[0.5])
    cell.fail("ERROR: out of memory")
    same((cell.hot_time, cell.hot), (None, []))
    Cell(status="failed", reason="ERROR", hot=[0.001])


ROUNDED = ([1.0004, 1.0004], [1.0001, 1.0001])  # both 1.000 when rounded to a millisecond
INDEX = "CREATE INDEX ON hits USING btree (eventtime)"
ARMS = catalogue([2], 2)
CITUS = {"citus": "extension citus_columnar is not installed"}

GUARDS: list[Case] = [
    ("an empty table", lambda: guards.rows_loaded("columnar", "hits", 1000, 0), "is empty"),
    ("a short load", lambda: guards.rows_loaded("columnar", "hits", 1000, 999), "999 rows, 1,000"),
    ("a load twice", lambda: guards.rows_loaded("columnar", "hits", 1000, 2000), "2,000 rows, 1,000"),
    ("a full load", lambda: guards.rows_loaded("columnar", "hits", 1000, 1000), ""),
    ("other rows, equal counts", lambda: guards.same_content("columnar", "hits", "77", "78"), "checksum 78, heap has 77"),
    ("the same rows", lambda: guards.same_content("columnar", "hits", "77", "77"), ""),
    ("a time that is text", lambda: guards.seconds("0.12"), "not a number"),
    ("a time that is missing", lambda: guards.seconds(None), "not a number"),
    ("a time that is true", lambda: guards.seconds(True), "not a number"),
    ("a time that is NaN", lambda: guards.seconds(float("nan")), "nan seconds"),
    ("a time of zero", lambda: guards.seconds(0.0), "0.0 seconds"),
    ("a negative time", lambda: guards.seconds(-1.0), "-1.0 seconds"),
    ("a cell with a time that is text", lambda: Cell(hot=["12 ms"]), "not a number"),  # type: ignore[list-item]
    ("a verdict from one try", lambda: verdict([1.0], [2.0, 2.1]), "no scatter"),
    ("a verdict from a time that is text", lambda: verdict([1.0, "2"], [2.0, 2.1]), "not a number"),  # type: ignore[list-item]
    ("a rounded tie is a loss", lambda: same(verdict(*ROUNDED), "loss"), ""),
    ("a rounded tie, the other way, is a win", lambda: same(verdict(*reversed(ROUNDED)), "win"), ""),
    ("a difference within the scatter is a tie", lambda: same(verdict([1.0, 1.1, 1.4], [1.2, 1.3, 1.25]), "tie"), ""),
    ("a difference beyond the scatter is a win", lambda: same(verdict([1.0, 1.1, 1.2], [2.0, 2.1, 2.2]), "win"), ""),
    ("a geometric mean of a zero ratio", lambda: geometric_mean([1.0, 0.0]), "ratio is 0.0"),
    ("a geometric mean", lambda: same(round(geometric_mean([0.25, 4.0]) or 0, 12), 1.0), ""),
    ("a failed statement with a time", failed_with_time, "has times"),
    ("a cell of no known status", lambda: Cell(status="fast"), "a cell is 'fast'"),
    ("an arm that is not known", lambda: choose(["heap", "oracle"], ARMS, lambda a: ""), "no arm 'oracle'"),
    ("an arm that the server lacks", lambda: choose(["heap", "citus"], ARMS, lambda a: CITUS.get(a.name, "")), "citus cannot run"),
    ("a run without heap", lambda: choose(["columnar"], ARMS, lambda a: ""), "cannot be left out"),
    ("an arm that reads tables of an arm left out", lambda: choose(["heap", "columnar_rows"], ARMS, lambda a: ""), "reads the tables of columnar"),
    ("arms that can run, others told", lambda: same(choose([], ARMS, lambda a: CITUS.get(a.name, ""))[1], CITUS), ""),
    ("a missing arm", lambda: guards.cells_complete(["heap", "columnar"], ["q01"], {"q01": {"heap": 1}}), "columnar is missing from q01"),
    ("a missing query", lambda: guards.cells_complete(["heap"], ["q01", "q02"], {"q01": {"heap": 1}}), "missing from q02"),
    ("a cell under another arm", lambda: guards.cells_complete(["heap"], ["q01"], {"q01": {"heap": 1, "duckdb": 2}}), "no arm of this run"),
    ("a cell under another query", lambda: guards.cells_complete(["heap"], ["q01"], {"q01": {"heap": 1}, "q9": {}}), "no query of this run"),
    ("an assertion build", lambda: guards.release_server("on", False), "built with assertions"),
    ("an assertion build, forced", lambda: guards.release_server("on", True), ""),
    ("a release build", lambda: guards.release_server("off", False), ""),
    ("a heap table under the name of columnar", lambda: guards.access_method("columnar", "hits", "pgcolumnar", "heap"), "stored by heap"),
    ("a setting that does not exist", lambda: guards.setting_holds("columnar_rows", "pgcolumnar.x", "off", None), "no setting"),
    ("a setting that did not take", lambda: guards.setting_holds("columnar_rows", "pgcolumnar.x", "off", "on"), "is on, not off"),
    ("an arm with another index set", lambda: guards.same_indexes("columnar", [INDEX], []), "are not heap's"),
    ("arms with the same index set", lambda: guards.same_indexes("columnar", [INDEX], [INDEX]), ""),
    ("a degenerate sample", lambda: guards.sample_spread("hits", "eventdate", 1, 10), "degenerate sample"),
    ("a true sample", lambda: guards.sample_spread("hits", "eventdate", 31, 10), ""),
    ("a parallel load against a serial one", lambda: guards.loads_comparable("columnar_bulk2", 2, "heap", 1), "is not compared"),
    ("a query that is not known", lambda: guards.queries_known(["q99"], ["q01"]), "no query 'q99'"),
    ("no query at all", lambda: guards.ran_something([]), "nothing would be measured"),
    ("too few worker processes", lambda: preflight.worker_processes(8, 8), "set max_worker_processes = 10"),
    ("enough worker processes", lambda: preflight.worker_processes(10, 8), ""),
    ("too few prepared transactions", lambda: preflight.prepared_transactions(0, 4), "set max_prepared_transactions = 4"),
    ("a disk that is too small", lambda: preflight.disk_room("/data", 10**9, 5 * 10**9), "has 1.0 GB free, this run takes about 5.0 GB"),
    ("a file the server cannot read", lambda: preflight.readable("/root/hits.csv", "postgres", "Permission denied"), "chmod o+r"),
]

FILE = """-- q01: one
SELECT 1;
-- q02 [unordered]: two
SELECT a FROM t ORDER BY b LIMIT 3 OFFSET 2;
-- q03 [pg-only]: three
SELECT x -- a comment
FROM (SELECT 1 AS x ORDER BY 1) s;
-- duckdb:
SELECT 3;
-- q04 [pg-only]: four
SELECT 4;
"""


def parsed() -> None:
    one, two, three, four = queries.parse(FILE)
    same((one.sql, one.duckdb, one.sorted), ("SELECT 1", "SELECT 1", False))
    same((two.unordered, two.sorted, queries.without_limit(two.sql)), (True, True, "SELECT a FROM t ORDER BY b"))
    same((three.duckdb, three.sorted, queries.without_limit(three.sql)), ("SELECT 3", False, None))
    same((four.duckdb, len(queries.parse("SELECT 1;\nSELECT ';' FROM t;\n"))), (None, 2))


def files() -> None:
    """Byte ranges are whole lines and all of them; a sample by stride is of the whole file."""
    with tempfile.TemporaryDirectory() as directory:
        file, to = Path(directory) / "a.csv", Path(directory) / "b.csv"
        rows = ["header"] + [f"{n}," + "x" * (n % 13) for n in range(997)]
        file.write_text("\n".join(rows))
        same(count_lines(file), 998)
        content = file.read_bytes()
        for parts in (1, 2, 3, 8):
            pieces = [content[a : a + n] for a, n in byte_ranges(file, parts, True)]
            same((b"".join(pieces), all(piece.endswith(b"\n") for piece in pieces[:-1])), (content[7:], True))
        same((sample(file, to, 100)[1], to.read_text().splitlines()[-1][:4]), (10, "899,"))
        same(evict(to) <= 1.0, True)


def library(content: bytes, force: bool) -> bool:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return guards.release_library(Path(file.name), force)


DEBUG = b"..attempt to add with overflow.."

OTHERS: list[Case] = [
    ("a query file", parsed, ""),
    ("a query without statement", lambda: queries.parse("-- q01: a\n-- q02: b\nSELECT 1;"), "q01 has no statement"),
    ("two queries of one name", lambda: queries.parse("-- q01: a\nSELECT 1;\n-- q01: b\nSELECT 1;"), "one name"),
    ("a flag that is not known", lambda: queries.parse("-- q01 [fast]: a\nSELECT 1;"), "unknown flags"),
    ("byte ranges, samples", files, ""),
    ("a cold run that was cold", lambda: same("dropped" in cold_label(0.0), True), ""),
    ("a cold run that was warm is not called cold", lambda: same(cold_label(0.97), "server restarted, 97% of the data files' pages still in the page cache"), ""),
    ("a query file that is not there", lambda: queries.read(Path("/nowhere/queries.sql")), "is missing"),
    ("a debug build of the library", lambda: library(DEBUG, False), "is a debug build"),
    ("a debug build of the library, forced and told", lambda: same(library(DEBUG, True), True), ""),
    ("a release build of the library", lambda: same(library(b"ELF", False), False), ""),
]


def holds(what: Callable[[], object], refusal: str) -> str:
    """Nothing, or what went wrong."""
    try:
        what()
    except Refused as error:
        if refusal and refusal in str(error):
            return ""
        return f"refused with {error}" + (f", not with {refusal!r}" if refusal else "")
    except Exception as error:  # anything else is no refusal
        return f"{type(error).__name__}: {error}"
    return f"let it pass; {refusal!r} was to refuse it" if refusal else ""


def main() -> int:
    passed = failed = 0
    for name, what, refusal in [*GUARDS, *OTHERS, *RUNS]:
        wrong = holds(what, refusal)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f"ok      {'refused: ' if refusal else ''}{name}" if not wrong else f"FAILED  {name}: {wrong}")
    print(f"guards: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
