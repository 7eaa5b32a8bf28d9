from __future__ import annotations

import json
import subprocess
import sys

import pytest

from actors.compressor import jsontext
from actors.compressor.detect import Kind, detect, look
from actors.compressor.tabular import delimiter
from tests.actors.compressor import texts
from tests.actors.compressor.texts import shortened

EXPECTED = {
    "issues": Kind.JSON,
    "log": Kind.LOG,
    "table": Kind.TABLE,
    "grep": Kind.GREP,
    "markdown": Kind.MARKDOWN,
    "code": Kind.CODE,
    "diff": Kind.DIFF,
    "history": Kind.COMMITS,
    "html": Kind.HTML,
    "paths": Kind.PATHS,
    "prose": Kind.PROSE,
    "korean": Kind.PROSE,
    "ndjson": Kind.NDJSON,
}


@pytest.mark.parametrize("kind", sorted(EXPECTED))
def test_kinds_are_told_apart(kind: str) -> None:
    assert detect(texts.KINDS[kind]) is EXPECTED[kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", Kind.PROSE),
        ('{"a": [1, 2]}', Kind.JSON),
        ('{"a": [1, 2', Kind.JSON),
        ("\n".join(f"tests/a.py::test_{n} PASSED [ {n}%]" for n in range(30)), Kind.REPORT),
        ("a\tb\tc\n" + "1\t2\t3\n" * 9, Kind.TABLE),
        ("fn main() {\n    let x = 1;\n}\n\npub struct A {\n    b: u8,\n}\n" * 5, Kind.CODE),
        ("<div><p>Hello</p><p>world</p></div>", Kind.HTML),
        ("if a < b then c > d. " * 50, Kind.PROSE),
        ("\n".join(f"{0xABCDEF + n * 7919:07x} Fix part {n}" for n in range(30)), Kind.COMMITS),
        ("\n".join(f"{1234567 + n} /var/lib/part{n}" for n in range(30)), Kind.PROSE),
    ],
)
def test_small_cases(text: str, kind: Kind) -> None:
    assert detect(text) is kind


def test_a_list_of_sentences_is_no_table() -> None:
    assert (
        delimiter(["Well, yes. No, not so.", "Then, again. Or, maybe.", "So, what. And, why.", "Or, if. But, no."])
        == ""
    )


def test_a_program_that_tells_its_imports_is_a_log_and_keeps_its_traceback() -> None:
    program = "import json, logging, tarfile, http.client\nimport asyncio\nimport no_such_module_anywhere\n"
    run = subprocess.run([sys.executable, "-v", "-S", "-E", "-c", program], capture_output=True, text=True, check=False)
    assert len(run.stderr) > 20_000
    assert detect(run.stderr) is Kind.LOG
    out = shortened(run.stderr)
    assert "Traceback (most recent call last):" in out
    assert "ModuleNotFoundError: No module named 'no_such_module_anywhere'" in out


def test_a_failure_told_in_the_middle_of_source_code_stays() -> None:
    code = "".join(f"def part_{at}(value):\n    return value + {at}\n\n\n" for at in range(400))
    told = 'Traceback (most recent call last):\n  File "x.py", line 3, in part\nValueError: it is not a number\n'
    out = shortened(code + told + code)
    assert "ValueError: it is not a number" in out


def test_only_a_line_that_was_cut_off_is_left_out_of_lines_of_json() -> None:
    lines = "\n".join(f'{{"at":{number},"did":"run"}}' for number in range(40))
    assert look(f'{lines}\n{{"at":40,"di').wrapped == "a last line that was cut off"
    for last in ("exit status 1", "[ERROR] it failed"):
        assert look(f"{lines}\n{last}\n").kind is not Kind.NDJSON


def test_all_that_a_text_was_freed_from_is_said() -> None:
    lines = "\n".join(f'{{"at":{number},"did":"run"}}' for number in range(40))
    seen = look(json.dumps(f'{lines}\n{{"at":40,"di'))
    assert seen.wrapped == "JSON string to text, a last line that was cut off"


def test_scripts_are_code_however_they_comment() -> None:
    body = "\n".join(f"### Step {at}\n## - first\n## - second\nrun_{at} --now\n" for at in range(80))
    assert detect(f"#!/usr/bin/env bash\n\n{body}") is Kind.CODE
    assert detect(f"# Steps\n\n{body}") is not Kind.CODE


def test_stubs_of_many_parameters_are_code() -> None:
    text = "\n".join(
        f"    @overload\n    def call_{at}(\n        self,\n        *,\n"
        + "".join(f"        option_{at}_{n}: bool | None = None,\n" for n in range(12))
        + "    ) -> int: ..."
        for at in range(60)
    )
    assert detect("import sys\n\nclass Popen(Generic[AnyStr]):\n" + text) is Kind.CODE


def test_lists_of_changes_are_markdown_whatever_they_name() -> None:
    table = "<table>\n" + "".join(f'<a href="#{at}">0.{at}</a><br/>\n' for at in range(80)) + "</table>\n"
    changes = "\n".join(
        f"\n## Version 0.{at}\n" + "\n".join(f"* {what}: fix what number {at} broke" for what in ("lib", "net", "tls"))
        for at in range(120)
    )
    assert detect(f"# Changes\n\n{table}{changes}") is Kind.MARKDOWN


def test_entries_that_all_set_one_name_are_no_settings() -> None:
    lines = [f"reqid={at} GET https://app.example.org/{at * 7}?page={at} [success - 200]" for at in range(300)]
    lines[77] = lines[77].replace("success - 200", "failed - 502")
    text = "# Network requests\n" + "\n".join(lines)
    assert detect(text) is Kind.LOG
    assert "[failed - 502]" in shortened(text)


@pytest.mark.parametrize("mark", ["`", ""])
def test_code_in_a_text_without_fences_does_not_make_it_code(mark: str) -> None:
    sections = (
        f"# 제목 {at}\n설명은 `이름 {at}` 아래에 있습니다.\n\n{mark}fn main() {{\n    // 주석 {at}\n"
        f"    let value = {at};\n    println!(\"{{}}\", value);\n}}{mark}\n\n"
        for at in range(200)
    )  # fmt: skip
    text = "".join(sections)
    assert detect(text) is Kind.MARKDOWN
    out = shortened(text)
    assert all(f"# 제목 {at}\n" in out or f"# 제목 {at} " in out for at in range(0, 200, 7))


@pytest.mark.parametrize("name", ["ts", "time", "t", "timestamp"])
def test_lines_that_set_a_time_first_are_a_log(name: str) -> None:
    lines = [
        f'{name}=2026-11-30T03:{at // 60:02}:{at % 60:02}.1Z caller=db.go:{at} msg="done {at}"' for at in range(99)
    ]
    assert detect("\n".join(lines)) is Kind.LOG


def test_documents_one_behind_the_other_are_an_array() -> None:
    documents = [json.dumps({"name": f"pod-{at}", "note": "} {", "at": [at, at * 7919]}, indent=2) for at in range(200)]
    seen = look("\n".join(documents))
    assert seen.kind is Kind.JSON and seen.wrapped
    assert json.loads(seen.document or b"") == [json.loads(document) for document in documents]
    assert all(f"pod-{at}" in shortened("\n\n".join(documents)) for at in range(200))


@pytest.mark.parametrize("broken", ['{\n"a": 1\n}\n{\n"b": \n}', "[\n1\n]\nand\n[\n2\n]", '{\n"a": 1\n}\n' * 3 + "{"])
def test_what_is_not_whole_documents_is_no_array(broken: str) -> None:
    assert jsontext.parse_documents(broken) is None


def test_white_space_between_documents_takes_no_longer_than_its_length() -> None:
    assert jsontext.parse_documents("{}" + " \n" * 100_000 + "x") is None


def test_the_log_of_slow_queries() -> None:
    queries = [
        f"# Time: 2026-11-30T00:{at % 60:02}:09Z\n# User@Host: app[app] @ web{at % 7}  Id: {at}\n"
        f"# Query_time: {641.88 if at == 70 else 2.5 + at % 9 / 10}  Rows_sent: {at % 90}  "
        f"Rows_examined: {88_120_442 if at == 70 else 130_000 + at}\nSET timestamp={1_796_000_000 + at};\n"
        f"SELECT * FROM visits WHERE club = {at} ORDER BY id DESC LIMIT 50;"
        for at in range(150)
    ]
    assert detect("\n".join(queries)) is Kind.LOG
    assert "Rows_examined: 88120442" in shortened("\n".join(queries))
