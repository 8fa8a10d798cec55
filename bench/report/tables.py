"""A run as Markdown. Numbers are rounded here, for reading; every verdict was reached before."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from harness.guards import Refused, loads_comparable
from harness.record import ArmRecord, Record
from harness.stats import Cell, Summary, scatter, summarize, verdict


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """The first `left` columns are text, the others numbers."""
    marks = ["---" if n < left else "--:" for n in range(len(head))]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [head, marks, *rows])


def number(value: float | None, digits: int = 3) -> str:
    """Significant digits, without exponent."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - _exponent(value))
    return f"{value:,.{places}f}"


def _exponent(value: float) -> int:
    return int(f"{abs(value):e}".split("e")[1])


def megabytes(value: int | None) -> str:
    return number(None if value is None else value / 1e6)


def machine(record: Record) -> str:
    m = record.machine
    memory = f"{m['memory_bytes'] / 2**30:.0f} GiB" if m["memory_bytes"] else "?"
    return (f"{m['cpu'] or 'CPU not told'}, {m['cores']} cores, {memory} of memory, {m['system']}. Load average {m['load_average_before']:.1f} "
            f"before the run and {m['load_average_after']:.1f} after it.")


def warnings(record: Record) -> list[str]:
    found = []
    if record.server["settings"].get("debug_assertions") == "on":
        found.append("**The server was built with assertions: these times mean nothing.**")
    if record.server.get("debug_library"):
        found.append("**pgcolumnar was a debug build: these times mean nothing.**")
    if record.machine["load_average_before"] > 0.5 * record.machine["cores"]:
        found.append("The machine was busy with other work when the run began; scatter is larger for it.")
    return found


def server(record: Record) -> str:
    s = record.server
    lines = [f"- {s['version']}", f"- {s.get('library', 'pgcolumnar not used')}, {'debug' if s.get('debug_library') else 'release'} build"]
    if "duckdb" in s:
        lines.append(f"- DuckDB {s['duckdb']['version']}, threads {s['duckdb']['threads']}, memory_limit {s['duckdb']['memory_limit']}")
    lines.append("- settings: " + ", ".join(f"`{name} = {value}`" for name, value in s["settings"].items() if name not in ("server_version",)))
    return "\n".join(lines)


def data(record: Record) -> str:
    d = record.dataset
    rows = ", ".join(f"`{name}` {count:,} rows" for name, count in d["tables"].items())
    return f"{rows}; {megabytes(d['bytes'])} MB as files; index set `{d['index_set']}`. Made by `{d['origin']}`."


def arms(record: Record) -> str:
    rows = []
    for arm in record.arms:
        how = f"tables of `{arm.tables_of}`" if arm.tables_of else arm.load_method + (f", {arm.processes} {'threads' if arm.load_method == 'read_csv' else 'processes'}" if arm.processes > 1 else "")
        settings = ", ".join(f"{k} = {v}" for k, v in arm.settings.items())
        indexes = "<br>".join(arm.indexes) or "none"
        rows.append([f"`{arm.name}`", arm.title, how, indexes if arm.queried else "not queried", settings])
    text = table(["arm", "what it is", "loaded by", "indexes", "settings"], rows, 5)
    return text + "".join(f"\n\nNot run: `{name}`, {why}." for name, why in record.not_run.items())


def load_verdict(arm: ArmRecord, record: Record) -> str:
    """Against heap loaded by as many processes."""
    reference = next((a for a in record.arms if a.name == arm.load_reference), None)
    if reference is None or reference is arm:
        return ""
    loads_comparable(arm.name, arm.processes, reference.name, reference.processes)
    ratio = statistics.median(arm.load_seconds) / statistics.median(reference.load_seconds)
    text = f"{number(ratio)}× `{reference.name}`"
    try:
        return f"{text}, {verdict(arm.load_seconds, reference.load_seconds)}"
    except Refused:
        return text  # one try has no scatter, so there is no verdict


def loads(record: Record) -> str:
    rows = []
    total = sum(record.dataset["tables"].values())
    for arm in record.arms:
        if not arm.load_seconds:
            continue
        middle = statistics.median(arm.load_seconds)
        rows.append([arm.title, number(middle), number(scatter(arm.load_seconds)) if len(arm.load_seconds) > 1 else "–",
                     f"{total / middle:,.0f}", load_verdict(arm, record), number(arm.index_seconds) if arm.queried else "–",
                     number(arm.vacuum_seconds) if arm.queried else "–"])
    return table(["arm", "load s", "scatter s", "rows/s", "against", "indexes s", "VACUUM ANALYZE s"], rows)


def sizes(record: Record) -> str:
    heap = next(arm for arm in record.arms if arm.name == "heap")
    rows = []
    for arm in record.arms:
        if arm.table_bytes is None:
            continue
        indexes = arm.index_bytes or 0
        smaller = (heap.table_bytes or 0) / arm.table_bytes
        rows.append([arm.title, megabytes(arm.table_bytes), megabytes(arm.table_bytes + indexes), f"{number(smaller)}×"])
    return table(["arm", "without indexes MB", "with indexes MB", "heap's size / this one's, without indexes"], rows)


def summary(record: Record) -> str:
    found: dict[str, Summary] = summarize(record.measured, record.cells)
    rows = []
    for arm in record.arms:
        if not arm.queried:
            continue
        s = found[arm.name]
        base = arm.name == "heap"
        rows.append([arm.title, number(s.total, 4), number(s.cold_total, 4), "1" if base else f"{number(s.geometric_mean)} ({s.mean_queries})",
                     *(["–"] * 3 if base else [str(s.wins), str(s.losses), str(s.ties)]), str(s.failed), str(s.not_run)])
    queries = next(iter(found.values())).total_queries
    head = ["arm", f"hot total s ({queries} queries)", "cold total s", "geometric mean of time / heap's (queries)", "wins", "losses", "ties", "failed", "not run"]
    return table(head, rows)


def cell_text(cell: Cell, against: Cell | None, cold: bool = False) -> str:
    if cell.status != "ok":
        return cell.status
    tries = cell.cold if cold else cell.hot
    if not tries:
        return "–"
    text = number(statistics.median(tries) * 1000)
    if len(tries) > 1:
        text += f" [{number(scatter(tries) * 1000, 2)}]"
        if against is not None and not cold and len(against.hot) > 1:
            text += f" {verdict(cell.hot, against.hot)}"
    return text


def queries(record: Record, cold: bool = False) -> str:
    titles = {arm.name: arm.title for arm in record.arms}
    rows = []
    for query in record.queries:
        row = record.cells[query["name"]]
        heap = row["heap"]
        rows.append([query["name"], query["title"]] + [cell_text(row[arm], None if arm == "heap" else heap, cold) for arm in record.measured])
    return table(["", "query"] + [f"{titles[arm]} ms" for arm in record.measured], rows, 2)


def spills(record: Record) -> str:
    titles = {arm.name: arm.title for arm in record.arms}
    rows = [[name, titles[arm], str(cell.spill_files), megabytes(cell.spill_bytes)]
            for name, row in record.cells.items() for arm, cell in row.items() if cell.spill_files]
    if not rows:
        return "No query of a PostgreSQL arm wrote temporary files. DuckDB's are not counted."
    return table(["query", "arm", "temporary files", "MB"], rows, 2) + "\n\nDuckDB's temporary files are not counted."


def failures(record: Record) -> str:
    lines = [f"- {name} on `{arm}`: {cell.status}, {cell.reason}" for name, row in record.cells.items() for arm, cell in row.items() if cell.status != "ok"]
    return "\n".join(lines)


def ties(record: Record) -> str:
    found = [f"{name} on `{arm}`" for name, row in record.cells.items() for arm, cell in row.items() if cell.compared == "equal up to ties"]
    return "" if not found else "Equal to heap's but for the choice among rows of one place at a LIMIT: " + ", ".join(found) + "."


def empty(record: Record) -> str:
    found = [name for name, row in record.cells.items() if row["heap"].rows == 0]
    return "" if not found else "Without a row in their result, so that little was asked: " + ", ".join(found) + "."
