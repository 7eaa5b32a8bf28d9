"""Test reports, diffs, histories, search output: what developers' tools print."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import camel, clause, ident, noun, paragraph, person, sentence, snake, title


def pytest_run(rng: random.Random) -> Payload:
    lines = [
        "=" * 29 + " test session starts " + "=" * 30,
        "platform linux -- Python 3.12.4, pytest-9.0.1",
        "collected 612 items",
        "",
    ]
    names = [f"tests/{noun(rng)}/test_{noun(rng)}.py::test_{snake(rng)}_{at}" for at in range(612)]
    broken = {97: "", 344: "", 598: ""}
    for at, name in enumerate(names):
        lines.append(f"{name} {'FAILED' if at in broken else 'PASSED'} [{at * 100 // 612:3d}%]")
    lines += ["", "=" * 35 + " FAILURES " + "=" * 35]
    for at in broken:
        broken[at] = f"AssertionError: assert {rng.randint(10**3, 10**4)} == {rng.randint(10**4, 10**5)}"
        lines += [
            f"_______ {names[at].split('::')[1]} _______",
            "",
            f"    def {names[at].split('::')[1]}(client):",
            f"        {noun(rng)} = client.{snake(rng)}()",
        ]
        lines += [
            f">       assert {noun(rng)}.total == {noun(rng)}.expected",
            f"E       {broken[at]}",
            "",
            f"{names[at].split('::')[0]}:{rng.randint(9, 300)}: AssertionError",
        ]
    lines += [
        "=" * 26 + " short test summary info " + "=" * 27,
        *(f"FAILED {names[at]} - {error[:60]}" for at, error in broken.items()),
    ]
    last = f"3 failed, 609 passed in {rng.randint(60, 99)}.{rng.randint(10, 99)}s"
    lines.append(f"====== {last} ======")
    return payload(
        "pytest",
        "\n".join(lines),
        [last, *(f"E       {error}" for error in broken.values())],
        [name.split("::")[1] for name in names],
    )


def jest_run(rng: random.Random) -> Payload:
    lines, salient, deep = [], [], []
    for suite in range(60):
        failed = suite in (21, 47)
        lines.append(
            f"{'FAIL' if failed else 'PASS'} src/{noun(rng)}/{camel(rng)}{suite}.test.tsx ({rng.randint(1, 9)}.{rng.randint(100, 999)} s)"
        )
        for case in range(9):
            name = f"{rng.choice(['renders', 'rejects', 'stores'])} {clause(rng)}"
            bad = failed and case == 4
            lines.append(f"    {'✕' if bad else '✓'} {name} ({rng.randint(1, 90)} ms)")
            deep.append(name)
            if bad:
                salient.append(name)
        if failed:
            got = f'"{noun(rng)}-{rng.randint(10**4, 10**5)}"'
            salient.append(f"Received: {got}")
            lines += [
                "",
                f"  ● {camel(rng)} › {salient[-2]}",
                "",
                "    expect(received).toBe(expected) // Object.is equality",
                "",
                f'    Expected: "{noun(rng)}"',
                f"    Received: {got}",
                "",
            ]
            lines += [
                f"      at Object.<anonymous> (src/{noun(rng)}.test.tsx:{rng.randint(9, 300)}:{rng.randint(2, 40)})",
                "",
            ]
    salient.append("Test Suites: 2 failed, 58 passed, 60 total")
    lines += [
        salient[-1],
        "Tests:       2 failed, 538 passed, 540 total",
        f"Time:        {rng.randint(20, 99)}.{rng.randint(100, 999)} s",
    ]
    return payload("jest", "\n".join(lines) + "\n", salient, deep)


def junit_xml(rng: random.Random) -> Payload:
    lines, salient, deep = (
        ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites tests="300" failures="3" errors="0">'],
        [],
        [],
    )
    for suite in range(10):
        lines.append(f'  <testsuite name="org.acme.{noun(rng)}{suite}" tests="30" time="{rng.random() * 9:.3f}">')
        for case in range(30):
            name = f"{camel(rng)}{suite}{case:02d}"
            open_tag = (
                f'    <testcase name="{name}" classname="org.acme.{camel(rng).capitalize()}" time="{rng.random():.3f}"'
            )
            if (suite, case) in {(2, 11), (5, 3), (8, 27)}:
                salient.append(f"expected {rng.randint(10**3, 10**4)} but was {rng.randint(10**4, 10**5)}")
                lines += [
                    f"{open_tag}>",
                    f'      <failure message="{salient[-1]}" type="AssertionError">at org.acme.Base.check(Base.java:{rng.randint(9, 900)})</failure>',
                    "    </testcase>",
                ]
            else:
                deep.append(name)
                lines.append(f"{open_tag}/>")
        lines.append("  </testsuite>")
    return payload("junit xml", "\n".join([*lines, "</testsuites>"]), salient, deep)


def git_diff(rng: random.Random) -> Payload:
    lines, salient, deep = [], [], []
    for at in range(34):
        path = f"src/{noun(rng)}/{snake(rng)}_{at}.py"
        salient.append(path if at % 2 else "")
        lines += [
            f"diff --git a/{path} b/{path}",
            f"index {ident(rng, 7)}..{ident(rng, 7)} 100644",
            f"--- a/{path}",
            f"+++ b/{path}",
        ]
        for hunk in range(rng.randint(1, 3)):
            place = 10 + hunk * 90 + rng.randint(0, 40)
            lines.append(f"@@ -{place},7 +{place},8 @@ def {snake(rng)}({noun(rng)}):")
            lines += [f"     {snake(rng)} = {noun(rng)}" for _ in range(3)]
            removed, added = (
                f"{snake(rng)}({rng.randint(10**4, 10**5)})",
                f"{snake(rng)}({rng.randint(10**4, 10**5)}, strict=True)",
            )
            deep.append(added)
            lines += [
                f"-    {removed}",
                f"+    {added}",
                f"+    # {sentence(rng)}",
                *(f"     return_{noun(rng)}({noun(rng)})" for _ in range(3)),
            ]
    heads = [f"+++ b/{path}" for path in salient if path]
    return payload("diff", "\n".join(lines), heads, deep)


def history(rng: random.Random) -> Payload:
    parts, salient, deep = [], [], []
    for at in range(120):
        salient.append(f"{title(rng)} (#{4000 - at})")
        deep.append(ident(rng, 40))
        parts.append(
            f"commit {deep[-1]}\nAuthor: {person(rng)} <dev{at}@example.org>\nDate:   Tue Nov 3 {at % 24:02d}:11:07 2026 +0200\n\n    {salient[-1]}\n\n    {paragraph(rng, 2)}\n"
        )
    return payload("git log", "\n".join(parts), salient, deep)


def grep(rng: random.Random) -> Payload:
    lines, salient, deep = [], [], []
    for _ in range(40):
        path = f"lib/{noun(rng)}/{snake(rng)}.rb"
        salient.append(path)
        line = 1
        for _ in range(rng.randint(3, 14)):
            line += rng.randint(1, 60)
            deep.append(f"{snake(rng)}(:{noun(rng)}, {rng.randint(100, 9999)})")
            lines.append(f"{path}:{line}:    lease.{deep[-1]}")
    return payload("grep", "\n".join(lines), [f"{path}:" for path in salient], deep)


def ripgrep(rng: random.Random) -> Payload:
    """Matches under a heading for each file, with context lines."""
    parts, salient, deep = [], [], []
    for at in range(44):
        salient.append(f"packages/{noun(rng)}/{camel(rng)}{at}.ts")
        parts.append(salient[-1])
        line = 3
        for _ in range(rng.randint(2, 6)):
            line += rng.randint(5, 80)
            deep.append(f"{camel(rng)}({rng.randint(10**3, 10**5)})")
            parts += [
                f"{line - 1}-  const {noun(rng)} = {camel(rng)};",
                f"{line}:  await renewLease{rng.randint(1, 9)}.{deep[-1]};",
                f"{line + 1}-  return {noun(rng)};",
                "--",
            ]
        parts.append("")
    return payload("ripgrep", "\n".join(parts), salient, deep)


def lint(rng: random.Random) -> Payload:
    """Findings of a linter, grouped by file; few errors among warnings."""
    lines, salient, deep = [], [], []
    for at in range(48):
        lines.append(f"/repo/src/{noun(rng)}/{camel(rng)}{at}.js")
        for _ in range(rng.randint(3, 9)):
            lines.append(
                f"  {rng.randint(1, 900)}:{rng.randint(1, 80)}  warning  '{camel(rng)}{rng.randint(10, 999)}' is assigned a value but never used  no-unused-vars"
            )
            deep.append(lines[-1].split("'")[1])
        if at in (11, 29, 40):
            salient.append(f"Parsing error: Unexpected token {noun(rng)}{rng.randint(10**3, 10**4)}")
            lines.append(f"  {rng.randint(1, 900)}:{rng.randint(1, 80)}  error  {salient[-1]}")
        lines.append("")
    salient.append(f"✖ {len(deep) + 3} problems (3 errors, {len(deep)} warnings)")
    return payload("lint", "\n".join([*lines, salient[-1]]), salient, deep)


def tree(rng: random.Random) -> Payload:
    """What `ls -lR` prints."""
    parts, salient, deep = [], [], []
    for at in range(36):
        salient.append(f"./{noun(rng)}/{rng.choice(['lib', 'src'])}/{noun(rng)}{at}:")
        parts += [salient[-1], f"total {rng.randint(8, 900)}"]
        for _ in range(rng.randint(4, 14)):
            deep.append(f"{snake(rng)}.{rng.choice(['py', 'so', 'json'])}")
            parts.append(
                f"-rw-r--r-- 1 build staff {rng.randint(100, 10**6):8d} Nov {rng.randint(1, 28):2d} {rng.randint(10, 23)}:{rng.randint(10, 59)} {deep[-1]}"
            )
        parts.append("")
    return payload("ls -lR", "\n".join(parts), salient, deep)
