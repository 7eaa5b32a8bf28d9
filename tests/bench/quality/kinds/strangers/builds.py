"""Builds and tests that fail somewhere: Gradle, Maven, a job of Actions, Go, Rust, TAP, dots, Valgrind, linters, C++."""

from __future__ import annotations

import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import camel, code, ident, noun, pascal, sentence, snake, stamp, title


def gradle(rng: random.Random) -> Payload:
    """What a shell tool answers: the log of a build as a string in JSON."""
    lines, deep = ["> Task :app:compileJava UP-TO-DATE"], []
    for at in range(500):
        deep.append(f":{noun(rng)}{at}:{rng.choice(['compileKotlin', 'processResources', 'jar', 'test'])}")
        lines.append(f"> Task {deep[-1]} {rng.choice(['UP-TO-DATE', 'FROM-CACHE', ''])}")
    broken = "Execution failed for task ':lib77:compileReleaseKotlin'."
    lines += [
        "> Task :lib77:compileReleaseKotlin FAILED",
        "e: file:///src/lib77/Pay.kt:41:17 Unresolved reference 'settleAll'",
        "",
        "FAILURE: Build failed with an exception.",
        "",
        "* What went wrong:",
        broken,
        "",
        "BUILD FAILED in 3m 12s",
        "501 actionable tasks: 4 executed, 497 up-to-date",
    ]
    body = {
        "command": "./gradlew build",
        "exitCode": 1,
        "stdout": "\n".join(lines),
        "stderr": "",
        "durationMs": 192_114,
    }
    salient = [lines[-10], "Unresolved reference 'settleAll'", broken, "BUILD FAILED in 3m 12s"]
    return payload("log in a string", compact(body), salient, deep)


def maven(rng: random.Random) -> Payload:
    """Hundreds of [INFO] lines, three of [ERROR]."""
    lines, deep = [], []
    for at in range(240):
        deep.append(f"mod-{noun(rng)}-{at}")
        lines += [
            f"[INFO] --- maven-compiler-plugin:3.13.0:compile (default-compile) @ {deep[-1]} ---",
            f"[INFO] Compiling {at} source files with javac [debug release 17]",
        ]
    lines += [
        "[ERROR] COMPILATION ERROR :",
        "[ERROR] /src/pay/Settle.java:[88,24] cannot find symbol",
        "[INFO] Reactor Summary for acme 4.1:",
        "[INFO] BUILD FAILURE",
        "[INFO] Total time:  02:11 min",
        "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.13.0:compile",
    ]
    salient = ["/src/pay/Settle.java:[88,24] cannot find symbol", "BUILD FAILURE", "Failed to execute goal"]
    return payload("maven", "\n".join(lines) + "\n", salient, deep)


def actions(rng: random.Random) -> Payload:
    """A job: groups, colours, downloads, one error two thirds down."""
    lines, groups, deep = [], [], []
    error = "src/ledger/post.ts(88,17): error TS2345: Argument of type 'string | undefined' is not assignable"
    for at in range(620):
        now = f"2026-11-20T09:{at // 60 % 60:02d}:{at % 60:02d}.{rng.randint(10**6, 10**7)}Z"
        if at % 70 == 0:
            groups.append(title(rng))
            lines.append(f"{now} ##[group]Run {groups[-1]}")
        elif at == 412:
            lines += [f"{now} {error}", f"{now} ##[error]Process completed with exit code 2."]
        else:
            deep.append(f"{snake(rng)}{at}")
            said = rng.choice(
                [
                    f"npm http fetch GET 200 https://registry.example.org/{deep[-1]} {rng.randint(9, 99)}ms",
                    f"  \x1b[32m✓\x1b[0m {deep[-1]} ({rng.randint(1, 90)} ms)",
                    "Resolving deltas: 100%",
                    f"Cache restored from key: {deep[-1]}",
                ]
            )
            lines.append(f"{now} {said}")
    text = "\n".join(lines)
    must = [error, "##[error]Process completed with exit code 2."]
    return payload("actions log", text, leading(text, must, groups), deep)


def go_test(rng: random.Random) -> Payload:
    """`go test -json`: two failures among two hundred and twenty."""
    lines, salient, deep = [], [], []
    for at in range(220):
        name = f"Test{pascal(rng)}{at}"
        failed = at in (99, 187)
        output = f"=== RUN   {name}\n"
        if failed:
            salient.append(f"settle_test.go:{at}: got balance {at}17, want {at}71 (currency EUR)")
            output = f"    {salient[-1]}\n"
        else:
            deep.append(output[:-1])
        head: dict[str, Any] = {"Time": stamp(rng, at), "Package": "example.org/ledger/settle", "Test": name}
        lines += [
            compact({**head, "Action": "run"}),
            compact({**head, "Action": "output", "Output": output}),
            compact({**head, "Action": "fail" if failed else "pass", "Elapsed": round(rng.random(), 2)}),
        ]
    lines.append(
        compact({"Time": stamp(rng, 300), "Action": "fail", "Package": "example.org/ledger/settle", "Elapsed": 141.77})
    )
    return payload("go test in json", "\n".join(lines), [*salient, "141.77"], deep)


def cargo_test(rng: random.Random) -> Payload:
    lines, deep = [], []
    for at in range(520):
        deep.append(f"{noun(rng)}::{snake(rng)}_{at}")
        lines.append(f"test {deep[-1]} ... ok")
    lines.insert(300, "test ledger::rounds_half_even ... FAILED")
    last = "test result: FAILED. 520 passed; 1 failed"
    lines += [
        "",
        "failures:",
        "",
        "---- ledger::rounds_half_even stdout ----",
        "thread 'ledger::rounds_half_even' panicked at src/ledger.rs:412:9:",
        "assertion `left == right` failed",
        "  left: 1005",
        " right: 1004",
        "",
        f"{last}; 0 ignored; finished in 4.02s",
    ]
    salient = ["panicked at src/ledger.rs:412:9", "left: 1005", "right: 1004", last]
    return payload("cargo test", "\n".join(lines) + "\n", salient, deep)


def tap(rng: random.Random) -> Payload:
    """Test Anything Protocol: one of six hundred is not ok."""
    names = [title(rng).lower() for _ in range(600)]
    lines = ["TAP version 14", "1..600", *(f"ok {at} - {name}" for at, name in enumerate(names, 1))]
    lines[455] = "not ok 454 - refund keeps the ledger balanced"
    lines.insert(456, "  ---\n  expected: 0\n  actual: -1250\n  at: test/refund.js:71:5\n  ...")
    return payload("tap", "\n".join(lines) + "\n", [lines[455], "actual: -1250", "test/refund.js:71:5"], names)


def dots(rng: random.Random) -> Payload:
    """Nothing but dots, then one failure."""
    lines = [f"{'.' * 72} [{at * 100 // 240:3d}%]" for at in range(239)]
    lines.append(f"{'.' * rng.randint(9, 60)}F{'.' * 9} [ 99%]")
    got = "AssertionError: assert 'USD' == 'KRW'"
    last = "1 failed, 17277 passed in 88.21s (0:01:28)"
    lines += [
        f"{' FAILURES ':=^80}",
        f"{' test_currency_is_kept ':_^80}",
        "    def test_currency_is_kept():",
        '>       assert convert(5, "KRW").currency == "KRW"',
        f"E       {got}",
        "tests/test_money.py:41: AssertionError",
        f"{' short test summary info ':=^80}",
        "FAILED tests/test_money.py::test_currency_is_kept - AssertionError: assert",
        last,
    ]
    salient = [got, "tests/test_money.py:41: AssertionError", last]
    return payload("dots", "\n".join(lines) + "\n", salient, [])


def valgrind(rng: random.Random) -> Payload:
    """A hundred harmless losses, and one write beyond its block."""
    lines, deep = [], []
    for at in range(110):
        deep.append(f"{snake(rng)} ({noun(rng)}.c:{rng.randint(1, 900)})")
        lines += [
            f"==4411== {rng.randint(8, 900)} bytes in 1 blocks are still reachable in loss record {at} of 110",
            f"==4411==    at 0x{ident(rng, 7)}: malloc (vg_replace_malloc.c:381)",
            f"==4411==    by 0x{ident(rng, 7)}: {deep[-1]}",
            "==4411== ",
        ]
    lines[300:300] = [
        "==4411== Invalid write of size 8",
        "==4411==    at 0x10934F: ring_push (ring.c:77)",
        "==4411==  Address 0x4a4c0c8 is 0 bytes after a block of size 136 alloc'd",
        "==4411== ",
    ]
    salient = [
        "Invalid write of size 8",
        "ring_push (ring.c:77)",
        "definitely lost: 1,048,576 bytes in 4 blocks",
        "ERROR SUMMARY: 3 errors from 2 contexts",
    ]
    lines += ["==4411== LEAK SUMMARY:", f"==4411==    {salient[2]}", f"==4411== {salient[3]}"]
    return payload("valgrind", "\n".join(lines) + "\n", salient, deep)


def sarif(rng: random.Random) -> Payload:
    """Findings of an analysis: one is an error."""
    found: list[dict[str, Any]] = []
    for at in range(90):
        place = {"uri": f"src/{noun(rng)}/{snake(rng)}_{at}.py", "index": at}
        region = {"startLine": rng.randint(1, 900), "startColumn": 5}
        found.append(
            {
                "ruleId": f"py/{noun(rng)}-{at}",
                "level": rng.choice(["note", "warning"]),
                "message": {"text": sentence(rng)},
                "locations": [{"physicalLocation": {"artifactLocation": place, "region": region}}],
                "partialFingerprints": {"primaryLocationLineHash": f"{ident(rng, 16)}:1"},
            }
        )
    alarm = "This SQL query depends on a user-provided value."
    found[67] |= {"level": "error", "ruleId": "py/sql-injection", "message": {"text": alarm}}
    runs = [{"tool": {"driver": {"name": "CodeQL", "rules": []}}, "results": found}]
    text = indented({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": runs})
    return payload(
        "sarif",
        text,
        leading(text, [alarm, "py/sql-injection"], [each["message"]["text"] for each in found]),
        [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in found],
    )


def eslint(rng: random.Random) -> Payload:
    """Warnings under names of files, one error between them."""
    lines, files, deep = [], [], []
    for at in range(100):
        files.append(f"/src/app/{noun(rng)}/{camel(rng)}{at}.tsx")
        lines.append(files[-1])
        for _ in range(3):
            deep.append(sentence(rng)[:60])
            place = f"{rng.randint(1, 900)}:{rng.randint(1, 80)}"
            lines.append(f"  {place:<7} warning  {deep[-1]}  @typescript-eslint/no-{noun(rng)}")
        if at == 60:
            lines.append(
                '  88:17   error    React Hook "useLedger" is called conditionally  react-hooks/rules-of-hooks'
            )
        lines.append("")
    must = ['React Hook "useLedger" is called conditionally', "✖ 301 problems (1 error, 300 warnings)"]
    text = "\n".join([*lines, must[1], ""])
    return payload("eslint", text, leading(text, must, files), deep)


def compiler(rng: random.Random) -> Payload:
    """A C++ compiler: a few errors, each with a page of notes about candidates."""
    lines, salient, deep = [], [], []
    for at in range(7):
        salient.append(
            f"pay.cpp:{at * 31 + 8}:{rng.randint(2, 90)}: error: no matching function for call to '{camel(rng)}{at}'"
        )
        lines += [
            f"pay.cpp: In function 'int {snake(rng)}()':",
            salient[-1],
            f"  {at * 31 + 8} |   {snake(rng)}({noun(rng)});",
        ]
        for _ in range(14):
            deep.append(f"candidate: 'std::{noun(rng)}<_Tp, _Alloc>::{snake(rng)}(const value_type&)'")
            place = f"/usr/include/c++/12/bits/stl_{noun(rng)}.h:{rng.randint(90, 2000)}:7"
            lines += [
                f"{place}: note: {deep[-1]}",
                f"  {rng.randint(90, 2000)} |       {snake(rng)}(const value_type& __x)",
                "      |       ^~~~~~~~~",
                f"{place}: note:   no known conversion for argument {rng.randint(1, 3)} from '{code(rng, 6)}' to 'int'",
            ]
    return payload("compiler", "\n".join(lines) + "\n", salient, deep)


def trace_of_a_script(rng: random.Random) -> Payload:
    """`set -x`: the one line that is not an echo of a command says what is wrong."""
    lines, deep = [], []
    for at in range(520):
        deep.append(f"--{noun(rng)}={code(rng)} /srv/{snake(rng)}")
        lines.append(f"{'+' * rng.randint(1, 2)} {noun(rng)}-{at} {deep[-1]}")
    failed = "cp: cannot create regular file '/srv/releases/41': No space left on device"
    lines.insert(450, failed)
    return payload("trace of a script", "\n".join([*lines, "+ exit 1", ""]), [failed, "+ exit 1"], deep)
