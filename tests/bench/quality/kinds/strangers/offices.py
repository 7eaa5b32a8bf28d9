"""Where people write to each other: blocks of a page, a channel, mail in base64, a wiki, memories, drawings, dates."""

from __future__ import annotations

import base64
import itertools
import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import code, ident, paragraph, person, sentence, snake, stamp, title, uuid


def notion(rng: random.Random) -> Payload:
    """The blocks of a page. What a block says stands in it twice; the second time it ends early here."""

    def block(kind: str, text: str, **more: Any) -> dict[str, Any]:
        person_id = "ee5f0f84-409a-440f-983a-a5315961c6e4"
        style = {"bold": False, "italic": False, "strikethrough": False, "underline": False, "code": False}
        rich = {
            "type": "text",
            "text": {"content": text, "link": None},
            "annotations": {**style, "color": "default"},
            "plain_text": text[:16],
            "href": None,
        }
        return {
            "object": "block",
            "id": uuid(rng),
            "parent": {"type": "page_id", "page_id": "59833787-2cf9-4fdf-8782-e53db20768a5"},
            "created_time": stamp(rng, 90_000),
            "last_edited_time": stamp(rng, 800_000),
            "created_by": {"object": "user", "id": person_id},
            "last_edited_by": {"object": "user", "id": person_id},
            "has_children": False,
            "archived": False,
            "in_trash": False,
            "type": kind,
            kind: {"rich_text": [rich], "color": "default", **more},
        }

    blocks, salient, deep = [], [], []
    for at in range(14):
        salient.append(f"{at + 1}. {title(rng)} {title(rng).lower()}")
        blocks.append(block("heading_2", salient[-1], is_toggleable=False))
        for _ in range(2):
            said = paragraph(rng, 2)
            deep.append(said[60:140])
            blocks.append(block("paragraph", said))
        blocks += [block("to_do", title(rng), checked=rng.random() < 0.5) for _ in range(3)]
    decision = "Decision: we drop the nightly export and move billing to event sourcing by 15 January."
    blocks.append(block("callout", decision))
    body: dict[str, Any] = {
        "object": "list",
        "results": blocks,
        "next_cursor": None,
        "has_more": False,
        "type": "block",
        "block": {},
    }
    text = compact({**body, "request_id": ident(rng, 32)})
    return payload("page blocks", text, leading(text, [decision], salient), deep)


def slack(rng: random.Random) -> Payload:
    """The history of a channel, one alarm in it."""
    messages: list[dict[str, Any]] = []
    for at in range(110):
        said = paragraph(rng, rng.randint(1, 2))
        part = {"type": "rich_text_section", "elements": [{"type": "text", "text": said[:25]}]}
        message: dict[str, Any] = {
            "user": f"U0{rng.choice(['4KX1', '7PQ2', '9ZB3', '1MM8'])}",
            "type": "message",
            "ts": f"{1_761_000_000 + at * 733}.{rng.randint(10**5, 10**6)}",
            "client_msg_id": uuid(rng),
            "text": said,
            "team": "T01ACME",
            "blocks": [{"type": "rich_text", "block_id": code(rng, 5), "elements": [part]}],
        }
        if at % 9 == 0:
            message |= {"thread_ts": message["ts"], "reply_count": rng.randint(1, 9), "is_locked": False}
        if at % 7 == 0:
            message["reactions"] = [{"name": "eyes", "users": ["U04KX1"], "count": 1}]
        messages.append(message)
    alarm = ":rotating_light: rolling back release 41.7, checkout is returning 502 for every EU customer since 14:03"
    messages[83]["text"] = alarm
    cursor = {"next_cursor": f"bmV4dF90czox{code(rng, 10)}"}
    text = compact({"ok": True, "messages": messages, "has_more": True, "pin_count": 0, "response_metadata": cursor})
    return payload("channel history", text, [alarm], [str(each["text"])[26:90] for each in messages])


def gmail(rng: random.Random) -> Payload:
    """A thread whose bodies are base64: only the headers and the beginnings can be read."""
    messages, subjects, snippets = [], [], []
    for at in range(14):
        subjects.append(f"Vendor contract renewal (part {at})")
        body = f"Hi all,\n\n{paragraph(rng, 4)}\n\n> {paragraph(rng, 2)}\n\nBest,\n{person(rng)}\n"
        snippets.append(body[9:70])
        headers = {
            "From": f"{person(rng)} <{snake(rng)}@example.org>",
            "Subject": f"{'Re: ' if at else ''}{subjects[-1]}",
            "Date": stamp(rng, at * 80_000),
            "DKIM-Signature": code(rng, 200),
            "Received": f"by {code(rng)} with SMTP id {ident(rng, 20)}",
        }
        data = base64.urlsafe_b64encode(body.encode()).decode()
        messages.append(
            {
                "id": ident(rng, 16),
                "threadId": "18f2",
                "labelIds": ["INBOX"],
                "snippet": snippets[-1],
                "payload": {
                    "mimeType": "text/plain",
                    "headers": [{"name": name, "value": value} for name, value in headers.items()],
                    "body": {"size": len(body), "data": data},
                },
                "internalDate": str(1_764_500_000_000 + at),
            }
        )
    return payload("mail in base64", indented({"id": "18f2", "messages": messages}), subjects, snippets)


def confluence(rng: random.Random) -> Payload:
    """A page of a wiki: JSON around one long string of HTML."""
    parts, heads, deep = [], [], []
    for _ in range(16):
        heads.append(title(rng))
        first = paragraph(rng, 3)
        deep.append(first[-70:])
        rows = "".join(f"<tr><td>{title(rng)}</td><td>{code(rng, 6)}</td></tr>" for _ in range(4))
        parts.append(
            f'<h2>{heads[-1]}</h2><p>{first}</p><ac:structured-macro ac:name="code"><ac:plain-text-body>'
            f"<![CDATA[run {snake(rng)} --force]]></ac:plain-text-body></ac:structured-macro>"
            f"<table><tbody>{rows}</tbody></table><p>{paragraph(rng, 3)}</p>"
        )
    body = {
        "id": "98331",
        "type": "page",
        "status": "current",
        "title": "Runbook: ledger failover",
        "space": {"key": "OPS"},
        "version": {"number": 41},
        "body": {"storage": {"value": "".join(parts), "representation": "storage"}},
        "_links": {"webui": "/spaces/OPS/pages/98331"},
    }
    text = compact(body)
    return payload("html in json", text, leading(text, ["Runbook: ledger failover"], heads), deep)


def memories(rng: random.Random) -> Payload:
    """A graph of entities with observations, and who is related to whom."""
    entities = [
        {
            "type": "entity",
            "name": f"{person(rng).split()[1]}_{at:02d}",
            "entityType": rng.choice(["person", "project", "decision"]),
            "observations": [sentence(rng) for _ in range(4)],
        }
        for at in range(80)
    ]
    known = [str(each["name"]) for each in entities[::2]]
    relations = [
        {"from": rng.choice(known), "to": rng.choice(known), "relationType": rng.choice(["owns", "blocks", "works_on"])}
        for _ in range(100)
    ]
    return payload(
        "memory graph",
        indented({"entities": entities, "relations": relations}),
        [str(each["name"]) for each in entities[1::2]],
        [str(each["observations"][2]) for each in entities],
    )


def figma(rng: random.Random) -> Payload:
    """A drawing: frames in frames, colours in all of them."""
    numbers = itertools.count(1)
    frames: list[str] = []
    labels: list[str] = []

    def node(depth: int) -> dict[str, Any]:
        number = next(numbers)
        name = f"{title(rng) if depth < 3 else rng.choice(['Rectangle', 'Group', 'Vector'])} {number}"
        made: dict[str, Any] = {
            "id": f"{number}:{rng.randint(100, 9999)}",
            "name": name,
            "type": rng.choice(["FRAME", "GROUP", "TEXT", "INSTANCE"]),
            "scrollBehavior": "SCROLLS",
            "blendMode": "PASS_THROUGH",
            "absoluteBoundingBox": {"x": rng.randint(-900, 900), "y": rng.randint(0, 999), "width": 120.0},
            "constraints": {"vertical": "TOP", "horizontal": "LEFT"},
            "fills": [{"type": "SOLID", "color": {part: round(rng.random(), 6) for part in "rgb"}}],
            "strokes": [],
            "effects": [],
        }
        if depth < 3:
            frames.append(name)
        else:
            labels.append(sentence(rng)[:60])
            made["characters"] = labels[-1]
        if depth < 4:
            made["children"] = [node(depth + 1) for _ in range((3, 3, 4, 3)[depth])]
        return made

    text = compact({"name": "Checkout redesign", "version": "5512", "document": node(0)})
    return payload("drawing", text, leading(text, ["Checkout redesign"], frames), labels)


def calendar(rng: random.Random) -> Payload:
    """iCalendar, with the line ends of its standard."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Acme//Cal 3//EN"]
    salient, deep = [], []
    for at in range(90):
        salient.append(title(rng))
        deep.append(ident(rng, 20))
        day = f"2026{9 + at // 40:02d}{1 + at % 28:02d}"
        lines += [
            "BEGIN:VEVENT",
            f"UID:{deep[-1]}@example.org",
            "DTSTAMP:20260901T000000Z",
            f"DTSTART;TZID=Europe/Vienna:{day}T{8 + at % 9:02d}0000",
            f"DTEND;TZID=Europe/Vienna:{day}T{9 + at % 9:02d}0000",
            f"SUMMARY:{salient[-1]}",
            f"LOCATION:Room {code(rng, 4)}",
            "DESCRIPTION:" + paragraph(rng, 2).replace(",", "\\,"),
            "STATUS:CONFIRMED",
            "TRANSP:OPAQUE",
            "SEQUENCE:0",
            "END:VEVENT",
        ]
    return payload("icalendar", "\r\n".join([*lines, "END:VCALENDAR"]), salient, deep)
