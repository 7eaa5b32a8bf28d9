"""What survives compression: `python -m tests.bench.quality [--set tuned|held-out|strangers] [--seed N] …`.

`--corpus DIR` measures payloads from elsewhere (`NAME.txt` and `manifest.json`), `--gateway` asks a real gateway.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from actors.compressor.messages import Policy
from tests.bench.quality import report
from tests.bench.quality.measure import Pure, Row, measure
from tests.bench.quality.payloads import SETS, build, load


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.quality", description="What survives compression.")
    parser.add_argument("--set", choices=[*SETS], action="append", help="which payloads; default: all")
    parser.add_argument("--seed", type=int, help="the same kinds with other contents")
    parser.add_argument("--corpus", type=Path, help="measure the payloads of a directory instead")
    parser.add_argument("--kinds", nargs="+", default=[], help="only these kinds")
    parser.add_argument("--strategies", nargs="+", default=["auto"])
    parser.add_argument(
        "--gateway", action="store_true", help="through a gateway process instead of the pure functions"
    )
    parser.add_argument("--summary", action="store_true", help="without a line for each kind")
    parser.add_argument("--missing", action="store_true", help="name the facts that were not delivered")
    arguments = parser.parse_args()
    if arguments.corpus:
        sets = {arguments.corpus.name: load(arguments.corpus)}
    else:
        sets = {name: build(name, arguments.seed) for name in arguments.set or SETS}
    every: list[Row] = []
    for name, payloads in sets.items():
        chosen = [each for each in payloads if not arguments.kinds or each.kind in arguments.kinds]
        if not chosen:
            continue
        for strategy in arguments.strategies:
            print(f"\n{name}, {strategy}: {len(chosen)} payloads, {sum(len(each.facts) for each in chosen)} facts\n")
            if arguments.gateway:
                from tests.bench.quality.gateway import through_gateway

                rows = through_gateway(chosen, strategy)
            else:
                rows = []
                for each in chosen:
                    pure = Pure(Policy(strategy=strategy))
                    rows.append(measure(each, pure.first, pure.more))
            print(report.table(rows, "all", by_kind=not arguments.summary), flush=True)
            every += rows if strategy == arguments.strategies[0] else []
            if arguments.missing:
                _name_missing(rows)
    if len(sets) > 1 and every:
        print(f"\nall sets, {arguments.strategies[0]}: {len(every)} payloads\n")
        print(report.table(every, "all sets", by_kind=False))


def _name_missing(rows: list[Row]) -> None:
    for row in rows:
        for fact in row.missing:
            print(f"{row.kind}: {fact.cls}: {fact.text!r}")
        for fact in row.unasked:
            print(f"{row.kind}: not by query: {fact.text!r}")


if __name__ == "__main__":
    main()
