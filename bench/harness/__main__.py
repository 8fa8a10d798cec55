"""python -m harness SUITE ...: measures one suite, and writes its JSON."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from .guards import Refused, StatementFailed


def arguments() -> argparse.Namespace:
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="harness", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("suite", choices=["web", "cpu", "tpch", "flights", "folder"])
    parser.add_argument("--pg-config", type=Path, required=True, help="of a server that has pgcolumnar installed")
    parser.add_argument("--dir", type=Path, required=True, help="for cluster, DuckDB's file and generated data; the server's user must reach it")
    parser.add_argument("--out", type=Path, required=True, help="the JSON to write")
    parser.add_argument("--label", default="run")
    parser.add_argument("--generator", type=Path, help="pgcolumnar-bench-gen")
    parser.add_argument("--folder", type=Path, help="of the suites folder and flights")
    parser.add_argument("--rows", type=int, default=0, help="to generate, or of a folder to take by stride (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=0.1, help="of tpch")
    parser.add_argument("--indexes", choices=["none", "time", "full"], default="none")
    parser.add_argument("--arms", type=names, default=[], help="comma-separated; all that the server has, if not given")
    parser.add_argument("--bulk", type=numbers, default=[2], help="processes of the bulk arms, comma-separated; '' for no bulk arms")
    parser.add_argument("--workers", type=int, default=cores, help="parallel workers per query, and threads of DuckDB")
    parser.add_argument("--cold", type=int, default=1, help="cold tries")
    parser.add_argument("--tries", type=int, default=3, help="hot tries")
    parser.add_argument("--load-tries", type=int, default=1)
    parser.add_argument("--queries", type=names, default=[], help="only these")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of a statement")
    parser.add_argument("--duckdb-memory", default="4GB")
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE", help="of the server")
    parser.add_argument("--port", type=int, default=5432, help="names the socket only")
    parser.add_argument("--force", action="store_true", help="measure a server or library that is built for debugging")
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    return parser.parse_args()


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def numbers(text: str) -> list[int]:
    return [int(number) for number in names(text)]


def setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return name, value


def main() -> int:
    args = arguments()
    from .dataset import Request
    from .run import Options, Run

    directory = args.dir.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    request = Request(args.suite, args.rows, args.seed, args.scale, args.indexes, args.generator, args.folder and args.folder.resolve(),
                      directory / "rows", len(os.sched_getaffinity(0)))
    options = Options(request, args.pg_config, directory, args.port, args.label, args.arms, args.bulk, args.workers, args.cold, args.tries,
                      args.load_tries, args.queries, args.timeout, args.duckdb_memory, dict(args.set), args.force, args.keep)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped
    start = time.monotonic()
    try:
        record = Run(options).go()
        record.write(args.out)
    except (Refused, StatementFailed) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    failures = record.failures()
    print(f"{args.out}: {len(record.cells)} queries, {len(record.arms)} arms, {time.monotonic() - start:.0f} s")
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
