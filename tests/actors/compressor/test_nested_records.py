"""Records that say inside of nested objects what they are and how they are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from actors.compressor import jsontext
from actors.compressor.jsontext import Node
from actors.compressor.strategies.leaves import at, leaves
from tests.actors.compressor.texts import WORDS, shortened, without_note


def words(at: int, count: int = 5) -> str:
    chosen = random.Random(at)
    return f"{' '.join(chosen.choice(WORDS) for _ in range(count))} {at}"


def key(at: int, length: int = 24) -> str:
    return f"{random.Random(at).getrandbits(4 * length):0{length}x}"


def issue(at: int) -> dict[str, object]:
    return {
        "id": str(10_000 + at),
        "self": f"https://tracker.example/rest/{key(at)}",
        "fields": {
            "summary": words(at),
            "status": {"name": ("Open", "Done", "Waiting")[at % 3], "iconUrl": f"https://tracker.example/{key(at)}"},
            "assignee": {"accountId": key(at + 1), "displayName": ("Ada", "Grace")[at % 2]},
            "custom_1": None,
            "description": {"type": "doc", "content": [{"type": "paragraph", "content": [{"text": words(at, 60)}]}]},
        },
    }


def commit(at: int) -> dict[str, object]:
    person = {"name": "A. Maintainer", "email": "a@example.org", "date": f"2026-10-{at % 28 + 1:02d}T00:00:00Z"}
    return {
        "sha": key(at, 40),
        "node_id": "C_" + key(at, 30),
        "commit": {"author": person, "committer": person, "message": words(at), "tree": {"sha": key(at + 1, 40)}},
        "author": {"login": "maintainer", "avatar_url": "https://host.example/" + key(at)},
    }


def instance(at: int) -> dict[str, object]:
    return {
        "ReservationId": "r-" + key(at, 17),
        "Instances": [
            {
                "InstanceId": "i-" + key(at, 17),
                "ImageId": "ami-" + key(at + 1, 17),
                "State": {"Code": 16, "Name": "running" if at != 17 else "stopped"},
                "Tags": [{"Key": "Owner", "Value": "Ada"}, {"Key": "Name", "Value": words(at).replace(" ", "-")}],
                "Interfaces": [{"MacAddress": key(at + n, 12), "Status": "in-use"} for n in range(3)],
            }
        ],
    }


def block(at: int) -> dict[str, object]:
    kind = ("paragraph", "heading_1", "to_do")[at % 3]
    text = {"type": "text", "text": {"content": words(at, 9), "link": None}, "annotations": {"bold": False}}
    return {"object": "block", "id": key(at, 32), "type": kind, kind: {"rich_text": [text], "color": "default"}}


def page(at: int) -> dict[str, object]:
    return {
        "id": key(at, 32),
        "properties": {
            "Name": {"id": "title", "title": [{"plain_text": words(at)}]},
            "Done": {"checkbox": at % 2 == 0},
        },
        "url": f"https://notes.example/{key(at, 32)}",
    }


def audit(at: int) -> dict[str, object]:
    event = {"user": {"type": "role", "arn": "arn:x:" + key(at)}, "region": "eu", "note": words(at), "read": True}
    return {"EventId": key(at, 32), "Resources": [], "Event": json.dumps(event, separators=(",", ":"))}


def document(at: int) -> dict[str, object]:
    """As document stores put it: a path for a name, and each value under its type."""
    values = {
        "fullName": {"stringValue": words(at)},
        "age": {"integerValue": str(at)},
        "bio": {"stringValue": words(at + 9, 40)},
    }
    return {"name": f"projects/x/databases/(default)/documents/users/{key(at, 20)}", "fields": values}


@pytest.mark.parametrize("record", [issue, commit, instance, block, page, audit, document])
def test_records_are_listed_by_the_names_inside_of_them(record: Callable[[int], dict[str, object]]) -> None:
    items = [record(number) for number in range(60)]
    out = shortened(json.dumps({"items": items, "total": 60}, indent=1))
    named = [number for number in range(60) if (words(number) in out or words(number).replace(" ", "-") in out)]
    named = named or [number for number in range(60) if words(number, 9) in out]
    assert named == list(range(60))
    assert jsontext.parse(without_note(out)) is not None


def test_what_is_empty_everywhere_or_repeats_the_key_is_no_column() -> None:
    out = shortened(json.dumps([issue(number) for number in range(40)]))
    columns = next(item["columns"] for item in json.loads(without_note(out)) if "columns" in item)
    assert columns[0] == "fields.summary"
    assert not any("custom" in name or "self" in name or "iconUrl" in name for name in columns)


def pod(at: int) -> dict[str, object]:
    state: dict[str, object] = {"running": {"startedAt": f"2026-10-01T00:{at:02d}:00Z"}}
    if at == 11:
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"web-{key(at, 8)}",
            "uid": key(at, 32),
            "managedFields": [{"manager": "kubelet", "fieldsV1": {f"f:{name}": {"f:x": {}} for name in WORDS}}],
        },
        "spec": {
            "containers": [{"name": "main", "image": f"web:{at}", "env": [{"name": n, "value": n} for n in WORDS]}]
        },
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "restartCount": at % 3, "state": state}]},
    }


@pytest.mark.parametrize(
    ("record", "said"),
    [(pod, "CrashLoopBackOff"), (instance, "stopped")],
)
def test_the_one_record_whose_nested_state_is_odd_is_shown(
    record: Callable[[int], dict[str, object]], said: str
) -> None:
    assert said in shortened(json.dumps({"items": [record(number) for number in range(26)]}, indent=2))


@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_names_in_the_json_of_strings_are_listed(separators: tuple[str, str] | None) -> None:
    def event(at: int) -> str:
        return json.dumps(
            {"user": {"type": "role", "name": f"person {at}"}, "detail": "word " * 20}, separators=separators
        )

    out = shortened(json.dumps([{"id": key(at, 32), "event": event(at)} for at in range(100)]))
    assert len(out) < 8_000
    assert all(f"person {at}" in out for at in range(100))


@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_the_error_in_the_json_of_a_string_is_shown(separators: tuple[str, str] | None) -> None:
    items = [audit(number) for number in range(120)]
    event = {**json.loads(str(items[71]["Event"])), "errorCode": "Refused", "errorMessage": "no member may do that"}
    items[71]["Event"] = json.dumps(event, separators=separators)
    out = shortened(json.dumps({"Events": items}))
    assert "no member may do that" in out


@pytest.mark.parametrize("odd", [31, 44])
def test_records_that_count_their_errors_come_first(odd: int) -> None:
    items: list[dict[str, object]] = [
        {
            "file": f"src/{words(number, 2).replace(' ', '/')}.ts",
            "findings": [],
            "errorCount": 0,
            "source": words(number, 80),
        }
        for number in range(60)
    ]
    items[odd] |= {"errorCount": 1, "findings": [{"rule": "no-unused", "message": "thing is never used"}]}
    assert "thing is never used" in shortened(json.dumps(items))


def test_events_of_one_thing_stand_once_and_those_of_a_failed_thing_are_all_shown() -> None:
    lines: list[dict[str, object]] = []
    for number in range(300):
        thing: dict[str, object] = {
            "Time": f"2026-10-01T00:00:{number % 60:02d}Z",
            "Package": "example.org/shop",
            "Test": f"Test{words(number, 2).title().replace(' ', '')}",
        }
        lines += [{**thing, "Action": "run"}, {**thing, "Action": "output", "Output": f"=== RUN {number}\n"}]
        if number == 170:
            lines.append({**thing, "Action": "output", "Output": "cart_test.go:41: got 7 items, want 8\n"})
        lines.append({**thing, "Action": "fail" if number == 170 else "pass", "Elapsed": number / 100})
    out = shortened("\n".join(map(json.dumps, lines)))
    assert "got 7 items, want 8" in out
    assert all(f"Test{words(number, 2).title().replace(' ', '')}" in out for number in range(300))
    assert "equal neighbours once" in out
    assert out.count(f"Test{words(250, 2).title().replace(' ', '')}") == 1


def test_what_leads_to_the_next_page_is_whole() -> None:
    cursor = "cur_" + key(1, 400)
    items = [issue(number) for number in range(60)]
    for name in ("next_cursor", "nextPageToken", "endCursor", "NextToken"):
        assert cursor in shortened(json.dumps({"items": items, "paging": {name: cursor}, "others": items}))


def test_leaves_are_found_again_by_their_paths() -> None:
    for record in (issue, commit, instance, block, page, audit, pod):
        node = Node(jsontext.parse(json.dumps(record(11))) or b"")
        found = leaves(node)
        assert len(found) > 3
        assert all(
            reached is not None and reached.raw == leaf.raw
            for path, leaf in found.values()
            for reached in [at(node, path)]
        )


def test_a_name_that_begins_with_a_dot_keeps_it() -> None:
    found = leaves(Node(b'{".npmrc":{"registry":1},"npmrc":{"registry":2}}'))
    assert {name: leaf.raw for name, (_, leaf) in found.items()} == {".npmrc.registry": b"1", "npmrc.registry": b"2"}


def test_records_among_which_is_a_plain_value_are_still_records() -> None:
    items: list[object] = [issue(number) for number in range(40)]
    items[3], items[30] = True, "none"
    out = shortened(json.dumps(items))
    assert all(words(number) in out for number in range(40) if number not in (3, 30))


def test_a_list_in_the_only_item_of_a_list_is_still_the_list() -> None:
    results = [
        {
            "ruleId": f"rule-{number % 9}",
            "level": "error" if number == 20 else "warning",
            "message": {"text": words(number, 12)},
            "locations": [{"physicalLocation": {"uri": f"src/{words(number, 1)}.c", "region": {"startLine": number}}}],
        }
        for number in range(60)
    ]
    out = shortened(json.dumps({"runs": [{"tool": {"driver": {"name": "scan"}}, "results": results}]}, indent=2))
    assert all(words(number, 12) in out for number in range(60))
    assert '"error"' in out


def test_who_has_no_name_is_called_by_the_address() -> None:
    items = [
        {
            "_id": {"$oid": key(number)},
            "profile": {"email": f"{words(number, 2).replace(' ', '.')}@example.org"},
            "n": [1] * 30,
        }
        for number in range(60)
    ]
    out = shortened(json.dumps(items, indent=2))
    assert all(f"{words(number, 2).replace(' ', '.')}@example.org" in out for number in range(60))


@pytest.mark.parametrize("inside", [False, True])
def test_a_number_far_from_all_others_shows_its_record(inside: bool) -> None:
    rows = [
        {"ticker": f"T{at:04}", "company": f"{words(at)}", "close": at % 97 + 0.5}
        | ({"last": {"change": (at * 37 % 61) / 10}} if inside else {"change": (at * 37 % 61) / 10})
        for at in range(90 if inside else 600)
    ]
    odd = {"ticker": "ZZZQ", "company": "Halted Holdings", "close": 0.0}
    rows[77] = odd | ({"last": {"change": -97.31}} if inside else {"change": -97.31})
    text = json.dumps([row | {"notes": words(at, 30)} for at, row in enumerate(rows)])
    assert "-97.31" in shortened(text)


def thing(depth: int, n: int, names: int) -> dict[str, object]:
    inner = {f"field_{n}_{k}": thing(depth - 1, 10 * n + k, names) for k in range(4)} if depth else {}
    required = [f"field_{n}_{k}_which_must_be_there_whatever_else_is" for k in range(names)]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": inner}


def test_a_tree_keeps_what_its_root_says_of_the_whole() -> None:
    text = json.dumps(
        {"title": "All things", "type": "object", "properties": {f"Thing{n}": thing(2, n, 1) for n in range(30)}}
    )
    out = shortened(text)
    assert '"title":"All things"' in out
    assert all(f"Thing{n}" in out for n in range(30))


def test_a_schema_says_more_than_the_tree_of_its_types() -> None:
    text = json.dumps(
        {"title": "All things", "type": "object", "properties": {f"Thing{n}": thing(1, n, 12) for n in range(9)}}
    )
    out = shortened(text)
    assert '"title":"All things"' in out
    assert "which_must_be_there_whatever_else_is" in out
    assert all(f"Thing{n}" in out for n in range(9))


def test_what_reviewers_say_comes_before_the_code_they_talk_about() -> None:
    comments = [
        {
            "id": 1_880_000 + at,
            "diff_hunk": f"@@ -{at},7 +{at},11 @@ func drain(ctx context.Context)\n \tdefer span.End()\n-\told {at}\n"
            * 2,
            "path": f"internal/part_{at % 5}.go",
            "user": {"login": f"dev-{at % 4}", "id": at},
            "body": "Blocking: the cursor moves before the rows are durable." if at == 17 else f"Nit {at}: rename it.",
            "line": at,
        }
        for at in range(60)
    ]
    out = shortened(json.dumps(comments))
    assert "Blocking: the cursor moves before the rows are durable." in out
    assert all(f"Nit {at}: rename it." in out for at in range(60) if at != 17)
