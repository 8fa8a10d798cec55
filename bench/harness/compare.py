"""Results of an arm against heap's.

Within PostgreSQL values are equal to the character, names and types of the columns too, except that floats may differ by
rounding (sums in another order). Against DuckDB numbers are compared as numbers, since its avg(bigint) is a float, and
times as points in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal

from .guards import Refused
from .queries import Query, order_items

FLOAT_TOLERANCE = 1e-9  # relative, and absolute about zero
FLOAT4_TOLERANCE = 1e-5

Value = None | bool | int | float | Decimal | str
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Rows:
    names: tuple[str, ...]
    types: tuple[int, ...] | None  # PostgreSQL's type OIDs; None from DuckDB
    rows: list[Row]


# ---- values ----


def from_text(text: str | None, oid: int) -> Value:
    """A value as PostgreSQL printed it. Numerics stay text, so that their scale is compared too."""
    if text is None:
        return None
    if oid == 16:
        return text == "t"
    if oid in (20, 21, 23, 26):
        return int(text)
    if oid in (700, 701):
        return float(text)
    return text


def from_duckdb(value: object) -> Value:
    if value is None or isinstance(value, (bool, int, float, Decimal, str)):
        return value
    if isinstance(value, datetime):
        return str(value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value)
    if isinstance(value, date):
        return str(value)
    return str(value)


def close(a: float, b: float, tolerance: float = FLOAT_TOLERANCE) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def equal(a: Value, b: Value, tolerance: float = FLOAT_TOLERANCE) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return close(a, b, tolerance)
    return type(a) is type(b) and a == b


def neutral(value: Value, oid: int) -> Value:
    """What PostgreSQL printed, in the form that DuckDB's values are given for the comparison."""
    if not isinstance(value, str):
        return value
    if oid == 1700:
        return Decimal(value)
    if oid in (1082, 1114, 1184):
        return moment(value)
    return value.rstrip(" ") if oid == 1042 else value


def moment(text: str) -> str:
    text = text.removesuffix("+00").removesuffix(" 00:00:00")
    return text.rstrip("0") if "." in text else text


def equal_across(a: Value, b: Value, tolerance: float = FLOAT_TOLERANCE) -> bool:
    """`a` neutral, `b` of DuckDB."""
    if a is None or b is None:
        return a is b
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return close(float(a), float(b), tolerance)
    return a == b or (isinstance(a, str) and isinstance(b, str) and a == moment(b))


# ---- rows ----


def key_of(row: Row) -> tuple[tuple[int, str], ...]:
    """For sorting and finding: what is exact comes first, numbers that may differ by rounding last, cut to six digits."""
    exact = [(1, str(v)) for v in row if v is not None and not isinstance(v, (float, Decimal))]
    near = [(2, f"{float(v):.6g}") for v in row if isinstance(v, (float, Decimal))]
    return (*exact, *near)


def exact_key(row: Row, exact: Sequence[int]) -> tuple[str | None, ...]:
    return tuple(None if row[n] is None else moment(str(row[n])) for n in exact)


@dataclass
class Comparison:
    """`reference` is heap's result; `stream` gives heap's rows of the statement without its LIMIT, where it has one."""

    query: Query
    reference: Rows
    got: Rows
    ties_allowed: bool
    stream: Callable[[], Iterable[Row]] | None = None

    def __post_init__(self) -> None:
        self.across = self.got.types is None
        types = self.reference.types or ()
        self.tolerance = [FLOAT4_TOLERANCE if oid == 700 else FLOAT_TOLERANCE for oid in types]
        self.expected = [self.neutral(row) for row in self.reference.rows] if self.across else self.reference.rows

    def neutral(self, row: Row) -> Row:
        return tuple(neutral(v, oid) for v, oid in zip(row, self.reference.types or ()))

    def same(self, a: Row, b: Row) -> bool:
        test = equal_across if self.across else equal
        return len(a) == len(b) and all(test(x, y, t) for x, y, t in zip(a, b, self.tolerance))

    def same_rows(self, a: Sequence[Row], b: Sequence[Row]) -> bool:
        return len(a) == len(b) and all(self.same(x, y) for x, y in zip(a, b))

    def outcome(self) -> str:
        """How the two were found equal; raises Refused where they are not."""
        if not self.across and (self.got.names, self.got.types) != (self.reference.names, self.reference.types):
            raise Refused(f"wrong result: columns {self.got.names} of types {self.got.types}, heap has "
                          f"{self.reference.names} of {self.reference.types}")
        expected, got = self.expected, self.got.rows
        if len(expected) != len(got):
            raise Refused(f"wrong result: {len(got)} rows, heap has {len(expected)}")
        ordered = self.query.sorted and not self.query.unordered
        if ordered and self.same_rows(expected, got):
            return "equal in order"
        if not ordered and self.same_rows(sorted(expected, key=key_of), sorted(got, key=key_of)):
            return "equal"
        if self.ties_allowed or self.query.unordered:
            return self.equal_up_to_ties()
        raise Refused(f"wrong result: {self.first_difference(ordered)}")

    def first_difference(self, ordered: bool) -> str:
        a, b = (self.expected, self.got.rows) if ordered else (
            sorted(self.expected, key=key_of), sorted(self.got.rows, key=key_of))
        for n, (x, y) in enumerate(zip(a, b), 1):
            if not self.same(x, y):
                return f"row {n} is {str(y)[:150]}, heap has {str(x)[:150]}"
        return "rows differ"

    def equal_up_to_ties(self) -> str:
        """Another choice among rows of one place in the order is no error: the values ordered by must be the same in order, and
        every row one that heap has without the LIMIT."""
        columns = self.ordered_columns()
        for n in columns:
            test = equal_across if self.across else equal
            for x, y in zip(self.expected, self.got.rows):
                if not test(x[n], y[n], self.tolerance[n]):
                    raise Refused(f"wrong result: {y[n]!r} where heap has {x[n]!r}, in the order of column {self.reference.names[n]}")
        if self.stream is None:
            if self.same_rows(sorted(self.expected, key=key_of), sorted(self.got.rows, key=key_of)):
                return "equal up to ties"
            raise Refused(f"wrong result: {self.first_difference(False)}")
        types = self.reference.types or ()
        exact = [n for n, oid in enumerate(types) if oid not in (700, 701, 1700)]
        wanted: dict[tuple[str | None, ...], list[Row]] = {}
        for row in self.got.rows:
            wanted.setdefault(exact_key(row, exact), []).append(row)
        for row in self.stream():
            row = self.neutral(row) if self.across else row
            candidates = wanted.get(exact_key(row, exact))
            for n, candidate in enumerate(candidates or ()):
                if candidates is not None and self.same(row, candidate):
                    candidates.pop(n)
                    break
        left = [row for rows in wanted.values() for row in rows]
        if left:
            raise Refused(f"wrong result: {len(left)} rows that heap does not have without the LIMIT, the first {str(left[0])[:200]}")
        return "equal up to ties"

    def ordered_columns(self) -> list[int]:
        """Places of the ORDER BY items that are columns of the result. Others are not checked."""
        names = [name.lower() for name in self.reference.names]
        found = []
        for item in order_items(self.query.sql):
            words = item.lower().replace('"', "").split()
            word = words[0] if words else ""
            if word.isdigit():
                found.append(int(word) - 1)
            elif names.count(word.split("(")[0]) == 1:
                found.append(names.index(word.split("(")[0]))
        return found
