"""What shortening costs: `python -m tests.bench.compress [--kinds …] [--dense] [--memory]`.

CPU milliseconds for each kind of text at 100 kB, 200 kB, 2 MB and (`--large`) 40 MB, the best of three; of the smaller
ones the best of as many in each of some passes over all kinds, because a busy machine is slow for seconds at a time.
The last column is how many times longer 2 MB take than 200 kB (10 = linear, less = sampled). `--memory` adds the peak
of what Python allocates, as a multiple of the text.
"""

from __future__ import annotations

import argparse
import random
import time
import tracemalloc
from collections.abc import Callable

from actors.compressor.messages import Policy
from tests.actors.compressor import texts

SMALL, MIDDLE, BIG, LARGE = 100_000, 200_000, 2_000_000, 40_000_000
_REPEATED, _PASSES = (SMALL, MIDDLE), 6


def _prose(count: int) -> str:
    return "\n\n".join(texts.sentence(random.Random(at), 60) for at in range(count))


def _settings(count: int) -> str:
    return "\n".join(f"[section_{at}]\nkey_{at} = {at * 7}\nname = value {at}\nenabled = true\n" for at in range(count))


def _columns(count: int) -> str:
    rows = (f"pod-{at:05d}-{at * 7919 % 9973:04d}   1/1     Running   {at % 9}" for at in range(count))
    return "\n".join(["NAME             READY   STATUS    RESTARTS", *rows])


def _ndjson(count: int) -> str:
    return "\n".join(f'{{"t":{at},"level":"info","msg":"message {at}","ms":{at % 977}}}' for at in range(count))


def _page(inner: str) -> str:
    return f"<!DOCTYPE html><html><body>{inner}</body></html>"


def _cells(rows: int) -> str:
    row = "".join(f"<td>{at * 37 % 977}</td>" for at in range(9))
    return _page(f"<table>{''.join(f'<tr><td>{at}</td>{row}</tr>' for at in range(rows))}</table>")


def _nested(count: int) -> str:
    return "[" + ",".join(f'{{"id":{at},"a":{{"b":{{"c":{at}}}}},"d":[{{"e":1}}]}}' for at in range(count)) + "]"


DENSE: dict[str, Callable[[int], str]] = {
    "html cells": _cells,
    "html inline": lambda count: _page("".join(f"<b>{at % 10}</b>" for at in range(count))),
    "html blocks": lambda count: _page("".join(f"<div><p>x{at}</p></div>" for at in range(count))),
    "html breaks": lambda count: _page("<br>a" * count),
    "nested objects": _nested,
    "small records": lambda count: '{"a":1}\n' * count,
    "numbers": lambda count: "[" + ",".join(map(str, range(count))) + "]",
    "members": lambda count: "{" + ",".join(f'"key_{at}":{at}' for at in range(count)) + "}",
    "blank lines": lambda count: "\n".join("" if at % 20 else f"line {at}" for at in range(count)),
    "carriage returns": lambda count: "\r\n".join(f"line {at} of text" for at in range(count)),
    "short lines": lambda count: "\n".join(map(str, range(count))),
    "wide table": lambda count: "\n".join(
        [",".join(f"col_{at}" for at in range(60)), *(",".join([str(at * 7919 % 99_991)] * 60) for at in range(count))]
    ),
    "deep indent": lambda count: "".join(f"{'  ' * (at % 200)}<n{at % 200} id='{at}'>\n" for at in range(count)),
    "one line": lambda count: "word " * count,
}
"""What has as much structure in as few characters as it can."""
KINDS: dict[str, Callable[[int], str]] = {
    "log": texts.log,
    "json": texts.issues,
    "ndjson": _ndjson,
    "code": texts.code,
    "markdown": texts.markdown,
    "html": texts.page,
    "table": lambda count: texts.table(count, 5),
    "columns": _columns,
    "settings": _settings,
    "grep": texts.grep,
    "diff": texts.diff,
    "history": texts.history,
    "prose": _prose,
    "korean": lambda count: "데이터베이스가 느립니다. 로그인을 확인하세요.\n" * count,
    **DENSE,
}


def sized(kind: str, chars: int) -> str:
    """A text of a kind with about so many code points."""
    make = KINDS[kind]
    sample = 200
    base = len(make(1))
    return make(max(1, (chars - base) * (sample - 1) // (len(make(sample)) - base)))


def milliseconds(text: str, rounds: int = 3, query: str = "") -> float:
    """CPU time of shortening a text by default settings, the best of some rounds."""
    found = []
    for _ in range(rounds):
        began = time.process_time()
        texts.compress(text, policy=Policy(), query=query)
        found.append(time.process_time() - began)
    return min(found) * 1000


def peak(text: str) -> float:
    """The most memory that Python held for it, as a multiple of the text's bytes."""
    tracemalloc.start()
    texts.compress(text, policy=Policy())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / len(text.encode())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.compress", description="What shortening costs.")
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS], default=[*KINDS])
    parser.add_argument("--dense", action="store_true", help="only what is as dense as it can be")
    parser.add_argument("--query", default="", help="what the agent looks for")
    parser.add_argument("--large", action="store_true", help="40 MB too")
    parser.add_argument("--memory", action="store_true", help="peak memory at 2 MB")
    arguments = parser.parse_args()
    columns = ["100 kB", "200 kB", "2 MB", "2 MB ÷ 200 kB"]
    columns += ["40 MB"] * arguments.large + ["peak at 2 MB"] * arguments.memory
    print("| kind | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    kinds = DENSE if arguments.dense else arguments.kinds
    passes = [
        {(kind, size): milliseconds(sized(kind, size), query=arguments.query) for kind in kinds for size in _REPEATED}
        for _ in range(_PASSES)
    ]
    for kind in kinds:
        small, middle = (min(each[kind, size] for each in passes) for size in _REPEATED)
        big = milliseconds(sized(kind, BIG), query=arguments.query)
        cells = [f"{small:.1f} ms", f"{middle:.1f} ms", f"{big:.0f} ms", f"{big / middle:.1f}"]
        cells += [f"{milliseconds(sized(kind, LARGE), 1):.0f} ms"] * arguments.large
        cells += [f"× {peak(sized(kind, BIG)):.1f}"] * arguments.memory
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
