"""The JSON of a run: what bench/report draws from, and nothing else does."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import guards
from .stats import Cell, summarize

FORMAT = 1


@dataclass
class ArmRecord:
    name: str
    title: str
    load_method: str
    processes: int
    load_reference: str
    tables_of: str
    queried: bool
    settings: dict[str, str]
    indexes: list[str] = field(default_factory=list)
    load_seconds: list[float] = field(default_factory=list)
    index_seconds: float | None = None
    vacuum_seconds: float | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None
    checksums: dict[str, str] = field(default_factory=dict)
    cold: str = ""


@dataclass
class Record:
    label: str
    when: str
    machine: dict[str, Any]
    server: dict[str, Any]
    dataset: dict[str, Any]
    method: dict[str, Any]
    arms: list[ArmRecord]
    not_run: dict[str, str]
    queries: list[dict[str, str]]
    cells: dict[str, dict[str, Cell]]
    format: int = FORMAT

    @property
    def measured(self) -> list[str]:
        return [arm.name for arm in self.arms if arm.queried]

    def check(self) -> None:
        """What was edited, cut off or mixed up is neither written nor drawn."""
        if self.format != FORMAT:
            raise guards.Refused(f"results of format {self.format}; this program knows {FORMAT}")
        guards.cells_complete(self.measured, [q["name"] for q in self.queries], self.cells)
        for row in self.cells.values():
            for cell in row.values():
                cell.check()
        for arm in self.arms:
            for value in arm.load_seconds:
                guards.seconds(value, f"load of {arm.name}")
        heap = next((arm for arm in self.arms if arm.name == "heap"), None)
        if heap is None:
            raise guards.Refused("arm heap is missing from the results")
        for arm in self.arms:
            if arm.load_seconds and arm.checksums != heap.checksums:
                raise guards.Refused(f"{arm.name}: its checksums are not heap's")

    def failures(self) -> list[str]:
        return [f"{query} on {arm}: {cell.reason}" for query, row in self.cells.items() for arm, cell in row.items() if cell.status == "failed"]

    def write(self, file: Path) -> None:
        self.check()
        content = asdict(self)
        content["summary"] = {name: asdict(s) for name, s in summarize(self.measured, self.cells).items()}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read(file: Path) -> Record:
    """The summary in the file is for readers; it is worked out again from the cells."""
    try:
        content = json.loads(file.read_text())
        content.pop("summary", None)
        content["arms"] = [ArmRecord(**arm) for arm in content["arms"]]
        content["cells"] = {q: {arm: Cell(**cell) for arm, cell in row.items()} for q, row in content["cells"].items()}
        record = Record(**content)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise guards.Refused(f"{file}: {error}") from error
    record.check()
    return record


def machine() -> dict[str, Any]:
    def first(path: str, word: str) -> str:
        try:
            lines: Sequence[str] = Path(path).read_text().splitlines()
        except OSError:
            return ""
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(word)), "")

    memory = first("/proc/meminfo", "MemTotal").split()
    return {
        "cpu": first("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory[0]) * 1024 if memory else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_average_before": os.getloadavg()[0],
    }


def describe_settings(rows: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in rows.items())
