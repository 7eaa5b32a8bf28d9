"""Other scripts: minutes and a page in Korean, feeds in Chinese and Japanese."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import HANGUL, HANZI, KANJI, chinese, ident, japanese, korean, noun, stamp


def minutes(rng: random.Random) -> Payload:
    """Meetings in Korean: who was there, what was said, what was decided."""
    lines, salient, deep = [], [], []
    for at in range(64):
        salient.append(
            f"{at + 1}차 주간 회의 — {rng.choice(HANGUL)} {rng.choice(HANGUL)} ({rng.randint(1, 12)}월 {rng.randint(1, 28)}일)"
        )
        there = ", ".join(rng.sample(["김민준", "이서연", "박도윤", "최지우", "정하은"], 3))
        said = [korean(rng) for _ in range(7)]
        deep.append(said[4])
        lines += [
            f"## {salient[-1]}",
            "",
            f"참석: {there}",
            "",
            *(f"- {each}" for each in said),
            "",
            f"**결정:** {korean(rng)}",
            "",
        ]
    return payload("minutes in korean", "\n".join(lines), salient, deep)


def korean_page(rng: random.Random) -> Payload:
    """A book as a page of HTML."""
    parts = [
        '<!DOCTYPE HTML>\n<html lang="ko" class="light"><head><meta charset="UTF-8"><title>안내서</title><style>body{margin:0}</style></head><body><nav class="sidebar">'
    ]
    parts += [
        f'<li class="chapter-item"><a href="{noun(rng)}-{at}.html">{rng.choice(HANGUL)}</a></li>' for at in range(60)
    ]
    parts.append("</nav><main>\n")
    salient, deep = [], []
    for at in range(64):
        salient.append(f"{rng.choice(HANGUL)} {rng.choice(HANGUL)} 다루기 {at + 1}")
        deep.append(korean(rng))
        parts.append(
            f'<h2 id="s{at}"><a class="header" href="#s{at}">{salient[-1]}</a></h2>\n<p>{korean(rng)} {korean(rng)}</p>\n'
            f'<pre><code class="language-rust">let {noun(rng)} = {rng.randint(1, 9999)};\n</code></pre>\n<p>{deep[-1]} {korean(rng)}</p>\n'
        )
    return payload("page in korean", f"{''.join(parts)}</main></body></html>\n", salient, deep)


def chinese_feed(rng: random.Random) -> Payload:
    """An old feed: a list of resources, then the items."""
    site = "http://blog.example.cn/archive"
    links = [f'    <rdf:li rdf:resource="{site}/{51_156 - at}.html"/>' for at in range(80)]
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">',
        f'<channel rdf:about="{site}">',
        f"  <title>{rng.choice(HANZI)}之家</title>",
        *links,
        "</channel>",
    ]
    salient, deep = [], []
    for at in range(80):
        salient.append(f"{rng.choice(HANZI)}{rng.choice(HANZI)}{rng.choice(HANZI)}第{at + 1}期")
        deep.append(chinese(rng))
        lines += [
            f'<item rdf:about="{site}/{51_156 - at}.html">',
            f"  <title>{salient[-1]}</title>",
            f"  <dc:date>{stamp(rng, at * 9000)}</dc:date>",
            "  <dc:creator>admin</dc:creator>",
            f"  <description>{chinese(rng)}{deep[-1]}{''.join(chinese(rng) for _ in range(4))}</description>",
            "</item>",
        ]
    return payload("feed in chinese", "\n".join([*lines, "</rdf:RDF>", ""]), salient, deep)


def japanese_feed(rng: random.Random) -> Payload:
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>\n<title>倉庫だより</title>\n<language>ja</language>\n'
    ]
    salient, deep = [], []
    for at in range(80):
        salient.append(f"{rng.choice(KANJI)}と{rng.choice(KANJI)}のお知らせ{at + 1}号")
        deep.append(japanese(rng))
        body = f"<p>{japanese(rng)}{deep[-1]}</p><p>{japanese(rng)}{japanese(rng)}</p>"
        parts.append(
            f"<item>\n<title>{salient[-1]}</title>\n<link>http://www.example.jp/{at}</link>\n<guid>{ident(rng, 16)}</guid>\n"
            f"<pubDate>{stamp(rng, at * 9000)}</pubDate>\n<description><![CDATA[{body}]]></description>\n</item>\n"
        )
    return payload("feed in japanese", f"{''.join(parts)}</channel></rss>\n", salient, deep)
