"""What belongs to a line of trouble stays with it: its own frames, and the diagnosis that a headline announces."""

from __future__ import annotations

import pytest

from actors.compressor.excerpt import SALIENT
from actors.compressor.ranks_log import log
from actors.compressor.units import split
from tests.actors.compressor.texts import shortened


def around(trouble: list[str]) -> str:
    lines = [
        f"2026-03-01 07:{at // 60 % 60:02}:{at % 60:02} INFO served /v1/{at * 77 % 997} in {at % 40}ms"
        for at in range(900)
    ]
    return "\n".join([*lines[:450], *trouble, *lines[450:]])


STAMP = "2026-03-01 07:07:30"
OWN = {
    "java": [
        f"{STAMP} ERROR cannot reserve stock",
        "com.acme.LockTimeout: waited 30000 ms",
        *(f"\tat org.springframework.aop.A{n}.call(A.java:{n})" for n in range(12)),
        "\tat com.acme.stock.Reserve.lock(Reserve.java:214)",
        *(f"\tat java.base/java.lang.T{n}.run(T.java:{n})" for n in range(9)),
    ],
    "dotnet": [
        f"{STAMP} ERROR unhandled",
        "System.InvalidOperationException: Sequence contains more than one element",
        *(f"   at System.Linq.Enumerable.M{n}()" for n in range(9)),
        "   at Acme.Pricing.Resolve(Order order) in /src/Pricing.cs:line 148",
    ],
    "node": [
        f"{STAMP} ERROR TypeError: cart.total is not a function",
        *(f"    at next (/app/node_modules/express/lib/router.js:{n}:13)" for n in range(20, 30)),
        "    at checkout (/app/src/checkout.js:88:19)",
    ],
    "go": [
        f"{STAMP} ERROR recovered",
        "panic: runtime error: index out of range [2] with length 2",
        "goroutine 881 [running]:",
        "runtime.gopanic({0x1, 0x2})",
        "\t/usr/local/go/src/runtime/panic.go:884 +0x212",
        "github.com/acme/store.(*Segment).Tail(0xc0004a2000, 0x2)",
        "\t/src/store/segment.go:233 +0x1d4",
    ],
    "vitest": [
        f"{STAMP} ERROR run failed",
        " FAIL  src/tax.test.ts > rounds",
        "AssertionError: expected 3 to be 2",
        " ❯ src/tax.test.ts:41:9",
    ],
}
FRAMES = {
    "java": "Reserve.java:214",
    "dotnet": "Pricing.cs:line 148",
    "node": "/app/src/checkout.js:88:19",
    "go": "/src/store/segment.go:233",
    "vitest": "src/tax.test.ts:41:9",
}


@pytest.mark.parametrize("kind", sorted(OWN))
def test_the_first_frame_of_its_own_stays(kind: str) -> None:
    out = shortened(around(OWN[kind]))
    assert OWN[kind][1] in out
    assert FRAMES[kind] in out


DIAGNOSES = {
    "jstack": [
        "Found one Java-level deadlock:",
        "=============================",
        '"committer":',
        "  waiting to lock monitor 0x00007f41 (object 0xd19a98, a java.lang.Object),",
        '  which is held by "reserver"',
        '"reserver":',
        "  waiting to lock monitor 0x00007f42 (object 0xd19a88, a java.lang.Object),",
        '  which is held by "committer"',
    ],
    "race": [
        "WARNING: DATA RACE",
        "Write at 0x00c0001a2010 by goroutine 9:",
        "  github.com/acme/store.(*Cache).Put()",
        "      /src/store/cache.go:71 +0x44",
        "Previous read at 0x00c0001a2010 by goroutine 8:",
        "  github.com/acme/store.(*Cache).Get()",
        "      /src/store/cache.go:55 +0x3a",
    ],
    "innodb": ["LATEST DETECTED DEADLOCK", "------------------------", "*** (1) TRANSACTION:", "UPDATE stock SET n=1"],
    "postgres": [
        f"{STAMP} ERROR:  deadlock detected",
        "DETAIL:  Process 71 waits for ShareLock; blocked by process 72.",
        "HINT:  See server log.",
    ],
    "sanitizer": [
        "==31==ERROR: AddressSanitizer: heap-use-after-free on address 0x602",
        "READ of size 8 at 0x602 thread T0",
        "    #0 0x4f in total /src/cart.c:71:9",
        "freed by thread T0 here:",
        "    #1 0x4e in clear /src/cart.c:30:3",
    ],
}


@pytest.mark.parametrize("kind", sorted(DIAGNOSES))
def test_a_diagnosis_stays_whole(kind: str) -> None:
    out = shortened(around(DIAGNOSES[kind]))
    assert all(line in out for line in DIAGNOSES[kind])


def test_the_odd_one_of_many_threads_stays_with_its_frames() -> None:
    blocks = [
        f"goroutine {n} [select, {n % 90} minutes]:\ninternal/poll.wait(0x7f{n:04x})\n\t/usr/local/go/src/poll.go:351\n"
        f"acme/conn.(*Conn).readLoop(0xc0{n:04x})\n\t/src/conn/conn.go:{80 + n % 18} +0x{n:03x}\n"
        for n in range(20, 160)
    ]
    blocks[70] = (
        "goroutine 7 [semacquire, 88 minutes]:\nsync.acquire(0xc00011a0c4)\n\t/usr/local/go/src/sema.go:95 +0x25\n"
        "acme/compact.(*Compactor).Run(0xc00011a000)\n\t/src/compact/compact.go:204 +0x1b4\ncreated by main.main\n"
    )
    out = shortened("\n".join(blocks))
    assert "goroutine 7 [semacquire" in out
    assert "/src/compact/compact.go:204" in out


def test_a_console_logger_of_dotnet_writes_a_log() -> None:
    lines = [
        f"info: Acme.Web.Cart[{n % 20}]\n      Executed action {n * 7919 % 99991:x} in {n % 800}ms" for n in range(300)
    ]
    lines[150:150] = ["fail: Acme.Web.Pay[3]\n      Payment of order 8841 was refused"]
    lines[200:200] = ["crit: Acme.Web.Host[0]\n      Unable to bind to port 8443"]
    out = shortened("\n".join(lines))
    assert lines[150] in out
    assert lines[200] in out


def test_what_the_same_task_reports_next_is_no_part_of_a_failure() -> None:
    lines = [f"@acme/{'pay' if at % 2 else 'web'}:test:  ✓ src/part{at * 7919 % 997}.test.ts" for at in range(900)]
    lines[450:450] = [
        "@acme/pay:test:  FAIL  src/tax.test.ts > rounds",
        "@acme/pay:test: AssertionError: expected 3 to be 2",
        "@acme/pay:test:  ❯ src/tax.test.ts:41:9",
    ]
    ranks = log(split("\n".join(lines)))
    assert all(rank >= SALIENT for rank in ranks[450:453])
    assert not any(rank >= SALIENT for rank in ranks[453:700])
