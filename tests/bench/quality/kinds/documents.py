"""Markdown, HTML, prose in several languages, letters, and documents that mix kinds."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import (
    HANGUL,
    KANJI,
    camel,
    clause,
    ident,
    japanese,
    korean,
    noun,
    paragraph,
    person,
    sentence,
    snake,
    stamp,
    title,
)


def markdown(rng: random.Random) -> Payload:
    parts, salient, deep = ["# Operations handbook", ""], [], []
    for at in range(44):
        salient.append(f"{title(rng)} {at}")
        deep.append(sentence(rng))
        parts += [
            f"{'##' if at % 4 == 0 else '###'} {salient[-1]}",
            "",
            paragraph(rng, 3),
            "",
            f"- {sentence(rng)}",
            f"- {deep[-1]}",
            f"- {sentence(rng)}",
            "",
        ]
        if at % 5 == 2:
            parts += ["```sh", f"acme {snake(rng)} --limit {rng.randint(10, 999)}", "```", ""]
    return payload("markdown", "\n".join(parts), salient, deep)


def markdown_tables(rng: random.Random) -> Payload:
    """Sections that are mostly big tables."""
    parts, salient, deep = ["# Capacity review", ""], [], []
    for at in range(9):
        salient.append(f"{title(rng)} {at}")
        parts += [
            f"## {salient[-1]}",
            "",
            sentence(rng),
            "",
            "| host | region | cpu | owner | remark |",
            "|---|---|---|---|---|",
        ]
        for _ in range(38):
            deep.append(f"{noun(rng)}-{ident(rng, 7)}")
            parts.append(
                f"| {deep[-1]} | {rng.choice(['eu', 'kr', 'us'])} | {rng.randint(1, 99)} % | {person(rng)} | {noun(rng)} |"
            )
        salient.append(f"Recommendation: {clause(rng)} by {rng.randint(10, 28)} December.")
        parts += ["", salient[-1], ""]
    return payload("markdown tables", "\n".join(parts), salient, deep)


def readme_api(rng: random.Random) -> Payload:
    """API documentation: a heading, a signature and fields for each call."""
    parts, salient, deep = ["# REST reference", ""], [], []
    for at in range(46):
        salient.append(f"{rng.choice(['GET', 'POST', 'DELETE'])} /v3/{noun(rng)}/{noun(rng)}{at}")
        deep.append(f"`{snake(rng)}` (integer, default {rng.randint(10, 10**5)}): {sentence(rng)}")
        parts += [
            f"## {salient[-1]}",
            "",
            sentence(rng),
            "",
            "Parameters:",
            "",
            f"- {deep[-1]}",
            f"- `{snake(rng)}` (string): {sentence(rng)}",
            "",
            "```json",
            f'{{"{snake(rng)}": {rng.randint(1, 999)}}}',
            "```",
            "",
        ]
    return payload("api docs", "\n".join(parts), salient, deep)


def html(rng: random.Random) -> Payload:
    parts, salient, deep = (
        [
            "<!DOCTYPE html><html><head><title>Support centre</title><style>.a{margin:0}</style><script>window.x=1;</script></head><body><nav>"
            + "".join(f"<a href='/n/{at}'>{noun(rng)}</a>" for at in range(40))
            + "</nav><main>"
        ],
        [],
        [],
    )
    for at in range(60):
        salient.append(f"{title(rng)} {at}")
        deep.append(sentence(rng))
        parts.append(
            f'<section class="card mt-{at % 6}" data-id="{ident(rng)}"><h2><a id="s{at}"></a>{salient[-1]}</h2><p class="lead">{paragraph(rng, 2)}</p><ul><li>{sentence(rng)}</li><li>{deep[-1]}</li></ul></section>'
        )
    return payload("html", "".join(parts) + "</main></body></html>", salient, deep)


def html_table(rng: random.Random) -> Payload:
    """A page that is mostly one table, as intranets have them."""
    rows, salient, deep = [], [], []
    for at in range(220):
        late = at in (31, 118, 190)
        deep.append(f"{noun(rng)} {rng.randint(10**4, 10**5)}")
        state = (
            f"Overdue since {rng.randint(1, 28)} May {rng.randint(10**3, 10**4)}"
            if late
            else rng.choice(["On time", "Delivered"])
        )
        if late:
            salient.append(state)
        rows.append(
            f"<tr class='r{at % 2}'><td>PO-{8000 + at}</td><td>{person(rng)}</td><td>{deep[-1]}</td><td>{state}</td></tr>"
        )
    return payload(
        "html table",
        "<html><body><h1>Purchase orders</h1><table><tr><th>Order</th><th>Buyer</th><th>Goods</th><th>State</th></tr>"
        + "\n".join(rows)
        + "</table></body></html>",
        salient,
        deep,
    )


def english(rng: random.Random) -> Payload:
    parts, salient, deep = [f"Annual review by {person(rng)}"], [], []
    for _ in range(46):
        first = sentence(rng)
        salient.append(first)
        body = [sentence(rng) for _ in range(5)]
        deep.append(body[3])
        parts.append(f"{first} {' '.join(body)}")
    return payload("english", "\n\n".join(parts), salient[:1] + salient[-1:], deep)


def wrapped(rng: random.Random) -> Payload:
    """Prose in hard-wrapped lines, with chapter titles in capitals."""
    parts, salient, deep = [], [], []
    for at in range(24):
        salient.append(f"CHAPTER {at + 1}. {title(rng).upper()}")
        parts += [salient[-1], ""]
        for _ in range(3):
            words = paragraph(rng, 4).split()
            for start in range(0, len(words), 11):
                parts.append(" ".join(words[start : start + 11]))
            deep.append(parts[-2])
            parts.append("")
    return payload("wrapped prose", "\n".join(parts), salient, deep)


def hangul(rng: random.Random) -> Payload:
    parts, salient, deep = [], [], []
    for at in range(60):
        salient.append(f"{rng.choice(HANGUL)} {rng.choice(HANGUL)} 점검 {at + 1}단계")
        deep.append(f"배포번호 {ident(rng, 8)}")
        parts.append(
            f"## {salient[-1]}\n\n" + " ".join(korean(rng) for _ in range(8)) + f"\n{deep[-1]} 기준으로 {korean(rng)}\n"
        )
    return payload("korean", "\n".join(parts), salient, deep)


def nihongo(rng: random.Random) -> Payload:
    parts, salient, deep = [], [], []
    for at in range(70):
        salient.append(f"第{at + 1}章 {rng.choice(KANJI)}と{rng.choice(KANJI)}の手順")
        deep.append(f"管理番号{rng.randint(10**5, 10**6)}")
        parts.append(
            f"# {salient[-1]}\n\n" + "".join(japanese(rng) for _ in range(9)) + f"\n{deep[-1]}の{japanese(rng)}\n"
        )
    return payload("japanese", "\n".join(parts), salient, deep)


def mixed_languages(rng: random.Random) -> Payload:
    parts, salient, deep = [], [], []
    for at in range(80):
        salient.append(f"{title(rng)} / {rng.choice(HANGUL)} {at}")
        deep.append(f"담당자 {person(rng)} {rng.randint(10**3, 10**4)}")
        parts.append(f"**{salient[-1]}** ✅\n{sentence(rng)} {korean(rng)} {japanese(rng)} {deep[-1]}. {korean(rng)}\n")
    return payload("mixed languages", "\n".join(parts), salient, deep)


def mail(rng: random.Random) -> Payload:
    parts, salient, deep = [], [], []
    subject = title(rng)
    for at in range(26):
        sender = person(rng)
        salient.append(f"Message-ID: <{ident(rng)}@mail.example.org>" if at == 0 else f"Decision {at}: {clause(rng)}.")
        deep.append(sentence(rng))
        parts += [
            f"From: {sender} <{sender.split()[0].lower()}{at}@example.org>",
            f"To: {noun(rng)}-team@example.org",
            f"Date: {stamp(rng, at * 40_000)}",
            f"Subject: {'Re: ' if at else ''}{subject}",
            "",
        ]
        parts += [
            salient[-1] if at == 0 else paragraph(rng, 2),
            "",
            deep[-1],
            *([salient[-1]] if at else []),
            "",
            *(f"> {sentence(rng)}" for _ in range(4)),
            "",
            "-- ",
            f"{sender}, {noun(rng)} department",
            "",
            "-" * 40,
        ]
    return payload("mail thread", "\n".join(parts), salient, deep)


def chat(rng: random.Random) -> Payload:
    """An exported channel: a name, a time, a line."""
    lines, salient, deep = [], [], []
    for at in range(330):
        deep.append(sentence(rng))
        lines.append(f"[{at // 60:02d}:{at % 60:02d}] {rng.choice(['ingrid', 'yuki', 'amara'])}: {deep[-1]}")
        if at in (60, 170, 290):
            salient.append(f"ACTION: {clause(rng)} until {rng.randint(10, 28)} May")
            lines.append(f"[{at // 60:02d}:{at % 60:02d}] tomas: {salient[-1]}")
    return payload("chat", "\n".join(lines), salient, deep)


def notebook(rng: random.Random) -> Payload:
    """Markdown, code and outputs in turn."""
    parts, salient, deep = ["# Churn analysis", ""], [], []
    for at in range(30):
        salient.append(f"Step {at + 1}: {title(rng)}")
        deep.append(f"{snake(rng)} = {camel(rng)}({rng.randint(10**3, 10**5)})")
        parts += [
            f"## {salient[-1]}",
            "",
            sentence(rng),
            "",
            "```python",
            f"import {noun(rng)}",
            deep[-1],
            *(f"{snake(rng)}({noun(rng)})" for _ in range(6)),
            "```",
            "",
            "```",
            *(f"{step}  {rng.random():.6f}  {rng.random():.6f}" for step in range(12)),
            "```",
            "",
        ]
    return payload("notebook", "\n".join(parts), salient, deep)
