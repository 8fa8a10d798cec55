"""Cells, and what is concluded from them. Times are seconds and never rounded here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from . import guards

OK, FAILED, NOT_RUN = "ok", "failed", "not run"


@dataclass
class Cell:
    """One query on one arm. Only a cell that is ok has times."""

    status: str = OK
    reason: str = ""
    cold: list[float] = field(default_factory=list)
    hot: list[float] = field(default_factory=list)
    rows: int | None = None
    compared: str = ""  # how the result was found equal to heap's
    spill_files: int | None = None
    spill_bytes: int | None = None

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        if self.status not in (OK, FAILED, NOT_RUN):
            raise guards.Refused(f"a cell is {self.status!r}")
        if self.status != OK and (self.cold or self.hot):
            raise guards.Refused(f"a cell that is {self.status} ({self.reason}) has times")
        for value in (*self.cold, *self.hot):
            guards.seconds(value)

    def fail(self, reason: str) -> None:
        """Whatever was measured before is dropped: part of a failed cell is no time either."""
        self.status, self.reason, self.cold, self.hot = FAILED, reason, [], []

    @property
    def hot_time(self) -> float | None:
        return statistics.median(self.hot) if self.status == OK and self.hot else None

    @property
    def cold_time(self) -> float | None:
        return statistics.median(self.cold) if self.status == OK and self.cold else None


def scatter(tries: Sequence[float]) -> float:
    return max(tries) - min(tries)


WIN, LOSS, TIE = "win", "loss", "tie"


def verdict(arm: Sequence[float], against: Sequence[float]) -> str:
    """Of `arm`, by unrounded medians; a tie where they are no further apart than the larger scatter of the two."""
    guards.tries_for_verdict("first arm", arm)
    guards.tries_for_verdict("second arm", against)
    for value in (*arm, *against):
        guards.seconds(value)
    difference = statistics.median(arm) - statistics.median(against)
    if abs(difference) <= max(scatter(arm), scatter(against)):
        return TIE
    return WIN if difference < 0 else LOSS


def geometric_mean(ratios: Sequence[float]) -> float | None:
    if not ratios:
        return None
    return math.exp(math.fsum(math.log(guards.seconds(ratio, "ratio")) for ratio in ratios) / len(ratios))


@dataclass
class Summary:
    """Of one arm, against heap. Means and totals say over how many queries they are."""

    total: float | None = None  # hot, of the queries that every arm completed
    total_queries: int = 0
    cold_total: float | None = None
    geometric_mean: float | None = None  # of arm / heap, of the queries that both completed
    mean_queries: int = 0
    wins: int = 0
    losses: int = 0
    ties: int = 0
    failed: int = 0
    not_run: int = 0


def summarize(arms: Sequence[str], cells: Mapping[str, Mapping[str, Cell]], base: str = "heap") -> dict[str, Summary]:
    """`cells` by query, then by arm."""
    # A statement that an arm is spared (no wording for DuckDB) does not shorten the others' totals unseen: the count is kept.
    common = [q for q, row in cells.items() if all(row[arm].hot_time is not None for arm in arms)]
    common_cold = [q for q, row in cells.items() if all(row[arm].cold_time is not None for arm in arms)]
    result: dict[str, Summary] = {}
    for arm in arms:
        s = result[arm] = Summary(total_queries=len(common))
        if common:
            s.total = math.fsum(cells[q][arm].hot_time or math.nan for q in common)
        if common_cold:
            s.cold_total = math.fsum(cells[q][arm].cold_time or math.nan for q in common_cold)
        ratios = []
        for row in cells.values():
            cell, against = row[arm], row.get(base)
            s.failed += cell.status == FAILED
            s.not_run += cell.status == NOT_RUN
            if against is None or arm == base or cell.hot_time is None or against.hot_time is None:
                continue
            ratios.append(cell.hot_time / against.hot_time)
            if len(cell.hot) > 1 and len(against.hot) > 1:
                outcome = verdict(cell.hot, against.hot)
                s.wins += outcome == WIN
                s.losses += outcome == LOSS
                s.ties += outcome == TIE
        s.geometric_mean, s.mean_queries = geometric_mean(ratios), len(ratios)
    return result
