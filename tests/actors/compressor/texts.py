"""Texts of the kinds that tools answer with, small recipes for any length, the same on every run."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence

from actors.compressor.compress import Plan, plan
from actors.compressor.messages import Compress, Policy
from actors.compressor.note import Ticket
from bus.message import Blob

WORDS = (
    "client", "retries", "request", "upstream", "closes", "socket", "before", "response", "headers", "arrive", "cache",
    "entry", "expired", "token",
)  # fmt: skip


def issue(text: str, ttl: int) -> Ticket:
    """Tickets without a store: the key only depends on the text."""
    return Ticket(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20], ttl)


def compress(
    *texts: str, policy: Policy | None = None, query: str = "", structured: str | None = None, memory_only: bool = False
) -> Plan:
    def ticket(text: str, ttl: int) -> Ticket:
        return Ticket(issue(text, ttl).key, ttl, memory_only)

    request = Compress(
        server="s",
        tool="t",
        texts=tuple(Blob.of(text) for text in texts),
        structured=None if structured is None else Blob.of(structured),
        policy=policy or Policy(),
        query=query,
    )
    return plan(request, ticket)


def delivered(made: Plan, *texts: str) -> list[str]:
    """What the client would see of each text."""
    return [text if blob is None else blob.data.decode() for text, blob in zip(texts, made.reply.texts, strict=True)]


def shortened(text: str, policy: Policy | None = None, query: str = "") -> str:
    return delivered(compress(text, policy=policy, query=query), text)[0]


def without_note(text: str) -> str:
    return text.rsplit("\n[shortened: ", 1)[0]


def sentence(rng: random.Random, count: int = 12) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(count)).capitalize() + "."


def issues(count: int, seed: int = 1) -> str:
    """A REST listing of issues, compact."""
    rng = random.Random(seed)
    return json.dumps(
        [
            {
                "url": f"https://api.example.org/issues/{number}",
                "id": rng.randrange(10**9, 10**10),
                "number": number,
                "title": f"{sentence(rng, 6)} #{number}",
                "user": {"login": rng.choice(["ann", "bo", "cy"]), "id": rng.randrange(10**6)},
                "labels": [{"name": rng.choice(["bug", "docs"]), "color": f"{rng.getrandbits(24):06x}"}],
                "state": "open" if number % 3 else "closed",
                "body": " ".join(sentence(rng) for _ in range(6)),
            }
            for number in range(count, 0, -1)
        ],
        separators=(",", ":"),
    )


def log(count: int, fatal_at: Sequence[int] = (), seed: int = 2) -> str:
    rng = random.Random(seed)
    lines = []
    for number in range(1, count + 1):
        stamp = f"2026-11-01T10:{number // 60 % 60:02d}:{number % 60:02d}Z"
        if number in fatal_at:
            lines.append(
                f"{stamp} FATAL db.pool request={rng.getrandbits(48):012x} disk quota exceeded in segment {number}"
            )
        else:
            lines.append(f"{stamp} INFO  http request={rng.getrandbits(48):012x} GET /items/{rng.randrange(9999)} 200")
    return "\n".join(lines) + "\n"


def table(rows: int, odd: int, seed: int = 3) -> str:
    rng = random.Random(seed)
    lines = ["order_id,date,customer,region,sku,qty,price,status"]
    lines += [
        f"ORD-{1000 + at},2026-0{rng.randint(1, 9)}-11,cust_{rng.getrandbits(32):08x},{rng.choice(['EMEA', 'APAC'])},"
        f"SKU{rng.getrandbits(32):08x},{rng.randint(1, 40)},"
        f"{rng.randint(100, 999)}.10,{'DISPUTED' if at == odd else rng.choice(['shipped', 'pending'])}"
        for at in range(rows)
    ]
    return "\n".join(lines) + "\n"


def grep(count: int) -> str:
    return "\n".join(f"src/part{at % 7}.py:{at + 1}: text of line {at + 1} in its file" for at in range(count))


def markdown(sections: int, seed: int = 4) -> str:
    rng = random.Random(seed)
    return "\n".join(
        f"## Section {at} about {rng.choice(WORDS)}\n\n{sentence(rng, 30)}\n"
        f"{sentence(rng, 30)}\n\n```py\nx = {at}\n```\n"
        for at in range(sections)
    )


def code(functions: int, seed: int = 5) -> str:
    rng = random.Random(seed)
    return "import os\n\n\n" + "\n\n".join(
        f'def function_{at}(first, second={at}):\n    """{sentence(rng)}"""\n    value = first + {at}\n'
        f"    if value > second:\n        return value * {rng.randrange(99)}\n    return second\n"
        for at in range(functions)
    )


def diff(hunks: int) -> str:
    return "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n" + "".join(
        f"@@ -{at * 40},5 +{at * 40},5 @@ def f{at}():\n     before\n     context\n"
        f"-    old = {at}\n+    new = {at}\n     after\n"
        for at in range(hunks)
    )


def history(commits: int, seed: int = 6) -> str:
    rng = random.Random(seed)
    return "\n".join(
        f"commit {rng.getrandbits(160):040x}\nAuthor: Ann <ann@example.org>\nDate:   Mon Nov 2 10:00:00 2026\n\n"
        f"    {sentence(rng, 5)} ({at})\n\n    {sentence(rng, 20)}\n"
        for at in range(commits)
    )


def page(sections: int, seed: int = 7) -> str:
    rng = random.Random(seed)
    parts = "".join(
        f"<h2 class='head' id='s{at}'>Part {at}</h2><p style='margin:0'>{sentence(rng, 30)} "
        f"<a href='/p/{at}'>more {at}</a></p>"
        for at in range(sections)
    )
    return (
        f"<!DOCTYPE html><html><head><title>Manual</title><script>var a=1;</script></head><body>{parts}</body></html>"
    )


def listing(folders: int, each: int = 12) -> str:
    """What `ls -lR` prints."""
    lines: list[str] = []
    for at in range(folders):
        lines += [f"./part_{at}/src:", "total 84"]
        lines += [f"-rw-r--r--  1 app app {at * n * 37 % 9_973:8} Apr  7  2026 module_{at}_{n}.py" for n in range(each)]
    return "\n".join(lines)


def written_out(rows: int) -> str:
    """What a database prints of rows with a line for each column."""
    return "".join(
        f"*************************** {at + 1}. row ***************************\n"
        f"     Id: {1_000 + at}\n   User: service_{at}\n  State: {'locked' if at == 7 else ''}\n"
        for at in range(rows)
    )


def framed(rows: int) -> str:
    """A table in a frame of box drawing."""
    rule = f"├{'─' * 14}┼{'─' * 14}┤"
    lines = [rule, f"│ {'Library':<12} │ {'Severity':<12} │", rule]
    for at in range(rows):
        lines += [f"│ {f'lib{at}':<12} │ {'HIGH' if at == 9 else 'LOW':<12} │", rule]
    return "\n".join(lines)


def packages(rows: int) -> str:
    """Rows of one form under no header."""
    return "\n".join(f"ii  package-{at * 7_919 % 9_973:04}  1.{at}-2  amd64  what it is for" for at in range(rows))


KINDS = {
    "issues": issues(120),
    "log": log(900, (371, 702)),
    "table": table(600, 350),
    "grep": grep(700),
    "markdown": markdown(90),
    "code": code(200),
    "diff": diff(250),
    "history": history(150),
    "html": page(300),
    "paths": "\n".join(f"src/pkg{at // 9}/module_{at}.py" for at in range(900)),
    "prose": "\n\n".join(sentence(random.Random(at), 60) for at in range(90)),
    "korean": "데이터베이스가 느립니다. 로그인을 확인하세요. " * 700,
    "listing": listing(90),
    "written out": written_out(300),
    "framed": framed(500),
    "packages": packages(600),
    "ndjson": "\n".join(json.dumps({"t": at, "level": "info", "msg": f"message {at}"}) for at in range(900)),
}
