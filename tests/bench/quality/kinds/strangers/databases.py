"""What databases answer with: a plan with times, rows as Python prints them, tables, a dump, documents, columns."""

from __future__ import annotations

import csv
import io
import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import code, ident, noun, paragraph, person, sentence, snake, stamp, title


def explain(rng: random.Random) -> Payload:
    """EXPLAIN ANALYZE: nearly all of the time goes into one scan."""
    lines, deep = ["QUERY PLAN".center(100).rstrip(), "-" * 100], []

    def node(depth: int, below: int) -> None:
        rows = rng.randint(1, 99_999)
        table = f"{rng.choice(['orders', 'lines', 'customers', 'stock'])}_p{rows % 97} t{rows}"
        scan = rng.choice(["Seq Scan on", f"Index Scan using ix_{code(rng, 6).lower()} on", "Bitmap Heap Scan on"])
        join = rng.choice(["Hash Join", "Nested Loop", "Merge Left Join", "Sort", "HashAggregate"])
        what = join if below else f"{scan} {table}"
        cost = f"cost={rng.random() * 900:.2f}..{rng.random() * 90_000:.2f} rows={rows} width={rng.randint(8, 300)}"
        took = f"actual time={rng.random() * 9:.3f}..{rng.random() * 900:.3f} rows={rng.randint(0, rows)} loops=1"
        lines.append(f"{' ' * (depth * 6)}->  {what}  ({cost}) ({took})")
        if not below:
            deep.append(f"{what}  ({cost})")
        detail = rng.choice(
            [
                f"Filter: ((status)::text = 's{rows}'::text)",
                f"Rows Removed by Filter: {rows}",
                f"Buffers: shared hit={rows} read={rows // 7}",
                f"Hash Cond: (a.id = b.ref_{rows})",
            ]
        )
        lines.append(" " * (depth * 6 + 6) + detail)
        for _ in range(2 if below else 0):
            node(depth + 1, below - 1)

    for _ in range(3):
        node(1, 5)
    slow = "Seq Scan on audit_trail  (cost=0.00..8812345.11 rows=98123455 width=44)"
    lines.insert(90, f"{' ' * 18}->  {slow} (actual time=0.100..48211.733 rows=98123455 loops=1)")
    lines += [
        "Planning Time: 14.882 ms",
        "JIT:",
        "  Functions: 211",
        "Execution Time: 51377.204 ms",
        f"({len(lines)} rows)",
    ]
    return payload(
        "explain analyze",
        "\n".join(lines) + "\n",
        ["Planning Time: 14.882 ms", "Execution Time: 51377.204 ms", slow],
        deep,
    )


def python_print(rng: random.Random) -> Payload:
    """Rows as a server in Python prints them; a price is negative."""
    rows = [
        {
            "track_id": at + 1,
            "name": title(rng),
            "composer": rng.choice([person(rng), None]),
            "milliseconds": rng.randint(90_000, 500_000),
            "bytes": rng.randint(10**6, 10**7),
            "unit_price": -19.99 if at == 204 else 0.99,
            "isrc": code(rng, 12).upper(),
        }
        for at in range(280)
    ]
    text = str(rows)
    names = [str(each["name"]) for each in rows]
    return payload("python print", text, leading(text, ["-19.99"], names), [str(each["isrc"]) for each in rows])


def result_table(rng: random.Random) -> Payload:
    """A result as a table of Markdown, and the line about it."""
    head = "| invoice | subject | account_manager | amount_eur | due | state | ref |"
    lines, subjects, deep = [head, "|---|---|---|---|---|---|---|"], [], []
    for at in range(400):
        subjects.append(title(rng))
        status = "CHARGEBACK" if at == 288 else rng.choice(["paid", "paid", "open"])
        deep.append(f"{noun(rng)}-{code(rng)}")
        amount, due = rng.randint(100, 99_999) / 100, stamp(rng, at * 8000)[:10]
        lines.append(f"| {9000 + at} | {subjects[-1]} | {person(rng)} | {amount:.2f} | {due} | {status} | {deep[-1]} |")
    last = "400 rows returned in 0.08 s (limit 1000)"
    text = "\n".join([*lines, "", last, ""])
    must = ["| invoice | subject | account_manager |", "CHARGEBACK", last]
    return payload("result table", text, leading(text, must, subjects), deep)


def dump(rng: random.Random) -> Payload:
    """`pg_dump`: definitions of tables between their rows."""
    lines, salient, deep = ["-- PostgreSQL database dump", "", "SET statement_timeout = 0;", ""], [], []
    for at in range(12):
        name = f"{noun(rng)}_{rng.choice(['ledger', 'audit', 'route', 'batch'])}_{at}"
        salient.append(f"CREATE TABLE public.{name} (")
        lines += [
            salient[-1],
            "    id bigint NOT NULL,",
            f"    {snake(rng)} character varying(64),",
            "    created_at timestamp with time zone DEFAULT now(),",
            f"    CONSTRAINT ck_{name} CHECK ((id > 0))",
            ");",
            "",
            f"COPY public.{name} (id, label, created_at) FROM stdin;",
        ]
        for row in range(50):
            deep.append(title(rng))
            lines.append(f"{row}\t{deep[-1]}\t{stamp(rng, row * 900)}")
        lines += ["\\.", ""]
    return payload("database dump", "\n".join(lines), salient, deep)


def documents(rng: random.Random) -> Payload:
    """Documents whose numbers and dates are objects; one account is frozen."""
    made: list[dict[str, Any]] = [
        {
            "_id": {"$oid": ident(rng, 24)},
            "profile": {
                "name": {"first": person(rng).split()[0], "last": code(rng, 6)},
                "email": f"{snake(rng)}@example.org",
            },
            "orders": [
                {
                    "sku": code(rng, 6),
                    "qty": {"$numberInt": str(rng.randint(1, 9))},
                    "at": {"$date": {"$numberLong": str(1_764_500_000 + at)}},
                }
                for _ in range(3)
            ],
            "balance": {"$numberDecimal": f"{rng.random() * 900:.2f}"},
            "status": "FROZEN_BY_COMPLIANCE" if at == 66 else "active",
        }
        for at in range(90)
    ]
    text = indented(made)
    mails = [each["profile"]["email"] for each in made]
    return payload(
        "extended json", text, leading(text, ["FROZEN_BY_COMPLIANCE"], mails), [each["_id"]["$oid"] for each in made]
    )


def columns_and_rows(rng: random.Random) -> Payload:
    """Names of columns once, then arrays."""
    columns = ["ticker", "company", "close", "change_pct"]
    rows: list[list[object]] = [
        [code(rng, 5).upper(), title(rng), round(rng.random() * 400, 2), round(rng.gauss(0, 1), 2)] for _ in range(420)
    ]
    rows.insert(365, ["ZZZQ", "Halted Holdings", 0.0, -97.31])
    text = compact({"columns": columns, "rows": rows})
    must = ["change_pct", "Halted Holdings", "-97.31"]
    names = [str(row[1]) for row in rows]
    return payload("columns and rows", text, leading(text, must, names), [str(row[0]) for row in rows])


def wide_csv(rng: random.Random) -> Payload:
    """Ninety columns of numbers."""
    names = [f"{noun(rng)}_{at:02d}" for at in range(90)]
    rows = [f"row-{at}-{code(rng, 5)}" for at in range(110)]
    lines = [",".join(names)]
    lines += [",".join([row, *(str(rng.randint(0, 9999)) for _ in names[1:])]) for row in rows]
    return payload("csv of 90 columns", "\n".join(lines) + "\n", names, rows)


def survey(rng: random.Random) -> Payload:
    """CSV with long free text."""
    into = io.StringIO()
    writer = csv.writer(into)
    writer.writerow(["response_id", "submitted", "nps", "plan", "country", "comment"])
    deep = []
    for at in range(210):
        name, said = f"R-{at}-{code(rng, 6)}", paragraph(rng, rng.randint(1, 3))
        deep.append(rng.choice([name, said[-50:]]))
        plan = rng.choice(["free", "pro"])
        where = rng.choice(["AT", "PT", "KR"])
        writer.writerow([name, stamp(rng, at * 900), rng.randint(0, 10), plan, where, said])
    return payload("csv with prose", into.getvalue(), ["response_id,submitted,nps,plan,country,comment"], deep)


def repl(rng: random.Random) -> Payload:
    """A conversation with an interpreter that ends in a traceback, but not quite."""
    lines, deep = [], []
    for at in range(250):
        deep.append(f"{snake(rng)}({at}, '{code(rng, 6)}')")
        lines += [f">>> {noun(rng)}_{at} = {deep[-1]}", f"{{'id': {at}, 'state': '{rng.choice(['open', 'held'])}'}}"]
    error = "decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]"
    frame = 'File "/srv/settle.py", line 88, in settle'
    lines += [
        ">>> settle(41)",
        "Traceback (most recent call last):",
        '  File "<stdin>", line 1, in <module>',
        f"  {frame}",
        error,
    ]
    lines += [f">>> print({noun(rng)}_{at})" for at in range(30)]
    return payload("interpreter", "\n".join(lines) + f"\n# {sentence(rng)}\n", [frame, error], deep)
