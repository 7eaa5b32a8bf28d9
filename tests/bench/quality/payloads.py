"""All payloads: one set that strategies are tuned on, another that is only looked at afterwards."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.bench.quality.facts import Fact, Payload, hint
from tests.bench.quality.kinds import documents, infra, logs, records, reports, source, tables

Maker = Callable[[random.Random], Payload]

TUNED: tuple[Maker, ...] = (
    records.flat_users, records.issues, records.tree, records.events_ndjson, records.openapi,
    logs.app, logs.access, logs.ci, logs.traces,
    reports.pytest_run, reports.git_diff, reports.history, reports.grep,
    source.python, source.typescript, source.go,
    tables.csv, tables.psql, tables.kubectl,
    documents.markdown, documents.html, documents.english, documents.hangul, documents.mail,
    infra.yaml, infra.terraform,
)  # fmt: skip
HELD_OUT: tuple[Maker, ...] = (
    records.paged_orders, records.search_hits, records.metrics, records.workflow_runs,
    logs.journal, logs.mixed_json,
    reports.jest_run, reports.junit_xml, reports.ripgrep, reports.lint, reports.tree,
    source.rust, source.c, source.java,
    tables.quoted_csv, tables.tsv, tables.mysql, tables.docker, tables.processes,
    documents.markdown_tables, documents.readme_api, documents.html_table, documents.wrapped, documents.nihongo,
    documents.mixed_languages, documents.chat, documents.notebook,
    infra.manifests, infra.toml, infra.describe, infra.build, infra.env_ini,
)  # fmt: skip
SETS = {"tuned": TUNED, "held-out": HELD_OUT}
SEEDS = {"tuned": 11, "held-out": 7_919}


def build(name: str, seed: int | None = None) -> list[Payload]:
    """The payloads of a set; another seed gives the same kinds with other contents."""
    seed = SEEDS[name] if seed is None else seed
    return [maker(random.Random(f"{seed}:{maker.__module__}.{maker.__name__}")) for maker in SETS[name]]


def load(directory: Path, shortest: int = 16_000) -> list[Payload]:
    """Payloads of a directory: `NAME.txt`, and `manifest.json` with `{NAME: {"kind", "needles": [{"cls", "text"}]}}`.

    Payloads up to `shortest` characters are left out: they are not shortened by default.
    """
    manifest = json.loads((directory / "manifest.json").read_text("utf-8"))
    found: list[Payload] = []
    for name, entry in manifest.items():
        text = (directory / f"{name}.txt").read_bytes().decode("utf-8")
        if len(text) > shortest:
            facts = (Fact(each["cls"], each["text"], hint(each["text"], text)) for each in entry["needles"])
            found.append(Payload(name, text, (), (), tuple(facts)))
    return found
