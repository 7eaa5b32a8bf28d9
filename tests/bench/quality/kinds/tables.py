"""CSV, TSV, ASCII and Markdown tables, results of SQL shells, the columns of kubectl and docker."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import ident, noun, person, sentence, snake, stamp


def csv(rng: random.Random) -> Payload:
    rows = [
        f"INV-{41_000 + at},{stamp(rng, at * 9000)[:10]},{person(rng)},{rng.choice(['north', 'south', 'west'])},{noun(rng)}-{rng.randint(10**4, 10**5)},{rng.randint(1, 90)},{rng.randint(100, 99999) / 100:.2f},{'fraud_review_hold' if at == 211 else rng.choice(['settled', 'open'])}"
        for at in range(460)
    ]
    return payload(
        "csv",
        "\n".join(["invoice,date,customer,region,product,qty,total,status", *rows]),
        ["fraud_review_hold", *(row.split(",")[0] for row in rows)],
        [row.split(",")[4] for row in rows],
    )


def quoted_csv(rng: random.Random) -> Payload:
    """With quoted fields, commas and line ends of Windows."""
    rows = [
        f'{at + 1},"{noun(rng).capitalize()}, {noun(rng)} {rng.randint(10**3, 10**4)}","{sentence(rng)}",{rng.randint(1, 5)},{rng.choice(["en", "ko"])}'
        for at in range(240)
    ]
    return payload(
        "csv quoted",
        "\r\n".join(["id,product,review,stars,lang", *rows]),
        [row.split('"')[1] for row in rows],
        [row.split('"')[3][-40:] for row in rows],
    )


def tsv(rng: random.Random) -> Payload:
    rows = [
        f"gene{at:05d}\tchr{rng.randint(1, 22)}\t{rng.randint(10**6, 10**8)}\t{rng.choice('+-')}\t{rng.random():.6f}\t{noun(rng)}-{ident(rng, 6)}"
        for at in range(420)
    ]
    return payload(
        "tsv",
        "\n".join(["gene\tchromosome\tstart\tstrand\tpvalue\tannotation", *rows]),
        [row.split("\t")[0] for row in rows],
        [row.split("\t")[5] for row in rows],
    )


def psql(rng: random.Random) -> Payload:
    rows = [
        f" {9000 + at:>6} | {person(rng):<20} | {rng.choice(['active', 'closed']):<8} | {rng.randint(100, 10**6):>9} | {stamp(rng, at * 8000)[:19]} | {snake(rng)}"
        for at in range(280)
    ]
    rows[133] = rows[133].replace("active  ", "frozen_x").replace("closed  ", "frozen_x")
    head = [
        "   id   |         name         |  state   |  balance  |       updated       | note",
        "--------+----------------------+----------+-----------+---------------------+------",
    ]
    return payload(
        "psql",
        "\n".join([*head, *rows, "(280 rows)", ""]),
        ["(280 rows)", "frozen_x", *(row.split("|")[0].strip() for row in rows[::30])],
        [row.split("|")[4].strip() for row in rows],
    )


def mysql(rng: random.Random) -> Payload:
    line = "+--------+----------------------+------------------+------------+"
    rows = [
        f"| {70_000 + at:>6} | {person(rng):<20} | {ident(rng, 16)} | {rng.randint(1, 10**6):>10} |"
        for at in range(240)
    ]
    return payload(
        "mysql",
        "\n".join(
            [
                line,
                "| id     | owner                | token            | bytes      |",
                line,
                *rows,
                line,
                f"240 rows in set (0.{rng.randint(10, 99)} sec)",
            ]
        ),
        ["240 rows in set", *(row.split("|")[1].strip() for row in rows[::40])],
        [row.split("|")[3].strip() for row in rows],
    )


def kubectl(rng: random.Random) -> Payload:
    lines, salient, deep = (
        ["NAMESPACE       NAME                                        READY   STATUS             RESTARTS       AGE"],
        [],
        [],
    )
    for at in range(190):
        bad = at in (37, 98, 151)
        name = f"{noun(rng)}-{noun(rng)}-{ident(rng, 9)}-{ident(rng, 5)}"
        (salient if bad else deep).append(name)
        status = (
            rng.choice(["CrashLoopBackOff", "ImagePullBackOff", "Pending"])
            if bad
            else rng.choice(["Running", "Running", "Completed"])
        )
        lines.append(
            f"{rng.choice(['billing', 'fleet', 'kube-system']):<15} {name:<43} {'0/1' if bad else '1/1':<7} {status:<18} {rng.randint(0, 40) if bad else 0:<14} {rng.randint(1, 90)}d"
        )
    return payload("kubectl", "\n".join(lines) + "\n", salient, deep)


def docker(rng: random.Random) -> Payload:
    lines, salient, deep = (
        [
            "CONTAINER ID   IMAGE                                  COMMAND                  CREATED        STATUS                      PORTS                    NAMES"
        ],
        [],
        [],
    )
    for at in range(130):
        bad = at in (20, 77, 111)
        name = f"{rng.choice(['brave', 'quiet', 'odd'])}_{noun(rng)}{at}"
        (salient if bad else deep).append(name if bad else ident(rng, 12))
        first = ident(rng, 12) if bad else deep[-1]
        lines.append(
            f'{first}   registry.example.org/{noun(rng)}:{rng.randint(1, 9)}.{rng.randint(0, 99)}   "/entrypoint.sh {noun(rng)}"   {rng.randint(2, 50)} hours ago   {f"Exited ({rng.randint(2, 200)}) 3 hours ago" if bad else f"Up {rng.randint(2, 50)} hours (healthy)"}   0.0.0.0:{rng.randint(2000, 60000)}->80/tcp   {name}'
        )
    return payload("docker ps", "\n".join(lines) + "\n", salient, deep)


def processes(rng: random.Random) -> Payload:
    lines, deep = ["USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND"], []
    for at in range(240):
        deep.append(f"/usr/lib/{noun(rng)}/{snake(rng)} --port={rng.randint(2000, 60000)}")
        lines.append(
            f"{rng.choice(['root', 'www-data', 'build']):<9} {300 + at * 7:>6} {'97.3' if at == 120 else f'{rng.random() * 2:4.1f}'} {rng.random() * 3:4.1f} {rng.randint(10**4, 10**6):>6} {rng.randint(10**3, 10**5):>5} ?        {'R' if at == 120 else 'S'}    09:{rng.randint(10, 59)}   0:{rng.randint(10, 59)} {deep[-1]}"
        )
    return payload("ps aux", "\n".join(lines) + "\n", [lines[0][:40].strip(), "97.3"], deep)
