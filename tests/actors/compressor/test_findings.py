"""What compilers and linters found: every kind of finding once with its number, its messages and their places."""

from __future__ import annotations

import re

import pytest

from actors.compressor.detect import Kind, detect
from actors.compressor.findings import ERROR, WARNING, in_common, read
from actors.compressor.messages import Policy
from tests.actors.compressor.texts import shortened

FORMS = {
    "gcc": ["src/a{n}.c:{n}:7: warning: unused variable ‘x{n}’ [-Wunused-variable]", "   {n} | int x{n};", "      | ^"],
    "gcc error": ["src/a{n}.c:{n}:7: error: unknown type name ‘x{n}’", "   {n} | x{n} y;", "      | ^~"],
    "tsc": ["src/a{n}.ts({n},17): error TS2345: Argument of type 'x{n}' is not assignable."],
    "mypy": ["src/a{n}.py:{n}: error: Name \"x{n}\" is not defined  [name-defined]"],
    "flake8": ["src/a{n}.py:{n}:80: E501 line too long ({n} > 79 characters)"],
    "go": ["./a{n}.go:{n}:2: x{n} declared and not used (unused)"],
    "rust": ["error[E0308]: mismatched types in x{n}", "  --> src/a{n}.rs:{n}:12", "   |", "{n} |   let a = x{n};", ""],
    "ruff": ["TC001 Move import `x{n}` into a block", "  --> src/a{n}.py:{n}:3", "   |", "help: Move it", ""],
    "eslint": ["/src/a{n}.js", "  {n}:33  warning  'x{n}' is never used  no-unused-vars", ""],
    "grouped": ["src/a{n}.py:", "  {n}:33 D401 First line should be imperative: \"x{n}\"", ""],
    "javac": ["src/A{n}.java:{n}: error: cannot find symbol", "    x{n}();", "    ^", "  symbol:   method x{n}()"],
    "maven": ["[ERROR] /src/A{n}.java:[{n},24] error: cannot find x{n}"],
}  # fmt: skip


def report(kind: str, count: int) -> str:
    return "\n".join(line.format(n=n) for n in range(10, 10 + count) for line in FORMS[kind])


@pytest.mark.parametrize("kind", sorted(FORMS))
def test_every_form_is_read(kind: str) -> None:
    text = report(kind, 60)
    assert detect(text) is Kind.FINDINGS
    found = read(text.split("\n"))
    assert len(found) == 60
    assert {finding.kind for finding in found} == {found[0].kind}
    assert all(f"a{n}." in found[n - 10].file.lower() for n in range(10, 70))
    assert all(found[n - 10].place.lstrip("([").startswith(str(n)) for n in range(10, 70))
    assert all(re.search(rf"\bx{n}\b", found[n - 10].message) or kind == "flake8" for n in range(10, 70))


@pytest.mark.parametrize("kind", sorted(FORMS))
def test_a_few_among_many_of_another_kind_all_stay(kind: str) -> None:
    usual = "flake8" if kind != "flake8" else "mypy"
    lines = report(usual, 900).split("\n")
    lines[300:300] = report(kind, 4).split("\n")
    out = shortened("\n".join([*lines, "", "Found 904 errors."]))
    told = read(report(kind, 4).split("\n"))
    assert all(finding.message in out for finding in told)
    assert all(f"{finding.file}{'' if finding.place[0] == '(' else ':'}{finding.place}" in out for finding in told)
    assert "Found 904 errors." in out
    assert re.search(r"\[shortened: 904 findings of \d+ kinds", out)


def test_equal_messages_stand_once_with_all_their_places() -> None:
    lines = [f"src/a.py:{n}:1: E402 module level import not at top of file" for n in range(1, 500)]
    out = shortened("\n".join([*lines, "src/b.py:3:7: F821 undefined name 'ledger'"]), policy=Policy(max_chars=9_000))
    assert out.count("E402 module level import") == 1
    assert "src/b.py:3:7" in out
    assert out.index("F821") < out.index("E402")


def test_errors_come_before_warnings() -> None:
    lines = [f"a.c:{n}:1: warning: unused variable ‘x{n}’ [-Wunused-variable]" for n in range(1, 600)]
    lines.insert(400, "a.c:400:9: error: expected ‘;’ before ‘}’ token")
    out = shortened("\n".join(lines))
    assert out.startswith("error: expected ‘;’ before ‘}’ token\n  a.c:400:9")


def test_where_the_statements_of_findings_fit_their_source_stays_around_them() -> None:
    text = "\n".join(
        f"src/a{n}.c:{n}:7: error: unknown type name ‘x{n}’\n"
        + "\n".join(f"   {n} |   line {k} of it" for k in range(40))
        for n in range(1, 30)
    )
    out = shortened(text)
    assert all(f"src/a{n}.c:{n}:7: error: unknown type name ‘x{n}’" in out for n in range(1, 30))
    assert "…+" in out


def test_notes_are_part_of_the_finding_before_them() -> None:
    found = read(["a.c:1:2: error: no match", "a.c:9:9: note: candidate: f(int)", "a.c:3:2: warning: old [-Wold]"])
    assert [finding.severity for finding in found] == [ERROR, WARNING]


def test_the_query_brings_its_finding_first() -> None:
    out = shortened(report("mypy", 900), query="x777")
    assert 'src/a777.py:777: error: Name "x777" is not defined' in out


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"src/a.py:{n}:    return settle(x{n})" for n in range(300)),
        "\n".join(f"12:00:{n % 60:02}: error: nothing left ({n})" for n in range(300)),
        "\n".join(f"key{n}: value of it (twice)" for n in range(300)),
    ],
)
def test_matches_logs_and_settings_are_no_findings(text: str) -> None:
    assert detect(text) is not Kind.FINDINGS


def cargo(count: int) -> str:
    warnings = [
        f"warning: unused variable: `spare_{n}`\n  --> src/lib.rs:{n}:9\n   |\n{n} |     let spare_{n} = open({n});\n"
        f"   |         ^^^^^^^ help: prefix it with an underscore: `_spare_{n}`\n"
        for n in range(10, 10 + count)
    ]
    error = (
        "error[E0308]: mismatched types\n   --> src/pay.rs:275:18\n    |\n275 |     let n: u32 = entries.len();\n"
        "    |            ---   ^^^^^^^^^^^^^ expected `u32`, found `usize`\n    |            |\n"
        "    |            expected due to this\n"
    )
    return "\n".join(
        [
            *warnings[: count // 2],
            error,
            *warnings[count // 2 :],
            f"error: could not compile `pay` due to 1 previous error; {count} warnings emitted",
        ]
    )


@pytest.mark.parametrize("count", [20, 90, 400])
def test_an_error_keeps_what_is_said_at_its_place(count: int) -> None:
    out = shortened(cargo(count), policy=Policy(max_chars=min(16_000, 120 * count)))
    assert "^^^^^^^^^^^^^ expected `u32`, found `usize`" in out
    assert "expected due to this" in out
    assert "let n: u32 = entries.len();" in out
    assert "could not compile `pay`" in out


def test_errors_of_go_keep_the_types_under_them() -> None:
    lines = [f"./a{n}.go:{n}:2: warning: x{n} declared and not used" for n in range(600)]
    lines[300:300] = ["./pay.go:41:9: error: not enough arguments in call to charge", "\thave (int)", "\twant (string)"]
    out = shortened("\n".join(lines))
    assert "have (int)" in out
    assert "want (string)" in out


def test_many_warnings_that_differ_by_names_say_once_what_they_share() -> None:
    out = shortened(cargo(90))
    assert "warning: unused variable: …\n  src/lib.rs:10:9 `spare_10`, 11:9 `spare_11`, " in out
    assert out.count("unused variable") == 1
    assert "99:9 `spare_99`" in out


def test_what_messages_share_keeps_the_values_that_are_always_the_same() -> None:
    form, values = in_common(["E501 line too long (81 > 79)", "E501 line too long (97 > 79)"])
    assert form == "E501 line too long (… > 79)"
    assert values == ["81", "97"]
    assert in_common(["'a' is unused", "'a' is unknown"]) == ("", [])


@pytest.mark.parametrize(
    ("line", "file", "place"),
    [
        ("lib/v2:12: error: no rule", "lib/v2", "12"),
        ("src/solve.f90:12:5: error: bad shape", "src/solve.f90", "12:5"),
        ("m4/check7(3,4): error TS1: odd", "m4/check7", "(3,4)"),
        ("src/a9:[3,14] error: cannot find it", "src/a9", "[3,14]"),
    ],
)
def test_a_name_that_ends_in_digits_is_whole(line: str, file: str, place: str) -> None:
    (found,) = read([line])
    assert (found.file, found.place) == (file, place)


def test_an_error_of_the_compiler_itself_is_an_error() -> None:
    assert read(["a.c:1:2: internal compiler error: Segmentation fault"])[0].severity == ERROR
