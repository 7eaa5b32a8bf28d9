"""What a browser and the web give: snapshots, a console, requests, pages as Markdown, search results, transcripts, feeds."""

from __future__ import annotations

import base64
import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact
from tests.bench.quality.words import code, ident, noun, paragraph, sentence, snake, stamp, title


def snapshot(rng: random.Random) -> Payload:
    """What a page can be operated with, as a tree with references; a payment has failed."""
    page = "https://shop.example.com/outdoor"
    lines = [
        "### Ran Playwright code",
        "```js",
        f"await page.goto('{page}');",
        "```",
        "### Page",
        f"- Page URL: {page}",
        "- Page Title: Outdoor & Camping — Shop",
        "### Snapshot",
        "```yaml",
        "- generic [active] [ref=e1]:",
        "  - banner [ref=e2]:",
        '    - link "Skip to content" [ref=e3] [cursor=pointer]:',
        '      - /url: "#main"',
        '    - searchbox "Search products" [ref=e5]',
        '    - button "Cart (2)" [ref=e6] [cursor=pointer]',
        "  - main [ref=e9]:",
        '    - heading "Outdoor & Camping" [level=1] [ref=e10]',
        "    - alert [ref=e11]: Payment failed. Your card was declined (do_not_honor).",
    ]
    names, deep = [], []
    for at in range(90):
        ref = 12 + at * 7
        names.append(title(rng))
        deep.append(code(rng, 7).upper())
        stock = rng.choice(["In stock", "2 left", "Ships in 3 days"])
        lines += [
            f"    - article [ref=e{ref}]:",
            f'      - link "{names[-1]}" [ref=e{ref + 1}] [cursor=pointer]:',
            f"        - /url: /p/{deep[-1]}",
            f'        - img "Photo" [ref=e{ref + 2}]',
            f'      - heading "{names[-1][:9]}…" [level=3] [ref=e{ref + 3}]',
            f"      - generic [ref=e{ref + 4}]: €{rng.randint(5, 400)}.{rng.randint(10, 99)}",
            f"      - generic [ref=e{ref + 5}]: {stock}",
            f'      - button "Add to cart" [ref=e{ref + 6}] [cursor=pointer]',
        ]
    lines += [
        "  - contentinfo [ref=e9001]:",
        '    - link "Imprint" [ref=e9002] [cursor=pointer]:',
        "      - /url: /imprint",
        '    - textbox "Newsletter e-mail" [ref=e9003]',
        '    - button "Subscribe to newsletter" [ref=e9004] [cursor=pointer]',
        "```",
    ]
    must = [
        f"- Page URL: {page}",
        "Payment failed. Your card was declined (do_not_honor).",
        'searchbox "Search products" [ref=e5]',
        'button "Subscribe to newsletter" [ref=e9004]',
    ]
    text = "\n".join(lines)
    return payload("page snapshot", text, leading(text, must, names), deep)


def console(rng: random.Random) -> Payload:
    """Messages of a page: three errors."""
    errors = {
        91: "[ERROR] Uncaught TypeError: Cannot read properties of undefined (reading 'priceMap') @ app.4411.js:2",
        92: "[ERROR] Failed to load resource: the server responded with a status of 403 () @ /v1/basket:0",
        200: "[ERROR] Refused to connect to 'wss://live.example.com' because it violates the Content Security Policy",
    }
    head = "Total messages: 240 (Errors: 3, Warnings: 0)"
    lines, deep = ["### Result", head, ""], []
    for at in range(240):
        site = "https://shop.example.com"
        line = rng.choice(
            [
                f"[LOG] {sentence(rng)} @ {site}/static/vendor.{ident(rng, 6)}.js:{rng.randint(1, 99)}",
                f"[GET] {site}/img/{code(rng, 10)}.webp => [200] OK",
                f"[INFO] hydrate component {snake(rng)}_{at} in {rng.randint(1, 99)}ms",
            ]
        )
        lines.append(errors.get(at, line))
        if at not in errors:
            deep.append(line)
    return payload("browser console", "\n".join(lines), [head, *errors.values()], deep)


def requests(rng: random.Random) -> Payload:
    """HTTP archive: one request failed."""
    entries: list[dict[str, Any]] = []
    for at in range(80):
        request = {
            "method": "GET",
            "url": f"https://app.example.com/api/{noun(rng)}/{code(rng, 7)}",
            "httpVersion": "h2",
            "headers": [{"name": "accept", "value": "*/*"}, {"name": "cookie", "value": code(rng, 60)}],
            "queryString": [],
            "headersSize": -1,
            "bodySize": 0,
        }
        content = {"size": 120, "mimeType": "application/json", "text": compact({"ok": True, "v": code(rng, 12)})}
        response = {
            "status": 200,
            "statusText": "OK",
            "httpVersion": "h2",
            "headers": [{"name": "content-type", "value": "application/json"}],
            "content": content,
            "redirectURL": "",
        }
        timings = {"send": 0, "wait": rng.randint(1, 90), "receive": 1}
        entries.append(
            {
                "startedDateTime": stamp(rng, at),
                "time": rng.randint(5, 900),
                "request": request,
                "response": response,
                "cache": {},
                "timings": timings,
            }
        )
    failed = entries[58]
    failed["response"] |= {"status": 503, "statusText": "Service Unavailable"}
    failed["response"]["content"]["text"] = '{"error":"pool exhausted"}'
    text = compact({"log": {"version": "1.2", "creator": {"name": "DevTools"}, "entries": entries}})
    must = ["Service Unavailable", "pool exhausted", failed["request"]["url"]]
    return payload("http archive", text, must, [each["request"]["headers"][1]["value"][:40] for each in entries])


def fetched_page(rng: random.Random) -> Payload:
    """A page of documentation as Markdown, more navigation than text."""
    links = [f"* [{title(rng)[:28]}](https://docs.example.dev/{snake(rng)}/{noun(rng)}) " for _ in range(130)]
    main, parts, heads, deep = "# Rotating signing keys without downtime", [], [], []
    for at in range(11):
        heads.append(title(rng))
        first = paragraph(rng, 4)
        deep += [first[-80:], f"acmectl {snake(rng)} --retries {at}"]
        parts += [
            f'{"#" * rng.choice([2, 2, 3])} {heads[-1]}[](#s{at} "Permalink")',
            first,
            f"```bash\n{deep[-1]}\n```",
            f"> **Note** {sentence(rng)}",
            paragraph(rng, 3),
        ]
    logo = base64.b64encode(rng.randbytes(2400)).decode()
    text = "\n\n".join(
        [
            "Contents of https://docs.example.dev/guide/rotate:\n[Skip to main content](#main)",
            f"![logo](data:image/png;base64,{logo})",
            "\n".join(links),
            main,
            "Last updated 3 November 2026",
            *parts,
            "Was this page helpful?",
            "\n".join(links[:70]),
            "© 2026 Example",
        ]
    )
    return payload("fetched page", text, leading(text, [main], heads), deep)


def results(rng: random.Random) -> Payload:
    """Results of a search as lines of text."""
    parts, salient, deep = [], [], []
    for at in range(60):
        salient.append(f"{title(rng)} {at}")
        said = paragraph(rng, 3)
        deep.append(said[-70:])
        address = f"https://{noun(rng)}.example/{snake(rng)}/{at}"
        parts.append(f"Title: {salient[-1]}\nURL: {address}\nDescription: {said}\nAge: {rng.randint(1, 9)} months ago")
    return payload("search results", "\n\n".join(parts), salient, deep)


def transcript(rng: random.Random) -> Payload:
    """A talk in captions; the cause is said once, in passing."""
    name = "Title: Why our queue fell over on Black Friday (talk)"
    cause = "so the actual root cause was the retry storm from the mobile client version 8.2"
    lines, deep, second = [name, "Channel: SRE Sessions · 48 min", ""], [], 0
    for at in range(540):
        second += rng.randint(2, 6)
        said = sentence(rng).lower().rstrip(".")
        deep.append(said)
        lines.append(f"[{second // 60:02d}:{second % 60:02d}] {f'{said} {cause}' if at == 340 else said}")
    return payload("transcript", "\n".join(lines), [name, cause], deep)


def rss(rng: random.Random) -> Payload:
    """A feed in one line."""
    items, salient, deep = [], [], []
    for at in range(80):
        salient.append(title(rng))
        deep.append(ident(rng, 16))
        items.append(
            f"<item><title>{salient[-1]}</title><link>https://radar.example/{noun(rng)}/{at}</link>"
            f'<guid isPermaLink="false">{deep[-1]}</guid><pubDate>{stamp(rng, at * 9000)}</pubDate>'
            f"<description><![CDATA[<p>{paragraph(rng, 3)}</p>]]></description></item>"
        )
    head = '<?xml version="1.0"?><rss version="2.0"><channel><title>Release radar</title>'
    text = f"{head}{''.join(items)}</channel></rss>"
    return payload("feed", text, leading(text, ["Release radar"], salient), deep)
