"""Long texts to look things up in: manuals, a commented configuration, a paper, articles, a report from a PDF, mail."""

from __future__ import annotations

import random
import textwrap

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.words import code, noun, paragraph, pascal, person, sentence, snake, stamp, title


def manual_page(rng: random.Random) -> Payload:
    """`man`: options hang over their indented descriptions, both edges are straight."""
    lines = [
        "SETTLE(1)                        Settle Manual                        SETTLE(1)",
        "",
        "NAME",
        "       settle - moves balances",
        "",
        "SYNOPSIS",
        "       settle [options] [account...]",
        "",
    ]
    salient: list[str] = []
    deep: list[str] = []
    for section in ("DESCRIPTION", "OPTIONS", "FILES", "ENVIRONMENT"):
        lines += [section, *_justified(rng, paragraph(rng, 3), 7, deep), ""]
        if section != "OPTIONS":
            continue
        for at in range(70):
            short = f"-{rng.choice('abcdefghk')}, " if at % 3 else ""
            salient.append(f"{short}--{snake(rng).replace('_', '-')} <{noun(rng)}>")
            lines += [f"       {salient[-1]}", *_justified(rng, paragraph(rng, 3), 14, deep), ""]
            if at % 6 == 2:
                lines += [
                    "              Example:",
                    f"               settle --{noun(rng)} {rng.randint(10, 9999)} https://example.org",
                    "",
                ]
    lines += [
        "EXIT STATUS",
        "       78     The ledger was written by a newer release.",
        "",
        "settle 4.1                        2026-11-30                        SETTLE(1)",
    ]
    text = "\n".join(lines) + "\n"
    return payload("manual page", text, leading(text, ["settle [options] [account...]"], salient), deep)


def _justified(rng: random.Random, text: str, indent: int, seen: list[str]) -> list[str]:
    """Lines with blanks spread among their words, as a formatter of manuals does it; the second of them is noted."""
    lines = textwrap.wrap(text, 78 - indent)
    for at, line in enumerate(lines[:-1]):
        words = line.split(" ")
        for _ in range(78 - indent - len(line)):
            words[rng.randrange(len(words) - 1)] += " "
        lines[at] = " ".join(words)
    seen += lines[1:2]
    return [" " * indent + line for line in lines]


def reference(rng: random.Random) -> Payload:
    """A manual in reStructuredText with directives."""
    lines, salient, deep = [".. highlight:: none", "", "acme-expressions(7)", "*******************", ""], [], []
    for at in range(60):
        if at % 10 == 0:
            head = title(rng)
            lines += [head, "=" * len(head), "", paragraph(rng, 2), ""]
        salient.append(f"$<{snake(rng).upper()}_{at}:{noun(rng)},...>")
        deep.append(sentence(rng))
        lines += [
            f".. expression:: {salient[-1]}",
            "",
            f"  .. versionadded:: 3.{at}",
            "",
            f"  {sentence(rng)}",
            f"  {deep[-1]} See :prop:`{snake(rng)}`.",
            "",
        ]
        if at % 4 == 1:
            lines += [
                "  .. code-block:: acme",
                "",
                f"    set_property({noun(rng)} PROPERTY {snake(rng).upper()} ON)",
                "",
            ]
    return payload("reference in rst", "\n".join(lines), salient, deep)


def latex(rng: random.Random) -> Payload:
    lines, salient, deep = ["\\documentclass{manual}", "\\begin{document}", ""], [], []
    for at in range(46):
        if at % 8 == 0:
            salient.append(f"\\section{{{title(rng)}}}")
            lines += [salient[-1], "", paragraph(rng, 2), ""]
        salient.append(
            f"\\begin{{methoddesc}}[{pascal(rng)}]{{{snake(rng)}_{at}}}{{{noun(rng)}\\optional{{, {noun(rng)}}}}}"
        )
        deep.append(sentence(rng))
        lines += [
            salient[-1],
            sentence(rng),
            f"{deep[-1]} See \\method{{{snake(rng)}()}}.",
            f"% {sentence(rng)}",
            "\\end{methoddesc}",
            "",
        ]
    return payload("latex", "\n".join([*lines, "\\end{document}", ""]), salient, deep)


def settings(rng: random.Random) -> Payload:
    """A file of settings of which nine tenths are remarks; one remark is a warning."""
    lines, salient, deep = [], [], []
    for at in range(150):
        deep.append(sentence(rng))
        salient.append(f"{noun(rng)}.{snake(rng)} = {rng.randint(1, 9999)}")
        if at == 100:
            lines.append("# DANGER: do not enable in production, see INC-2291")
        lines += [f"# {deep[-1]}", f"# Default: {at}", salient[-1], ""]
    text = "\n".join(lines)
    return payload(
        "commented settings", text, leading(text, ["DANGER: do not enable in production, see INC-2291"], salient), deep
    )


def paper(rng: random.Random) -> Payload:
    name = "Backpressure Without Tears: Credit Flow in Actor Gateways"
    end = "We conclude that credit windows of 32 messages lose less than 0.4% throughput."
    lines, heads, deep = (
        [
            "arXiv:2611.04112v2 [cs.DC]",
            "",
            name,
            "",
            f"{person(rng)}, {person(rng)}",
            "",
            "Abstract",
            paragraph(rng, 6),
            "",
        ],
        [],
        [],
    )
    for at in range(1, 9):
        heads.append(f"{at} {title(rng)}")
        lines += [heads[-1], ""]
        for below in range(1, 4):
            heads.append(f"{at}.{below} {title(rng)}")
            body = paragraph(rng, 6)
            deep.append(body[-90:])
            lines += [
                heads[-1],
                body,
                "",
                f"{paragraph(rng, 5)} [{rng.randint(1, 40)}]",
                "",
                f"Table {at}{below}: {sentence(rng)}",
                "",
            ]
    lines += [
        end,
        "",
        "References",
        *(f"[{at}] {person(rng)}. {title(rng)}. In Proc. {noun(rng).upper()} {2000 + at % 26}." for at in range(1, 60)),
    ]
    text = "\n".join(lines)
    return payload("paper", text, leading(text, [name, end], heads), deep)


def article(rng: random.Random) -> Payload:
    """An article of an encyclopedia, as its API extracts it."""
    first = "The Danube (/ˈdænjuːb/) is the second-longest river in Europe."
    lines, heads, deep = [f"{first} {paragraph(rng, 3)}", ""], [], []
    for at in range(26):
        marks = "===" if at % 3 == 1 else "=="
        heads.append(title(rng))
        body = paragraph(rng, 6)
        deep.append(body[-80:])
        lines += ["", f"{marks} {heads[-1]} {marks}", body, paragraph(rng, 5)]
    text = "\n".join(lines)
    return payload("article", text, leading(text, [first], heads), deep)


def report(rng: random.Random) -> Payload:
    """The text of a PDF: heads of pages, lines cut at a width, figures."""
    weakness = "MATERIAL WEAKNESS: controls over revenue recognition were not effective."
    lines, heads, deep = [], [], []
    for page in range(1, 31):
        heads.append(f"{page}. {title(rng).upper()}")
        lines += [f"ACME CORP — ANNUAL REPORT 2026                         Page {page} of 30", "", heads[-1], ""]
        for _ in range(3):
            cut = textwrap.wrap(paragraph(rng, 4), 84)
            deep.append(cut[1])
            lines += [*cut, ""]
        if page == 19:
            lines += [weakness, ""]
        lines += [
            f"Revenue {rng.randint(100, 999)}.{rng.randint(0, 9)}m   EBITDA {rng.randint(10, 99)}.{rng.randint(0, 9)}m",
            "\f",
        ]
    text = "\n".join(lines)
    return payload("report from a pdf", text, leading(text, [weakness], heads), deep)


def quotes(rng: random.Random) -> Payload:
    """Mail that quotes mail that quotes mail; the decision is in the last but one."""
    decision = "Final decision: the price rises to EUR 49 on 1 February, existing customers keep EUR 39."
    lines, subjects, deep = [], [], []
    for at in range(26):
        subjects.append(f"Re: price change, round {at:02d}")
        deep.append(sentence(rng))
        lines += [
            f"From: {person(rng)} <{code(rng, 5).lower()}@example.org>",
            f"Date: {stamp(rng, at * 40_000)}",
            f"Subject: {subjects[-1]}",
            "",
            paragraph(rng, 3),
            "",
        ]
        if at == 24:
            lines += [decision, ""]
        lines += [
            f"> {deep[-1]}",
            *(f"> {sentence(rng)}" for _ in range(4)),
            *(f">> {sentence(rng)}" for _ in range(3)),
            "",
        ]
    text = "\n".join(lines)
    return payload("mail with quotes", text, leading(text, [decision], subjects), deep)
