"""JSON: listings flat and nested, pages of an API, issues, search results, metrics, NDJSON, OpenAPI."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import (
    ADJECTIVES,
    camel,
    ident,
    noun,
    paragraph,
    person,
    sentence,
    snake,
    stamp,
    title,
)


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def indented(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def flat_users(rng: random.Random) -> Payload:
    """A flat listing, indented, as an SDK prints it."""
    rows = [
        {
            "id": rng.randint(10**7, 10**8),
            "name": f"{person(rng)} {at}",
            "email": f"user{rng.randint(10**5, 10**6)}@example.org",
            "department": rng.choice(["sales", "platform", "legal", "research"]),
            "salary_band": rng.choice(["B2", "C1", "C4"]),
            "active": rng.random() > 0.2,
            "last_login": stamp(rng, at * 70_000),
        }
        for at in range(260)
    ]
    rows[171]["department"] = "incident-response-standby"
    text = json.dumps(rows, indent=2)
    return payload(
        "json flat",
        text,
        ["incident-response-standby", *(str(row["name"]) for row in rows)],
        [str(row["email"]) for row in rows],
    )


def paged_orders(rng: random.Random) -> Payload:
    """One page of an API: an envelope with cursors around nested objects."""
    orders = [
        {
            "object": "order",
            "id": f"ord_{ident(rng, 14)}",
            "created": 1_780_000_000 + at * 977,
            "amount": {"value": rng.randint(100, 99_999), "currency": rng.choice(["eur", "krw", "usd"])},
            "customer": {
                "id": f"cus_{ident(rng)}",
                "name": person(rng),
                "address": {"city": noun(rng), "zip": f"{rng.randint(10**4, 10**5)}"},
            },
            "description": title(rng),
            "lines": [
                {"sku": f"SKU-{ident(rng, 8)}", "qty": rng.randint(1, 9), "unit": rng.randint(100, 9999) / 100}
                for _ in range(rng.randint(1, 4))
            ],
            "status": "chargeback_lost" if at == 57 else rng.choice(["paid", "paid", "paid", "open"]),
            "metadata": {},
            "livemode": True,
        }
        for at in range(110)
    ]
    body = {
        "object": "list",
        "url": "/v1/orders",
        "has_more": True,
        "next_cursor": f"cur_{ident(rng, 20)}",
        "total_count": 48211,
        "data": orders,
    }
    salient = [str(body["next_cursor"]), "48211", "chargeback_lost", *(str(order["id"]) for order in orders[::22])]
    deep = [line["sku"] for order in orders for line in order["lines"]]
    return payload("json paged", compact(body), salient, deep)


def issues(rng: random.Random) -> Payload:
    """Issues with bodies, users and labels."""
    rows = []
    for at in range(60):
        number = 9000 - at * 3
        rows.append(
            {
                "url": f"https://git.example.org/api/repos/acme/core/issues/{number}",
                "id": rng.randint(10**9, 10**10),
                "node_id": f"I_{ident(rng, 14)}",
                "number": number,
                "title": f"{title(rng)} in {noun(rng)} {rng.randint(100, 999)}",
                "user": {
                    "login": person(rng).replace(" ", "").lower(),
                    "id": rng.randint(1, 10**6),
                    "type": "User",
                    "avatar_url": f"https://cdn.example.org/{ident(rng)}",
                },
                "labels": [
                    {"name": rng.choice(["bug", "docs", "perf"]), "color": ident(rng, 6)}
                    for _ in range(rng.randint(0, 2))
                ],
                "state": rng.choice(["open", "closed"]),
                "comments": rng.randint(0, 30),
                "created_at": stamp(rng, at * 90_000),
                "body": "\n\n".join(paragraph(rng, 3) for _ in range(rng.randint(1, 3))),
            }
        )
    text = compact(rows)
    return payload("json issues", text, [str(row["title"]) for row in rows], [str(row["body"])[-60:] for row in rows])


def search_hits(rng: random.Random) -> Payload:
    """Search results with snippets."""
    hits = [
        {
            "rank": at + 1,
            "title": f"{title(rng)} ({noun(rng)})",
            "link": f"https://{noun(rng)}.example.org/{snake(rng)}/{rng.randint(1, 9999)}",
            "snippet": paragraph(rng, 3),
            "score": round(rng.random(), 6),
            "highlights": [sentence(rng) for _ in range(2)],
        }
        for at in range(60)
    ]
    body = {"query": "renewal policy", "took_ms": 38, "total": 1287, "hits": hits}
    return payload(
        "json search",
        compact(body),
        ['"total":1287', *(str(hit["title"]) for hit in hits)],
        [str(hit["snippet"])[-55:] for hit in hits],
    )


def tree(rng: random.Random) -> Payload:
    """A nested document without arrays of records: settings of many services, each of another shape."""

    def service(depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {"enabled": rng.random() > 0.4, "owner": person(rng), "limit": rng.randint(1, 10**6)}
        for _ in range(rng.randint(1, 4)):
            name = snake(rng)
            made[name] = (
                service(depth - 1)
                if depth and rng.random() < 0.6
                else rng.choice([sentence(rng), rng.random() * 1000, [noun(rng) for _ in range(4)]])
            )
        return made

    body = {f"{noun(rng)}_{at}": service(4) for at in range(70)}
    text = json.dumps(body, indent=4)
    deep = [
        value for part in body.values() for value in part.values() if isinstance(value, str) and value.endswith(".")
    ]
    deep += [str(part["limit"]) for part in body.values()]
    return payload("json nested", text, list(body), deep)


def metrics(rng: random.Random) -> Payload:
    """Time series: names with labels and arrays of points."""
    series = []
    for _ in range(26):
        points = [[1_780_000_000 + step * 15, f"{rng.random() * 100:.4f}"] for step in range(60)]
        series.append(
            {
                "metric": {
                    "__name__": snake(rng),
                    "instance": f"10.0.{rng.randint(0, 255)}.{rng.randint(1, 254)}:9100",
                    "job": noun(rng),
                },
                "values": points,
            }
        )
    body = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    return payload(
        "json metrics",
        compact(body),
        [str(each["metric"]["__name__"]) for each in series],
        [str(each["metric"]["instance"]) for each in series],
    )


def events_ndjson(rng: random.Random) -> Payload:
    """Structured log lines as NDJSON."""
    lines, alarms, deep = [], [], []
    for at in range(420):
        failed = at in (61, 202, 203, 377)
        message = f"{sentence(rng)[:-1]} code=E{rng.randint(10**5, 10**6)}" if failed else sentence(rng)
        request = ident(rng, 16)
        lines.append(
            compact(
                {
                    "ts": stamp(rng, at * 7),
                    "level": "error" if failed else rng.choice(["info", "debug"]),
                    "logger": noun(rng),
                    "msg": message,
                    "request_id": request,
                    "duration_ms": rng.randint(1, 900),
                }
            )
        )
        (alarms if failed else deep).append(message if failed else request)
    return payload("ndjson", "\n".join(lines) + "\n", alarms, deep)


def openapi(rng: random.Random) -> Payload:
    """An OpenAPI document."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    summaries, details = [], []
    for at in range(48):
        name = f"{noun(rng)}s{at}"
        summary, detail = f"{title(rng)} {at}", sentence(rng)
        summaries.append(summary)
        details.append(detail)
        paths[f"/v2/{name}/{{id}}"] = {
            rng.choice(["get", "post", "delete"]): {
                "operationId": camel(rng) + str(at),
                "summary": summary,
                "description": detail,
                "tags": [rng.choice(["billing", "fleet", "identity"])],
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {
                        "name": snake(rng),
                        "in": "query",
                        "description": sentence(rng),
                        "schema": {"type": "integer", "default": rng.randint(1, 500)},
                    },
                ],
                "responses": {
                    "200": {
                        "description": "OK",
                        "content": {
                            "application/json": {"schema": {"$ref": f"#/components/schemas/{name.capitalize()}"}}
                        },
                    },
                    "429": {"description": sentence(rng)},
                },
            }
        }
        schemas[name.capitalize()] = {
            "type": "object",
            "required": ["id"],
            "properties": {
                snake(rng): {"type": rng.choice(["string", "number"]), "description": sentence(rng)} for _ in range(4)
            },
        }
    body = {
        "openapi": "3.1.0",
        "info": {"title": "Fleet API", "version": "4.11.2"},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    return payload("openapi", json.dumps(body, indent=2), summaries, details)


def workflow_runs(rng: random.Random) -> Payload:
    """Runs with jobs and steps: arrays within arrays."""
    runs, failing, deep = [], [], []
    for at in range(24):
        jobs = []
        for job in range(3):
            broken = (at, job) in {(4, 1), (17, 2)}
            step = f"{title(rng)} step"
            jobs.append(
                {
                    "id": rng.randint(10**9, 10**10),
                    "name": f"{noun(rng)}-{rng.choice(ADJECTIVES)}-{at}{job}",
                    "conclusion": "failure" if broken else "success",
                    "runner": f"runner-{ident(rng, 6)}",
                    "steps": [
                        {
                            "number": n,
                            "name": step if n == 3 else noun(rng),
                            "conclusion": "failure" if broken and n == 3 else "success",
                            "completed_at": stamp(rng, at * 999 + n),
                        }
                        for n in range(6)
                    ],
                }
            )
            deep.append(str(jobs[-1]["runner"]))
            if broken:
                failing.append(step)
        runs.append(
            {
                "id": 77_000_000 + at * 131,
                "display_title": f"{title(rng)} #{at}",
                "head_sha": ident(rng, 40),
                "jobs": jobs,
            }
        )
    return payload(
        "json runs",
        compact({"total_count": 24, "workflow_runs": runs}),
        [*failing, *(str(run["display_title"]) for run in runs)],
        deep,
    )
