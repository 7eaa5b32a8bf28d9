"""Trackers and hosts of code: issues with rich text, edges and nodes, changed files with patches, commits."""

from __future__ import annotations

import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import code, ident, noun, paragraph, person, sentence, snake, stamp, title


def jira(rng: random.Random) -> Payload:
    """A search with descriptions in Atlassian's document format."""
    site = "https://acme.atlassian.net"
    issues: list[dict[str, Any]] = []
    for at in range(45):
        content = [
            _node("paragraph", [{"type": "text", "text": paragraph(rng, 2)}]),
            _node("bulletList", [_item(sentence(rng)) for _ in range(3)]),
        ]
        fields: dict[str, Any] = {
            "summary": title(rng),
            "status": {
                "self": f"{site}/rest/api/3/status/3",
                "description": "",
                "iconUrl": f"{site}/images/icons/statuses/generic.png",
                "name": rng.choice(["To Do", "In Progress", "Done"]),
                "id": "3",
                "statusCategory": {"id": 4, "key": "indeterminate", "colorName": "yellow", "name": "In Progress"},
            },
            "priority": {"name": rng.choice(["Low", "Medium", "High"]), "id": "3"},
            "assignee": {
                "accountId": ident(rng, 24),
                "displayName": person(rng),
                "active": True,
                "avatarUrls": {"48x48": "https://avatar/48", "24x24": "https://avatar/24"},
            },
            "labels": [],
            "customfield_10016": None,
            "customfield_10020": None,
            "customfield_10034": rng.choice([1, 2, 3, 5, 8]),
            "created": stamp(rng, at * 86_000),
            "updated": stamp(rng, at * 91_000),
            "description": {"type": "doc", "version": 1, "content": content},
        }
        number = str(10_400 + at * 3)
        issues.append(
            {
                "expand": "operations,versionedRepresentations,editmeta,changelog,renderedFields",
                "id": number,
                "self": f"{site}/rest/api/3/issue/{number}",
                "key": f"PAY-{812 - at}",
                "fields": fields,
            }
        )
    alarm = "Refund of 4.2M KRW settled twice for merchant Haneul"
    issues[31]["fields"]["summary"] = alarm
    issues[31]["fields"]["priority"]["name"] = "Blocker"
    text = compact({"expand": "schema,names", "startAt": 0, "maxResults": 50, "total": 45, "issues": issues})
    items = [each["fields"]["description"]["content"][1]["content"][1] for each in issues]
    return payload(
        "jira search",
        text,
        leading(text, [alarm], [each["fields"]["summary"] for each in issues]),
        [item["content"][0]["content"][0]["text"] for item in items],
    )


def _node(kind: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": kind, "content": content}


def _item(text: str) -> dict[str, Any]:
    return _node("listItem", [_node("paragraph", [{"type": "text", "text": text}])])


def linear(rng: random.Random) -> Payload:
    """Issues as edges and nodes of a connection in GraphQL."""
    nodes = [
        {
            "id": ident(rng, 32),
            "identifier": f"ENG-{900 - at}",
            "title": title(rng),
            "priority": rng.randint(0, 4),
            "state": {"name": rng.choice(["Todo", "In Progress", "Done"]), "type": "started"},
            "assignee": {"name": person(rng), "email": "team@example.org"},
            "labels": {"nodes": [{"name": rng.choice(["bug", "infra"])}]},
            "description": paragraph(rng, 3),
            "url": f"https://linear.example/acme/issue/ENG-{900 - at}",
            "createdAt": stamp(rng, at * 30_000),
        }
        for at in range(70)
    ]
    alarm = "Customer data visible across tenants"
    nodes[47] |= {"title": alarm, "state": {"name": "Triage", "type": "triage"}}
    edges = [{"node": node, "cursor": code(rng)} for node in nodes]
    text = compact({"data": {"issues": {"edges": edges, "pageInfo": {"hasNextPage": True}}}})
    return payload(
        "edges and nodes",
        text,
        leading(text, [alarm], [str(node["title"]) for node in nodes]),
        [str(node["description"])[-70:] for node in nodes],
    )


def changed_files(rng: random.Random) -> Payload:
    """The files of a pull request, each with its patch."""
    files, deep = [], []
    for at in range(38):
        name = f"src/{noun(rng)}/{snake(rng)}_{at}.py"
        lines = [f"@@ -{rng.randint(1, 300)},6 +{rng.randint(1, 300)},9 @@ def {snake(rng)}({noun(rng)}):"]
        for _ in range(rng.randint(2, 5)):
            deep.append(f"    {snake(rng)} = {snake(rng)}({noun(rng)}, {rng.randint(100, 9999)})")
            lines += [
                f"     {snake(rng)}({noun(rng)})",
                f"-    {snake(rng)} = None",
                f"+{deep[-1]}",
                f"     # {sentence(rng)}",
            ]
        address = "https://git.example.org/acme/core"
        files.append(
            {
                "sha": ident(rng, 40),
                "filename": name,
                "status": "modified",
                "additions": len(lines) // 4,
                "deletions": len(lines) // 4,
                "changes": len(lines) // 2,
                "blob_url": f"{address}/blob/{ident(rng, 40)}",
                "raw_url": f"{address}/raw/{ident(rng, 40)}",
                "contents_url": f"{address}/contents?ref={ident(rng, 40)}",
                "patch": "\n".join(lines),
            }
        )
    names = [str(each["filename"]) for each in files]
    return payload("changed files", compact(files), names, [each.strip() for each in deep])


def commits(rng: random.Random) -> Payload:
    """A list of commits as the API of a host gives it: ten times as much around the message as in it."""
    user = {
        "login": "core-dev",
        "id": 4411,
        "avatar_url": "https://cdn.example.org/u/4411?v=4",
        "url": "https://api.example.org/users/core-dev",
        "type": "User",
        "site_admin": False,
    }
    made: list[dict[str, Any]] = []
    for at in range(50):
        who = {"name": person(rng), "email": "dev@example.org", "date": stamp(rng, at * 20_000)}
        made.append(
            {
                "sha": ident(rng, 40),
                "node_id": f"C_kw{code(rng, 20)}",
                "commit": {
                    "author": who,
                    "committer": who,
                    "message": f"{title(rng)}\n\n{paragraph(rng, rng.randint(1, 3))}",
                    "tree": {"sha": ident(rng, 40), "url": f"https://api.example.org/trees/{ident(rng, 40)}"},
                    "comment_count": 0,
                    "verification": {"verified": False, "reason": "unsigned", "signature": None, "payload": None},
                },
                "html_url": f"https://git.example.org/acme/core/commit/{ident(rng, 40)}",
                "author": user,
                "committer": user,
                "parents": [{"sha": ident(rng, 40)}],
            }
        )
    titles = [each["commit"]["message"].split("\n")[0] for each in made]
    return payload("commits", indented(made), titles, [str(each["node_id"]) for each in made])
