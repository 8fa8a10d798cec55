"""Asking every query of every arm: cold, checked against heap, then hot; arms take turns within each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from . import guards
from .compare import Comparison, Row, Rows
from .guards import StatementFailed
from .queries import Query, without_limit
from .stats import NOT_RUN, Cell


class Target(Protocol):
    """An arm that can be asked."""

    name: str

    def sql(self, query: Query) -> str | None: ...
    def cold(self) -> None:
        """Makes the next statement a cold one."""

    def time(self, sql: str) -> tuple[float, int]:
        """Seconds, and the number of rows that came back."""

    def fetch(self, sql: str) -> tuple[Rows, int | None, int | None]:
        """The rows, and temporary files and bytes that were written, where that is known."""

    def stream(self, sql: str) -> Iterable[Row]: ...


@dataclass
class Plan:
    queries: Sequence[Query]
    cold_tries: int
    hot_tries: int
    ties_allowed: bool
    say: Callable[[str], None] = print


def rotated(targets: Sequence[Target], by: int) -> list[Target]:
    """No arm is always first."""
    by %= len(targets)
    return [*targets[by:], *targets[:by]]


def measure(targets: Sequence[Target], plan: Plan, base: str = "heap") -> dict[str, dict[str, Cell]]:
    """Cells by query and arm."""
    guards.ran_something([q.name for q in plan.queries])
    cells: dict[str, dict[str, Cell]] = {}
    for turn, query in enumerate(plan.queries):
        row = cells[query.name] = {target.name: Cell() for target in targets}
        for target in targets:
            if target.sql(query) is None:
                row[target.name] = Cell(status=NOT_RUN, reason="the query has no wording for this arm")
        for n in range(plan.cold_tries):
            for target in rotated(targets, turn + n):
                attempt(row[target.name], lambda: time_cold(target, query, row[target.name]))
        check(targets, query, row, plan, base)
        for n in range(plan.hot_tries):
            for target in rotated(targets, turn + n):
                attempt(row[target.name], lambda: time_hot(target, query, row[target.name]))
        plan.say(line(query, row))
    guards.cells_complete([t.name for t in targets], [q.name for q in plan.queries], cells)
    return cells


def attempt(cell: Cell, work: Callable[[], None]) -> None:
    """A statement that fails, or a guard that refuses its result, fails the cell; the run goes on and ends with an error."""
    if cell.status != "ok":
        return
    try:
        work()
    except (StatementFailed, guards.Refused) as error:
        cell.fail(str(error))


def time_cold(target: Target, query: Query, cell: Cell) -> None:
    target.cold()
    seconds, _ = target.time(target.sql(query) or "")
    cell.cold.append(guards.seconds(seconds))


def time_hot(target: Target, query: Query, cell: Cell) -> None:
    seconds, rows = target.time(target.sql(query) or "")
    if cell.rows is not None and rows != cell.rows:
        raise guards.Refused(f"wrong result: {rows} rows in a timed run, {cell.rows} when it was checked")
    cell.hot.append(guards.seconds(seconds))


def check(targets: Sequence[Target], query: Query, row: dict[str, Cell], plan: Plan, base: str) -> None:
    """The untimed run before the hot ones: every arm's rows against heap's."""
    reference: list[Rows] = []
    heap = next(target for target in targets if target.name == base)

    def one(target: Target, cell: Cell) -> None:
        if target.name != base and not reference:
            raise guards.Refused("heap has no result to compare with")
        got, cell.spill_files, cell.spill_bytes = target.fetch(target.sql(query) or "")
        cell.rows = len(got.rows)
        if target.name == base:
            reference.append(got)
            cell.compared = "reference"
            return
        whole = without_limit(query.sql)
        stream = (lambda: heap.stream(whole)) if whole is not None else None
        cell.compared = Comparison(query, reference[0], got, plan.ties_allowed, stream).outcome()

    for target in [heap, *(t for t in targets if t.name != base)]:
        cell = row[target.name]
        attempt(cell, lambda: one(target, cell))


def line(query: Query, row: dict[str, Cell]) -> str:
    def show(cell: Cell) -> str:
        if cell.status != "ok":
            return cell.status.upper()
        shown = cell.hot_time if cell.hot_time is not None else cell.cold_time
        return "checked" if shown is None else f"{shown * 1000:.1f} ms"

    return f"{query.name:>4}  " + "  ".join(f"{name} {show(cell)}" for name, cell in row.items()) + f"  | {query.title[:50]}"
