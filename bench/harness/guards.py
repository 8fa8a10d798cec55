"""What may not be measured, compared or written down.

Each guard looks at one way in which a benchmark fools its reader, and raises Refused with a message that says what was
found. None of them talks to a server: tests/bench_selftest.sh feeds each its bad case.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path


class Refused(Exception):
    """The run stops here: what it would have shown could not be trusted."""


class StatementFailed(Exception):
    """A statement raised an error, or ran into the timeout: its cell fails, the run goes on."""


def rows_loaded(arm: str, table: str, expected: int, got: int) -> None:
    """A load that ended early is fast, and so are queries on what it left."""
    if got == 0:
        raise Refused(f"{arm}: table {table} is empty, {expected:,} rows were to be loaded")
    if got != expected:
        raise Refused(f"{arm}: table {table} has {got:,} rows, {expected:,} were to be loaded")


def same_content(arm: str, table: str, expected: str, got: str) -> None:
    """Equal counts of other rows: the checksum is over whole rows, whatever their order."""
    if expected != got:
        raise Refused(f"{arm}: the rows of {table} are not heap's: checksum {got}, heap has {expected}")


def seconds(value: object, what: str = "time") -> float:
    """A time is a positive finite number; text, NaN, zero and a missing value are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"{what} is {value!r}, not a number of seconds")
    if not math.isfinite(value) or value <= 0:
        raise Refused(f"{what} is {value!r} seconds")
    return float(value)


def tries_for_verdict(arm: str, tries: Collection[float]) -> None:
    """One try has no scatter, so nothing can be said of a difference."""
    if len(tries) < 2:
        raise Refused(f"{arm}: {len(tries)} tries give no scatter; a verdict takes two or more")


def arms_known(asked: Iterable[str], known: Collection[str]) -> None:
    for arm in asked:
        if arm not in known:
            raise Refused(f"there is no arm {arm!r}; arms: {', '.join(sorted(known))}")


def arms_available(asked: Iterable[str], missing: Mapping[str, str]) -> None:
    """An arm that was asked for by name is not left out silently."""
    for arm in asked:
        if arm in missing:
            raise Refused(f"arm {arm} cannot run: {missing[arm]}")


def cells_complete(arms: Collection[str], queries: Collection[str], cells: Mapping[str, Mapping[str, object]]) -> None:
    """Every arm has a cell for every query, and nobody else's is among them."""
    for query in queries:
        found = cells.get(query, {})
        for arm in arms:
            if arm not in found:
                raise Refused(f"arm {arm} is missing from {query}")
        for arm in found:
            if arm not in arms:
                raise Refused(f"{query} has a cell of {arm}, which is no arm of this run")
    for query in cells:
        if query not in queries:
            raise Refused(f"cells of {query}, which is no query of this run")


def release_server(debug_assertions: str, force: bool) -> None:
    if debug_assertions == "on" and not force:
        raise Refused("the server is built with assertions, its times mean nothing (--force measures all the same)")


# Rust's arithmetic checks are compiled into debug builds alone, and bring this message along.
DEBUG_MARK = b"attempt to add with overflow"


def is_debug_library(content: bytes) -> bool:
    return DEBUG_MARK in content


def release_library(library: Path, force: bool) -> bool:
    """Whether the library is a debug build, which is refused unless forced."""
    debug = library.is_file() and is_debug_library(library.read_bytes())
    if debug and not force:
        raise Refused(f"{library} is a debug build: run make without DEBUG=1 (--force measures all the same)")
    return debug


def access_method(arm: str, table: str, expected: str, got: str) -> None:
    """An arm's name says how its rows are stored."""
    if expected != got:
        raise Refused(f"{arm}: table {table} is stored by {got}, not by {expected}")


def setting_holds(arm: str, name: str, expected: str, got: str | None) -> None:
    """An unknown setting is accepted by SET as a placeholder and changes nothing."""
    if got is None:
        raise Refused(f"{arm}: the server has no setting {name}")
    if got != expected:
        raise Refused(f"{arm}: {name} is {got}, not {expected}")


def same_indexes(arm: str, expected: Collection[str], got: Collection[str]) -> None:
    """Arms of one run have the same indexes, by definition and not by name."""
    if sorted(expected) != sorted(got):
        raise Refused(f"{arm}: indexes {sorted(got)} are not heap's {sorted(expected)}")


def sample_spread(table: str, column: str, distinct: int, least: int) -> None:
    """A prefix of an ordered file is no sample of it: few dates, few counters."""
    if distinct < least:
        raise Refused(
            f"{table} is a degenerate sample: {distinct} distinct values of {column}, at least {least} were expected; "
            "take every n-th row of an ordered file, not its beginning"
        )


def loads_comparable(arm: str, processes: int, against: str, against_processes: int) -> None:
    """A parallel load is not compared with a serial one."""
    if processes != against_processes:
        raise Refused(f"load of {arm} by {processes} processes is not compared with {against} by {against_processes}")


def queries_known(asked: Iterable[str], known: Collection[str]) -> None:
    for query in asked:
        if query not in known:
            raise Refused(f"there is no query {query!r}")


def ran_something(queries: Collection[str]) -> None:
    if not queries:
        raise Refused("no query was chosen: nothing would be measured")
