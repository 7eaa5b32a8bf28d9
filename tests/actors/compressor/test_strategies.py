"""What each strategy keeps of the kinds of text it is for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from actors.compressor.messages import HybridOptions, Policy, ProgressiveOptions
from actors.compressor.pages import FOOTER
from actors.compressor.strategies.structured import columnar
from tests.actors.compressor import texts
from tests.actors.compressor.texts import compress, shortened, without_note


def path(text: str, policy: Policy) -> str:
    return compress(text, policy=policy).reply.strategy


def test_a_listing_keeps_what_identifies_every_item() -> None:
    text = texts.issues(80)
    out = shortened(text)
    body = json.loads(without_note(out))
    assert body[0]["title"] == json.loads(text)[0]["title"]
    assert all(issue["title"] in out and str(issue["number"]) in out for issue in json.loads(text))
    assert len(out) < len(text) / 4
    assert re.search(r"\[shortened: \d+ of 80 items whole, the others by title, number", out)


def test_an_item_that_stands_out_is_whole() -> None:
    items = [
        {"id": at, "name": f"job {at}", "status": "done", "log": f"finished in {at} ms " * 20} for at in range(200)
    ]
    items[137]["status"] = "lost"
    body = json.loads(without_note(shortened(json.dumps(items))))
    assert any(item.get("status") == "lost" and item["id"] == 137 for item in body if isinstance(item, dict))


def test_an_item_that_the_query_asks_for_is_whole() -> None:
    items = json.loads(texts.issues(200))
    items[150]["body"] = "the checkpoint raced with VACUUM in worker 48213"
    out = shortened(json.dumps(items), query="VACUUM checkpoint")
    assert "the checkpoint raced with VACUUM in worker 48213" in out
    assert "raced with VACUUM" not in shortened(json.dumps(items))


def test_whoever_asks_by_one_field_of_a_record_gets_the_others() -> None:
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    paths = {
        f"/v2/things{at}/{{id}}": {
            "post": {
                "operationId": f"mergesScheduler{at}",
                "summary": f"Provisional locale {at}",
                "description": f"It archives rarely the legacy shard after {at:05d} payloads.",
                "tags": ["identity"],
                "parameters": [parameter],
                "responses": {"200": {"description": "Done."}, "429": {"description": "Later."}},
            }
        }
        for at in range(200)
    }
    text = json.dumps({"openapi": "3.1.0", "paths": paths}, indent=2)
    fact = "legacy shard after 00151 payloads"
    assert fact in shortened(text, query="mergesScheduler151 Provisional identity")
    assert fact not in shortened(text)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_long_value_is_cut_around_what_the_query_asks_for(ascii_only: bool) -> None:
    items = json.loads(texts.issues(300))
    items[150]["body"] = "filler of the body " * 90 + "체크포인트가 VACUUM 과 충돌" + " more filler" * 90
    text = json.dumps(items, ensure_ascii=ascii_only)
    out = shortened(text, query="체크포인트")
    body = json.loads(without_note(out))
    assert any("체크포인트가 VACUUM 과 충돌" in item.get("body", "") for item in body)


def test_an_object_of_like_records_is_listed_by_key() -> None:
    text = json.dumps(
        {
            "packages": {
                f"node_modules/p{at}": {"version": f"1.{at}.0", "integrity": f"sha512-{at:090d}"} for at in range(300)
            }
        }
    )
    out = shortened(text, Policy(max_chars=9000, max_tokens=4000))
    json.loads(without_note(out))
    assert all(f"node_modules/p{at}" in out for at in range(300))


def test_the_columnar_form_can_be_written_back_exactly() -> None:
    rows = ",".join(
        f'{{"id":{at},"price":1.{at:03d}0,"e":1E400,"neg":-0.0,"name":"n\\u00e9\\/{at}"}}' for at in range(300)
    )
    text = f"[{rows}]"
    made = compress(text, policy=Policy(max_chars=16_000, max_tokens=12_000))
    assert made.reply.strategy == "auto:columnar"
    assert not made.originals
    assert made.reply.texts[0] is not None
    out = made.reply.texts[0].text
    names = json.loads(out)["columns"]
    lexemes = re.findall(r"^(?:.*\"rows\":\[)?\[(.*)\]", out, re.M)
    back = ",".join(
        "{" + ",".join(f'"{name}":{value}' for name, value in zip(names, row.rstrip("]").split(","), strict=True)) + "}"
        for row in lexemes
    )
    assert f"[{back}]" == text


@pytest.mark.parametrize(
    "text", ["[]", '[{"a":1},{"b":1},{"a":1}]', '[{"a":[1]},{"a":[1]},{"a":[1]}]', '{"a":1}', "[1,2,3,4]"]
)
def test_the_columnar_form_is_for_flat_records_of_one_shape(text: str) -> None:
    assert columnar(text.encode(), 1e9) is None


def test_schema_pruning_keeps_two_and_one_of_each_array() -> None:
    text = json.dumps(
        {"rows": [{"n": at, "tags": [f"t{tag}" for tag in range(40)]} for at in range(500)], "total": 500}
    )
    out = shortened(text, Policy(strategy="schema_pruning"))
    body = json.loads(without_note(out))
    assert [row["n"] for row in body["rows"] if isinstance(row, dict)] == [0, 1, 499]
    assert body["rows"][2] == "…+497 items"
    assert body["rows"][0]["tags"] == ["t0", "t1", "…+37 items", "t39"]
    assert body["total"] == 500
    assert "3 of 500 items" in out


def test_extract_fields_keeps_every_top_member() -> None:
    text = json.dumps(
        {f"part{at}": {"kind": "x", "values": list(range(300)), "deep": {"note": "n" * 400}} for at in range(4)}
        | {"top": 1.5, "list": ["a"] * 900}
    )
    out = shortened(text, Policy(strategy="extract_fields", max_chars=3000, max_tokens=1200))
    body = json.loads(without_note(out))
    assert set(body) >= {"top", "list", "part0"}
    assert body["top"] == 1.5
    assert body["list"][0] == "a"


@pytest.mark.parametrize("wrap", [lambda inner: inner, lambda inner: {"ok": True, "data": inner}])
def test_a_long_text_inside_an_object_is_shortened_as_what_it_is(wrap: Callable[[object], object]) -> None:
    log = texts.log(2000, (1371,))
    text = json.dumps(wrap({"exit_code": 1, "stdout": log, "took": 1.50}))
    out = shortened(text)
    body = json.loads(without_note(out))
    inner = body.get("data", body)
    assert inner["exit_code"] == 1
    assert log.splitlines()[1370] in inner["stdout"]
    assert '"took":1.5' in out
    assert "lines of stdout" in out


def test_records_that_failed_come_before_the_others() -> None:
    rows = [{"name": f"step {at} of the long run", "level": "error" if at % 50 == 7 else "info"} for at in range(4000)]
    out = shortened(json.dumps(rows))
    assert "step 3957 of" not in shortened(json.dumps([row | {"level": "info"} for row in rows]))
    assert "step 1507 of" in out


def test_ndjson_is_shortened_as_records() -> None:
    out = shortened(texts.KINDS["ndjson"])
    json.loads(without_note(out))
    assert "items" in out


def test_every_grep_line_carries_its_own_text_under_its_own_file() -> None:
    text = texts.grep(700)
    source = set(text.splitlines())
    out = without_note(shortened(text, query="line 412"))
    path, left = "", 0
    for line in out.splitlines():
        words, _, more = line.partition(" …+")
        match = f"{path}:{words.strip()}" if line.startswith("  ") else words
        assert match in source
        path = match.partition(":")[0]
        left += int(more or 0)
    shown = out[out.index("src/part0.py:1:") :].splitlines()  # behind the answers
    assert left + len(shown) == 700
    assert "src/part5.py:412: text of line 412 in its file" in out


def test_paths_are_grouped_by_directory() -> None:
    found = [f"/srv/data/part{at // 20}/file_{at}.bin" for at in range(600)]
    out = shortened("\n".join(found))
    assert "all 600 paths, each directory once" in out
    assert "/srv/data/part3/: file_60.bin file_61.bin " in out
    many = "\n".join(f"/srv/data/part{at // 20}/file_{at}.bin" for at in range(5000))
    out = shortened(many, query="file_4321")
    assert out.startswith("/srv/data/part216/file_4321.bin\n")
    assert "/srv/data/part249/ (20 entries)" in out


def test_a_log_keeps_its_needles_ends_and_shape_counts() -> None:
    text = texts.log(4000, (1371, 2890))
    out = shortened(text)
    lines = text.splitlines()
    for wanted in (lines[0], lines[1370], lines[2889], lines[-1]):
        assert wanted in out
    assert re.search(r"\[most frequent: \d+ lines like “\w", out)


def test_a_trace_keeps_head_and_tail() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "pool.py", line 7, in acquire\n    conn = make()\n'
        "PoolError: no segment left\n"
    )
    out = shortened(texts.log(800) + trace + texts.log(800, seed=9))
    assert trace.strip() in out


def test_the_exit_code_that_is_not_zero_is_kept() -> None:
    lines = [f"10:00:{at % 60:02d} worker {at} exited with code 0" for at in range(2000)]
    lines[1234] = "10:00:34 worker 1234 exited with code 137"
    assert lines[1234] in shortened("\n".join(lines))


def test_code_keeps_every_signature() -> None:
    text = texts.code(200)
    out = shortened(text)
    assert all(f"def function_{at}(first, second={at}):" in out for at in range(200))
    assert "return value" not in out


@pytest.mark.parametrize(
    "source",
    [
        "export async function load(a: string): Promise<void> {\n  await x(a);\n}\n",
        "func (s *Server) Handle(w http.ResponseWriter) error {\n\treturn nil\n}\n",
        "    pub fn parse(input: &str) -> Result<Self> {\n        todo!()\n    }\n",
        "    public static int add(int a, int b) {\n        return a + b;\n    }\n",
        "static int read_block(struct file *f) {\n    return 0;\n}\n",
        "const twice = (n) => {\n  return n * 2;\n};\n",
    ],
)
def test_signatures_of_other_languages(source: str) -> None:
    filler = "".join(f"    value{at} = compute(value{at}, {at});\n" for at in range(900))
    assert source.splitlines()[0].strip() in shortened(f"import a\n{filler}{source}{filler}")


def test_a_signature_over_several_lines_is_whole() -> None:
    signature = "def long(\n    first,\n    second,\n) -> int:\n"
    assert signature.strip() in shortened(texts.code(150) + "\n" + signature + "    return 1\n\n" + texts.code(150, 8))


def test_a_diff_keeps_every_header_and_no_name_three_times() -> None:
    text = texts.diff(60) + texts.diff(60).replace("x.py", "y.py")
    out = shortened(text)
    assert all(line.split(" …+")[0] in out for line in text.splitlines() if line.startswith(("@@", "diff", "+++")))
    assert "--- a/x.py" not in out


def test_markdown_keeps_every_heading_and_closed_fences() -> None:
    text = texts.markdown(150)
    out = shortened(text)
    assert all(line in out for line in text.splitlines() if line.startswith("#"))
    inside = False
    for line in without_note(out).splitlines():
        if line.startswith("```"):
            assert line == ("```" if inside else "```py")
            inside = not inside
    assert not inside


@pytest.mark.parametrize("form", ["{} {}", "* {} {}", "| * {} {}"])
def test_a_history_of_one_line_each_keeps_all_subjects(form: str) -> None:
    subjects = [f"Repair the part number {at} of it (#{at})" for at in range(300)]
    hashes = [f"{0xABCDEF + at * 79_193:07x}" for at in range(300)]
    lines = [form.format(*pair) for pair in zip(hashes, subjects, strict=True)]
    lines.insert(100, "|\\")
    out = shortened("\n".join(lines), Policy(max_chars=13_500))
    assert all(f"{subject}\n" in out for subject in subjects)
    assert "subject of all 300 commits" in out
    asked = shortened("\n".join(lines), Policy(max_chars=6_000), query="part number 277")
    assert f"{lines[278]}\n" in asked


def test_a_history_keeps_hash_and_subject_of_all_or_the_newest_subjects() -> None:
    text = texts.history(120)
    out = shortened(text)
    subjects = [line.strip() for line in text.splitlines() if line.endswith(")") and line.startswith("    ")]
    assert all(subject in out for subject in subjects)
    assert "hash and subject of all 120 commits" in out
    few = without_note(shortened(text, Policy(max_chars=2500, max_tokens=4000))).splitlines()
    assert few[:-1] == subjects[: len(few) - 1]
    assert few[-1] == f"[commits {len(few)}-120]"


def test_the_query_decides_what_prose_is_kept() -> None:
    text = texts.KINDS["prose"].replace("Client", "Zeppelin", 1)
    word = next(line for line in text.splitlines() if line)
    assert shortened(text, query="nothing of it") == shortened(text)
    middle = "The turbine in hall seven was replaced on Monday."
    text = text[: len(text) // 2] + f"\n\n{middle}\n\n" + text[len(text) // 2 :]
    assert middle in shortened(text, query="turbine hall")
    assert word


def test_skeleton_is_headings_and_first_lines() -> None:
    text = texts.markdown(120)
    out = shortened(text, Policy(strategy="skeleton"))
    assert all(line in out for line in text.splitlines() if line.startswith("#"))
    assert "x = 5" not in out
    assert path("plain words " * 3000, Policy(strategy="skeleton")) == "skeleton→truncate"


def test_selective_is_a_table_of_contents() -> None:
    text = texts.markdown(60)
    toc = json.loads(shortened(text, Policy(strategy="selective")))
    assert toc["type"] == "toc"
    assert toc["format"] == "markdown"
    assert toc["total_chars"] == len(text)
    assert toc["selection_key"] == texts.issue(text, 0).key
    assert toc["ttl_seconds_remaining"] == 1800
    assert [entry["key"] for entry in toc["entries"]][:1] == [text.splitlines()[0].lstrip("# ")]
    assert sum(entry["size"] for entry in toc["entries"]) == len(text)
    assert toc["hint"].startswith("stm_proxy_select_chunks(")


def test_a_table_of_contents_that_is_too_long_says_what_it_leaves_out() -> None:
    text = json.dumps({f"member number {at}": "v" * 20 for at in range(2000)})
    toc = json.loads(shortened(text, Policy(strategy="selective")))
    assert toc["format"] == "json"
    assert len(toc["entries"]) + toc["entries_left_out"] == 2000
    assert toc["entries"][0] == {"key": "member number 0", "type": "string", "size": 22, "preview": ""}


def test_hybrid_is_head_and_contents() -> None:
    text = texts.markdown(90)
    out = shortened(text, Policy(strategy="hybrid"))
    head, _, toc = out.partition("\n\n{")
    assert text.startswith(head)
    assert 3000 < len(head) <= 5000
    entries = json.loads("{" + toc)["entries"]
    assert entries[-1]["key"] == text.rsplit("## ", 1)[1].splitlines()[0]
    cut = shortened(text, Policy(strategy="hybrid", hybrid=HybridOptions(tail_mode="truncate")))
    assert "Section 89" in cut
    assert "an excerpt of the rest" in cut


def test_progressive_delivers_the_first_slice_of_the_raw_text() -> None:
    text = "\x1b[1m" + texts.markdown(90)
    made = compress(text, policy=Policy(strategy="progressive", progressive=ProgressiveOptions(chunk_size=3000)))
    assert made.reply.texts[0] is not None
    body, _, footer = made.reply.texts[0].text.partition(FOOTER)
    assert text.startswith(body)
    assert 2000 < len(body) <= 3000
    key = texts.issue(text, 0).key
    assert re.fullmatch(
        rf"0-{len(body)}/{len(text)} \| remaining={len(text) - len(body)} \| has_more=True \| ttl=1800s\]\n"
        rf'\[Remaining: "Section \d+ about \w+", .*, \.\.\.\]\n'
        rf'\[-> stm_proxy_read_more\(key="{key}", offset={len(body)}\)\]',
        footer,
    )
    assert made.originals[0].chunk == 3000
    assert made.originals[0].text == text


def test_the_summary_strategy_is_served_by_auto() -> None:
    assert path(texts.issues(90), Policy(strategy="llm_summary")) == "llm_summary→auto:schema_pruning"


@pytest.mark.parametrize("strategy", ["extract_fields", "schema_pruning"])
def test_json_strategies_truncate_what_is_not_json(strategy: str) -> None:
    assert path(texts.log(900), Policy(strategy=strategy)) == f"{strategy}→truncate"


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (texts.KINDS["markdown"], "auto:truncate→progressive_fallback"),
        ("## A\n\nx\n\n## B\n\ny\n\n## C\n\n" + "word and word " * 250, "auto:truncate→hybrid_fallback"),
        ("word and word " * 280, "auto:truncate→truncate_fallback"),
    ],
)
def test_the_ladder_of_the_retention_floor(text: str, taken: str) -> None:
    chunk = ProgressiveOptions(chunk_size=4000)
    assert path(text, Policy(max_chars=2500, max_tokens=700, retention_floor=0.9, progressive=chunk)) == taken
    assert "fallback" not in path(text, Policy(max_chars=2500, max_tokens=700, retention_floor=0.0, progressive=chunk))
