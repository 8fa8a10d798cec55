"""python -m report render RESULTS... --out PAGE --plots DIR, or compare BEFORE AFTER --arm ARM --out PAGE --plots DIR."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.guards import Refused
from harness.record import read

from .render import comparison, page


def main() -> int:
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    render = commands.add_parser("render")
    render.add_argument("results", type=Path, nargs="+")
    compare = commands.add_parser("compare")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument("--arm", default="columnar")
    for command in (render, compare):
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--plots", type=Path, required=True, help="a directory beside or below that of --out")
    args = parser.parse_args()
    try:
        if args.command == "render":
            page([read(file) for file in args.results], args.out, args.plots)
        else:
            comparison(read(args.before), read(args.after), args.arm, args.out, args.plots)
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    print(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
