"""Logs: applications, web servers, the kernel, CI; stack traces of five languages; logs with JSON inside."""

from __future__ import annotations

import json
import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import ADJECTIVES, camel, clause, ident, noun, sentence, snake, stamp


def app(rng: random.Random) -> Payload:
    """A service log: noise, a few errors with tracebacks."""
    lines, salient, deep = [], [], []
    for at in range(900):
        now = stamp(rng, at * 3)
        if at in (77, 310, 512, 733, 871):
            error = f"{clause(rng)} (code=K{rng.randint(10**4, 10**5)})"
            lines += [
                f"{now} ERROR {noun(rng)}.pool request={ident(rng)} {error}",
                "Traceback (most recent call last):",
            ]
            lines += [
                f'  File "/srv/app/{noun(rng)}.py", line {rng.randint(9, 900)}, in {snake(rng)}' for _ in range(4)
            ]
            salient.append(f"{camel(rng).capitalize()}Error: lease {ident(rng, 8)} lost")
            lines.append(salient[-1])
            salient.append(error)
        else:
            request = ident(rng)
            level = rng.choice(["INFO ", "INFO ", "DEBUG", "WARN " if at % 60 == 0 else "INFO "])
            said = rng.choice(
                [
                    f"GET /v1/{noun(rng)}/{rng.randint(1, 9999)} 200 {rng.randint(1, 400)}ms",
                    f"cache hit ttl={rng.randint(1, 3600)}",
                    sentence(rng),
                ]
            )
            lines.append(f"{now} {level} {noun(rng)}.{rng.choice(['http', 'db'])} request={request} {said}")
            deep.append(request)
    return payload("app log", "\n".join(lines) + "\n", salient, deep)


def access(rng: random.Random) -> Payload:
    """A web server's access log; the few 5xx stand out."""
    lines, salient, deep = [], [], []
    for at in range(500):
        bad = at in (88, 203, 377, 451)
        path = f"/{noun(rng)}/{rng.choice(ADJECTIVES)}-{rng.randint(10**4, 10**5)}"
        address = f"{rng.randint(11, 223)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"
        status = rng.choice([500, 502, 503]) if bad else rng.choice([200, 200, 200, 304, 301])
        lines.append(
            f'{address} - - [{rng.randint(10, 28)}/Nov/2026:{at // 60 % 24:02d}:{at % 60:02d}:07 +0000] "{rng.choice(["GET", "POST"])} {path} HTTP/1.1" {status} {rng.randint(100, 99999)} "-" "Mozilla/5.0 (X11; Linux x86_64)"'
        )
        (salient if bad else deep).append(path if bad else address)
    return payload("access log", "\n".join(lines) + "\n", salient, deep)


def journal(rng: random.Random) -> Payload:
    """The system journal: syslog stamps, units failing, an OOM kill."""
    lines, salient, deep = [], [], []
    for at in range(520):
        head = f"Nov {1 + at // 200:2d} {at // 60 % 24:02d}:{at % 60:02d}:{rng.randint(0, 59):02d} node-{rng.randint(1, 4)}"
        if at == 140:
            salient.append(f"Out of memory: Killed process {rng.randint(10**3, 10**5)} (java)")
            lines.append(f"{head} kernel: {salient[-1]} total-vm:8123412kB, anon-rss:612{rng.randint(100, 999)}kB")
        elif at in (233, 402):
            salient.append(
                f"{noun(rng)}{at}.service: Main process exited, code=exited, status={rng.randint(2, 200)}/n/a"
            )
            lines.append(f"{head} systemd[1]: {salient[-1]}")
            lines.append(f"{head} systemd[1]: {salient[-1].split(':')[0]}: Failed with result 'exit-code'.")
        elif at == 350:
            salient.append(
                f"EXT4-fs error (device sdb1): ext4_lookup:{rng.randint(1000, 2000)}: inode #{rng.randint(10**5, 10**6)}"
            )
            lines.append(f"{head} kernel: {salient[-1]}")
        else:
            deep.append(f"session {rng.randint(10**5, 10**6)}")
            lines.append(
                rng.choice(
                    [
                        f"{head} systemd-logind[611]: New {deep[-1]} of user {noun(rng)}.",
                        f"{head} sshd[{rng.randint(10**3, 10**5)}]: Accepted publickey, {deep[-1]} port {rng.randint(2000, 60000)} ssh2",
                    ]
                )
            )
    return payload("journal", "\n".join(lines) + "\n", salient, deep)


def mixed_json(rng: random.Random) -> Payload:
    """A log whose lines end in JSON, with errors inside the JSON only."""
    lines, salient, deep = [], [], []
    for at in range(360):
        failed = at in (45, 130, 260, 333)
        order = f"ord-{ident(rng, 10)}"
        detail = {"order": order, "elapsed": rng.randint(1, 9999), "node": noun(rng), "attempt": rng.randint(1, 4)}
        if failed:
            salient.append(f"{clause(rng)} [{rng.randint(10**4, 10**5)}]")
            detail["error"] = salient[-1]
        else:
            deep.append(order)
        lines.append(
            f"[{stamp(rng, at * 11)}] worker-{rng.randint(1, 6)} {rng.choice(['processed', 'queued', 'picked'])} {json.dumps(detail)}"
        )
    return payload("log with json", "\n".join(lines) + "\n", salient, deep)


def ci(rng: random.Random) -> Payload:
    """A CI job: groups, downloads, compilation, one broken step at the end."""
    lines, deep = ["##[group]Operating System", "Ubuntu 24.04.1 LTS", "##[endgroup]"], []
    for _ in range(170):
        package = f"{noun(rng)}-{rng.choice(ADJECTIVES)}=={rng.randint(0, 9)}.{rng.randint(0, 99)}.{rng.randint(0, 99)}"
        deep.append(package)
        lines.append(
            f"2026-11-03T09:{rng.randint(10, 59)}:{rng.randint(10, 59)}.{rng.randint(10**6, 10**7)}Z Collecting {package}"
        )
        lines.append(
            f"2026-11-03T09:{rng.randint(10, 59)}:{rng.randint(10, 59)}.{rng.randint(10**6, 10**7)}Z   Downloading {package.replace('==', '-')}-py3-none-any.whl ({rng.randint(9, 990)} kB)"
        )
    for at in range(160):
        lines.append(f"[{at + 1}/160] Building CXX object src/CMakeFiles/core.dir/{snake(rng)}.cpp.o")
        if at == 51:
            lines.append(
                f"/build/src/{noun(rng)}.cpp:{rng.randint(10, 900)}:12: warning: unused variable '{snake(rng)}' [-Wunused-variable]"
            )
    broken = (
        f"/build/src/{snake(rng)}.cpp:{rng.randint(100, 900)}:9: error: no matching function for call to '{camel(rng)}'"
    )
    lines += [
        f"FAILED: src/CMakeFiles/core.dir/{noun(rng)}.cpp.o",
        broken,
        "   41 |   registry->commit(lease);",
        "ninja: build stopped: subcommand failed.",
    ]
    last = f"##[error]Process completed with exit code {rng.randint(2, 99)}."
    lines += [last, "Post job cleanup.", f"Cleaning up orphan processes {rng.randint(100, 999)}"]
    return payload("ci log", "\n".join(lines) + "\n", [broken, last, "ninja: build stopped: subcommand failed."], deep)


def traces(rng: random.Random) -> Payload:
    """Crash reports of five languages, one after the other, between notes of a supervisor."""
    makers = (_python, _java, _js, _go, _rust)
    parts, salient, deep = [], [], []
    for at in range(25):
        top, lines = makers[at % 5](rng)
        salient.append(top)
        deep.append(lines[len(lines) // 2].strip())
        parts += [f"--- crash report {at + 1} of 25, {stamp(rng, at * 4000)} ---", *lines, ""]
    return payload("stack traces", "\n".join(parts), salient, deep)


def _python(rng: random.Random) -> tuple[str, list[str]]:
    top = f"ValueError: {clause(rng)} {rng.randint(10**4, 10**5)}"
    frames = [
        line
        for _ in range(9)
        for line in (
            f'  File "/opt/{noun(rng)}/{snake(rng)}.py", line {rng.randint(5, 999)}, in {snake(rng)}',
            f"    {snake(rng)}({noun(rng)}, {noun(rng)})",
        )
    ]
    return top, ["Traceback (most recent call last):", *frames, top]


def _java(rng: random.Random) -> tuple[str, list[str]]:
    top = f"java.lang.IllegalStateException: {clause(rng)} {rng.randint(10**4, 10**5)}"
    frames = [
        f"\tat org.acme.{noun(rng)}.{camel(rng).capitalize()}.{camel(rng)}({noun(rng).capitalize()}.java:{rng.randint(9, 999)})"
        for _ in range(16)
    ]
    cause = f"Caused by: java.io.IOException: {noun(rng)} closed by peer {rng.randint(10**4, 10**5)}"
    return top, [f'Exception in thread "main" {top}', *frames, cause, *frames[:3], "\t... 21 more"]


def _js(rng: random.Random) -> tuple[str, list[str]]:
    top = f"TypeError: Cannot read properties of undefined (reading '{camel(rng)}{rng.randint(10, 99)}')"
    return top, [
        top,
        *(
            f"    at {camel(rng)} (/app/src/{noun(rng)}/{camel(rng)}.ts:{rng.randint(1, 900)}:{rng.randint(1, 90)})"
            for _ in range(14)
        ),
    ]


def _go(rng: random.Random) -> tuple[str, list[str]]:
    top = f"panic: runtime error: index out of range [{rng.randint(10**3, 10**4)}] with length {rng.randint(2, 99)}"
    frames = [
        line
        for _ in range(7)
        for line in (
            f"main.{camel(rng)}(0xc000{ident(rng, 6)}, 0x{ident(rng, 2)})",
            f"\t/go/src/{noun(rng)}/{noun(rng)}.go:{rng.randint(9, 999)} +0x{ident(rng, 3)}",
        )
    ]
    return top, [top, "", "goroutine 1 [running]:", *frames, "exit status 2"]


def _rust(rng: random.Random) -> tuple[str, list[str]]:
    top = f"called `Result::unwrap()` on an `Err` value: Missing{noun(rng).capitalize()}({rng.randint(10**4, 10**5)})"
    frames = [
        line
        for at in range(8)
        for line in (
            f"{at:4}: {noun(rng)}::{snake(rng)}",
            f"             at ./src/{noun(rng)}.rs:{rng.randint(9, 999)}:{rng.randint(1, 80)}",
        )
    ]
    return top, [
        f"thread 'main' panicked at src/{noun(rng)}.rs:{rng.randint(9, 900)}:14:",
        top,
        "stack backtrace:",
        *frames,
    ]
