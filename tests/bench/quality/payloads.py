"""All payloads: a set that strategies are tuned on, one that is looked at afterwards, one by a stranger to them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.bench.quality.facts import Fact, Payload, hint
from tests.bench.quality.kinds import documents, infra, logs, records, reports, source, tables
from tests.bench.quality.kinds.strangers import (
    builds,
    clusters,
    code_files,
    databases,
    infrastructure,
    machines,
    manuals,
    monitoring,
    offices,
    packages,
    scripts,
    trackers,
    web,
    wrapped,
)

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
STRANGERS: tuple[Maker, ...] = (
    builds.gradle, builds.maven, builds.actions, builds.go_test, builds.cargo_test, builds.tap, builds.dots,
    builds.valgrind, builds.sarif, builds.eslint, builds.compiler, builds.trace_of_a_script,
    clusters.pods, clusters.events, clusters.values, clusters.compose_logs, clusters.instances,
    clusters.audit_trail,
    code_files.c_header, code_files.defines, code_files.shell, code_files.declarations, code_files.php,
    code_files.minified, code_files.blame, code_files.statistics, code_files.several_files,
    databases.explain, databases.python_print, databases.result_table, databases.dump, databases.documents,
    databases.columns_and_rows, databases.wide_csv, databases.survey, databases.repl,
    infrastructure.state, infrastructure.plan, infrastructure.playbook, infrastructure.buildkit,
    infrastructure.apt,
    machines.strace, machines.garbage, machines.threads, machines.mappings, machines.packets,
    machines.web_errors, machines.profile, machines.machine_code, machines.paths,
    manuals.manual_page, manuals.reference, manuals.latex, manuals.settings, manuals.paper, manuals.article,
    manuals.report, manuals.quotes,
    monitoring.sentry, monitoring.jaeger, monitoring.datadog, monitoring.prometheus, monitoring.readings,
    monitoring.grafana, monitoring.structured_log, monitoring.charges,
    offices.notion, offices.slack, offices.gmail, offices.confluence, offices.memories, offices.figma,
    offices.calendar,
    packages.installed, packages.package_log, packages.tree, packages.hashes, packages.certificates,
    packages.project, packages.media_types, packages.releases,
    scripts.minutes, scripts.korean_page, scripts.chinese_feed, scripts.japanese_feed,
    trackers.jira, trackers.linear, trackers.changed_files, trackers.commits,
    web.snapshot, web.console, web.requests, web.fetched_page, web.results, web.transcript, web.rss,
    wrapped.text_around_json, wrapped.string, wrapped.markdown_in_json, wrapped.file_in_base64,
    wrapped.folders, wrapped.strings, wrapped.introspection, wrapped.schema, wrapped.places,
)  # fmt: skip
SETS = {"tuned": TUNED, "held-out": HELD_OUT, "strangers": STRANGERS}
SEEDS = {"tuned": 11, "held-out": 7_919, "strangers": 4_242}


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
