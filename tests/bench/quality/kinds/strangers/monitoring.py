"""What watches systems: an error with its frames, a trace, logs and series of an API, readings, a dashboard."""

from __future__ import annotations

import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import code, ident, noun, sentence, snake, stamp, title, uuid


def sentry(rng: random.Random) -> Payload:
    """An event: the exception, its frames with their surroundings, what happened before, the request."""
    frames = [
        {
            "filename": f"app/services/{snake(rng)}_{at}.py",
            "absPath": f"/srv/app/x_{at}.py",
            "module": f"app.services.m{at}",
            "function": snake(rng),
            "lineNo": rng.randint(10, 900),
            "colNo": None,
            "inApp": at % 3 == 0,
            "context": [[line, f"    {snake(rng)}({noun(rng)}, {line})"] for line in range(40, 47)],
            "vars": {"self": f"<Service object at 0x7f{ident(rng, 10)}>", "payload": {"id": code(rng, 16)}},
        }
        for at in range(40)
    ]
    crumbs = [
        {
            "type": "default",
            "timestamp": stamp(rng, at * 7),
            "level": "info",
            "message": sentence(rng),
            "category": rng.choice(["query", "http", "redis"]),
            "data": None,
            "event_id": None,
        }
        for at in range(50)
    ]
    error = 'duplicate key value violates unique constraint "uq_ledger_entry_ref"'
    exception = {
        "type": "IntegrityError",
        "value": error,
        "mechanism": {"type": "celery", "handled": False},
        "stacktrace": {"frames": frames},
    }
    request = {
        "method": "POST",
        "url": "https://pay.example.org/v2/ledger/settle",
        "headers": [["User-Agent", "okhttp/4.9"], ["X-Request-Id", code(rng, 22)]],
    }
    event = {
        "id": ident(rng, 32),
        "groupID": "4419",
        "size": 88_122,
        "entries": [
            {"type": "exception", "data": {"values": [exception]}},
            {"type": "breadcrumbs", "data": {"values": crumbs}},
            {"type": "request", "data": request},
        ],
        "tags": [{"key": "release", "value": "pay@41.7.2"}, {"key": "environment", "value": "production"}],
        "user": {"id": "55102", "email": "k.lindholm@example.com"},
        "culprit": "app.services.settle in post_entry",
        "title": "IntegrityError: settle failed",
        "dateCreated": stamp(rng, 400),
    }
    text = indented(event)
    salient = [
        "duplicate key value violates unique constraint",
        "IntegrityError: settle failed",
        request["url"],
        "pay@41.7.2",
    ]
    files = [str(each["filename"]) for each in frames if each["inApp"]]
    return payload(
        "error event",
        text,
        leading(text, [str(each) for each in salient], files),
        [str(each["message"]) for each in crumbs],
    )


def jaeger(rng: random.Random) -> Payload:
    """The spans of a trace, one of them slow and failed."""
    spans: list[dict[str, Any]] = [
        {
            "traceID": "ab12",
            "spanID": ident(rng, 16),
            "operationName": f"{rng.choice(['GET', 'SELECT', 'publish', 'render'])} {noun(rng)}{at:03d}",
            "references": [{"refType": "CHILD_OF", "traceID": "ab12", "spanID": ident(rng, 16)}],
            "startTime": 1_764_500_000_000_000 + at * 913,
            "duration": rng.randint(100, 9000),
            "tags": [
                {"key": "span.kind", "type": "string", "value": "client"},
                {"key": "http.status_code", "type": "int64", "value": 200},
            ],
            "logs": [],
            "processID": f"p{at % 4}",
            "warnings": None,
        }
        for at in range(100)
    ]
    error = "upstream connect timeout to settle.svc:9443"
    slow = spans[70]
    slow["duration"] = 8_412_777
    slow["tags"] += [
        {"key": "error", "type": "bool", "value": True},
        {"key": "error.message", "type": "string", "value": error},
    ]
    names = ("edge", "cart", "settle", "mail")
    processes = {f"p{at}": {"serviceName": name, "tags": []} for at, name in enumerate(names)}
    text = compact({"data": [{"traceID": "ab12", "spans": spans, "processes": processes}], "total": 0})
    operations = [str(each["operationName"]) for each in spans]
    must = [error, "8412777", str(slow["operationName"])]
    return payload("trace", text, leading(text, must, operations), [each["spanID"] for each in spans])


def datadog(rng: random.Random) -> Payload:
    """A search in logs: one error among information."""
    found: list[dict[str, Any]] = [
        {
            "id": f"AQ{code(rng, 20)}",
            "type": "log",
            "attributes": {
                "timestamp": stamp(rng, at * 3),
                "status": "info",
                "service": rng.choice(["cart", "pay"]),
                "host": f"i-{ident(rng, 8)}",
                "message": title(rng),
                "tags": ["env:prod", "team:x"],
                "attributes": {
                    "http": {"status_code": 200, "url_details": {"path": f"/v1/{noun(rng)}/{code(rng, 6)}"}},
                    "duration": rng.randint(10**6, 10**9),
                },
            },
        }
        for at in range(130)
    ]
    alarm = "Stripe webhook signature verification failed for acct_1Kx"
    found[99]["attributes"] |= {"status": "error", "message": alarm}
    text = compact({"data": found, "meta": {"page": {"after": code(rng, 30)}}})
    deep = [each["attributes"]["attributes"]["http"]["url_details"]["path"] for each in found]
    return payload("log search", text, [alarm], deep)


def prometheus(rng: random.Random) -> Payload:
    """A range of a few series; one point is a hundred times the others."""
    routes = ("/login", "/cart", "/pay", "/search", "/me", "/export", "/hooks", "/img", "/ws", "/admin", "/docs")
    series: list[dict[str, Any]] = [
        {
            "metric": {"__name__": "http_request_duration_seconds", "instance": f"10.0.{at}.7:9100", "route": route},
            "values": [[1_764_500_000 + 60 * step, f"{abs(rng.gauss(0.2, 0.05)):.6f}"] for step in range(80)],
        }
        for at, route in enumerate(routes)
    ]
    series[5]["values"][61][1] = "29.881277"
    text = compact({"status": "success", "data": {"resultType": "matrix", "result": series}})
    deep = [str(value) for each in series for _, value in each["values"]]
    return payload("range of series", text, leading(text, ["29.881277"], routes), deep)


def readings(rng: random.Random) -> Payload:
    """Rows of sensors where a field is null, but once."""
    rows: list[dict[str, Any]] = [
        {
            "sensor_id": f"sn-{at % 12}",
            "read_at": stamp(rng, at * 60),
            "temperature_c": round(21 + rng.gauss(0, 0.8), 2),
            "humidity_pct": round(44 + rng.gauss(0, 2), 1),
            "battery_mv": 3300 - at // 4,
            "error": None,
            "calibrated": True,
        }
        for at in range(420)
    ]
    rows[311] |= {"error": "CRC mismatch on frame 7", "temperature_c": 188.43}
    return payload(
        "readings",
        indented(rows),
        ["CRC mismatch on frame 7", "188.43"],
        [str(each["read_at"]) for each in rows],
    )


def grafana(rng: random.Random) -> Payload:
    """A dashboard: panels that differ in title and expression only."""
    panels: list[dict[str, Any]] = []
    for at in range(56):
        colour = {"color": {"mode": "palette-classic"}, "custom": {"axisBorderShow": False, "lineWidth": 1}}
        steps = [{"color": "green", "value": None}, {"color": "red", "value": 80}]
        panels.append(
            {
                "id": at,
                "type": "timeseries",
                "title": title(rng),
                "gridPos": {"h": 8, "w": 12, "x": 0, "y": at * 8},
                "datasource": {"type": "prometheus", "uid": code(rng)},
                "fieldConfig": {
                    "defaults": {**colour, "mappings": [], "thresholds": {"mode": "absolute", "steps": steps}},
                    "overrides": [],
                },
                "options": {"legend": {"calcs": [], "displayMode": "list"}},
                "targets": [{"expr": f"sum(rate({snake(rng)}_total[5m])) by (route)", "refId": "A"}],
            }
        )
    text = indented(
        {"annotations": {"list": []}, "editable": True, "title": "Edge overview", "uid": code(rng), "panels": panels}
    )
    return payload(
        "dashboard",
        text,
        leading(text, ["Edge overview"], [str(each["title"]) for each in panels]),
        [each["targets"][0]["expr"] for each in panels],
    )


def structured_log(rng: random.Random) -> Payload:
    """A log in JSON: three errors with stacks among eight hundred lines."""
    alarms = {
        122: "replica lag exceeded 900s on shard 14",
        410: "payload signature invalid for webhook whk_771",
        690: "lost leadership of partition settle-3",
    }
    lines, deep = [], []
    for at in range(760):
        deep.append(ident(rng, 32))
        event = {
            "ts": stamp(rng, at * 9),
            "level": "error" if at in alarms else rng.choice(["debug", "info", "info"]),
            "logger": rng.choice(["http", "pool", "auth", "jobs"]),
            "msg": alarms.get(at, title(rng)),
            "trace_id": deep[-1],
            "dur_ms": rng.randint(1, 900),
            "host": f"n{rng.randint(1, 9)}",
        }
        if at in alarms:
            event["stack"] = "at Settler.apply (settle.ts:88)\n at run (main.ts:4)"
        lines.append(compact(event))
    return payload("log in json", "\n".join(lines) + "\n", list(alarms.values()), deep)


def charges(rng: random.Random) -> Payload:
    """Payments with many nulls; one was declined."""
    made: list[dict[str, Any]] = [
        {
            "id": f"ch_3{code(rng, 22)}",
            "object": "charge",
            "amount": rng.randint(500, 90_000),
            "amount_refunded": 0,
            "application": None,
            "application_fee": None,
            "balance_transaction": f"txn_3{code(rng, 20)}",
            "billing_details": {
                "address": {"city": None, "country": "KR", "line1": None, "line2": None, "state": None},
                "email": None,
                "phone": None,
            },
            "captured": True,
            "created": 1_764_500_000 - at * 971,
            "currency": "krw",
            "customer": f"cus_{code(rng, 12)}",
            "description": title(rng),
            "disputed": False,
            "failure_code": None,
            "failure_message": None,
            "metadata": {},
            "outcome": {
                "network_status": "approved_by_network",
                "risk_score": rng.randint(1, 60),
                "type": "authorized",
            },
            "paid": True,
            "payment_method_details": {
                "card": {"brand": "visa", "last4": str(rng.randint(1000, 9999))},
                "type": "card",
            },
            "receipt_url": f"https://pay.example.org/receipts/{uuid(rng)}",
            "refunds": None,
            "status": "succeeded",
        }
        for at in range(50)
    ]
    made[37] |= {
        "status": "failed",
        "paid": False,
        "failure_code": "expired_card",
        "failure_message": "Your card has expired.",
    }
    text = indented({"object": "list", "url": "/v1/charges", "has_more": True, "data": made})
    return payload(
        "charges",
        text,
        leading(text, ["expired_card", "Your card has expired."], [str(each["description"]) for each in made]),
        [str(each["customer"]) for each in made],
    )
