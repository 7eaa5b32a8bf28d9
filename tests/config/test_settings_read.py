"""Every setting is read by something, or says that and why it has no effect."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.compressor.messages import Cleaning, HybridOptions, ProgressiveOptions, SelectiveOptions
from config.fields import Block, Field, fields_of
from config.schema import Settings

ROOT = Path(__file__).parents[2]
PACKAGES = ("bus", "actors", "gateway", "cli", "config")
COPIED = {
    "CleaningSettings": Cleaning,
    "HybridSettings": HybridOptions,
    "ProgressiveSettings": ProgressiveOptions,
    "SelectiveSettings": SelectiveOptions,
}
"""Blocks of which a call takes along the fields that a message has too (`gateway/shortening.py`)."""
LITERAL = {
    "config/policy.py": (
        "compression",
        "max_result_chars",
        "max_result_tokens",
        "retention_floor",
        "structured_content",
        "expose_in_profiles",
    ),
    "cli/discovery.py": ("origin",),
}
"""Keys of upstreams and tools that are looked up by their names, and where."""

MYPY = """\
[mypy]
packages = bus, actors, gateway, cli, config
check_untyped_defs = True
follow_imports = skip
[mypy-msgspec.*]
follow_imports = silent
[mypy-bus.*,actors.*,gateway.*,cli.*,config.*]
follow_imports = normal
"""
"""Foreign packages are left out, since they take most of the time; those of the standard library are part of mypy."""
_MISSING = re.compile(r'^(\S+?):.*"(\w+)"(?: of "[^"]*")? has no attribute "(\w+)"')


def blocks(kind: type[Block] = Settings) -> Iterator[type[Block]]:
    """All blocks, each once."""
    found = {kind: None}
    for block in (kind, *(b for f in fields_of(kind).values() for b in (f.block, f.entries) if b)):
        if block not in found:
            found.update(dict.fromkeys(blocks(block)))
    return iter(found)


def settings_of(block: type[Block]) -> Iterator[Field]:
    """The keys that hold no block; `stated` is a note of the reader's, no key."""
    return (f for f in fields_of(block).values() if not f.block and not f.entries and f.name != "stated")


def without_settings(source: str, gone: dict[str, set[str]]) -> str:
    """A schema module in which every block has lost its settings, subclasses theirs by inheritance."""
    lines = source.split("\n")
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name in gone:
            settings = (part for part in node.body if isinstance(part, ast.AnnAssign))
            for part in settings:
                assert isinstance(part.target, ast.Name) and part.end_lineno is not None
                if part.target.id in gone[node.name]:
                    lines[part.lineno - 1 : part.end_lineno] = [""] * (part.end_lineno - part.lineno + 1)
    return "\n".join(lines)


def read_by_attribute(folder: Path) -> set[tuple[str, str]]:
    """(block, key) of each setting that some code reads: what mypy misses in a copy of the code without settings."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "mypy.ini").write_text(MYPY)
    gone: dict[str, set[str]] = {}
    for block in blocks():
        for ancestor in block.__mro__:
            gone.setdefault(ancestor.__name__, set()).update(f.name for f in settings_of(block))
    for module in (folder / "config").glob("schema*.py"):
        module.write_text(without_settings(module.read_text(), gone))
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "--no-error-summary"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    matches = [match for match in map(_MISSING.match, told.stdout.splitlines()) if match]
    assert matches, told.stdout[-2000:] + told.stderr[-2000:]
    return {(match[2], match[3]) for match in matches if not match[1].startswith("config/schema")}


def read_by_name() -> set[tuple[str, str]]:
    found = {(block, key) for block, message in COPIED.items() for key in message.__struct_fields__}
    for file, keys in LITERAL.items():
        source = (ROOT / file).read_text()
        found |= {
            (block, key) for block in ("UpstreamSettings", "ToolSettings") for key in keys if f'"{key}"' in source
        }
    return found


@pytest.mark.slow
def test_every_setting_is_read_or_says_why_not(tmp_path: Path) -> None:
    read = read_by_attribute(tmp_path) | read_by_name()
    unread = [
        f"{block.__name__}.{field.name}"
        for block in blocks()
        for field in settings_of(block)
        if field.effect and (block.__name__, field.name) not in read
    ]
    assert unread == [], "read them, or declare them with effect=False and the reason as text"
    wrong = [
        f"{block.__name__}.{field.name}"
        for block in blocks()
        for field in settings_of(block)
        if not field.effect and (block.__name__, field.name) in read
    ]
    assert wrong == [], "something reads them, so they have an effect"


def test_what_has_no_effect_gives_a_reason() -> None:
    """A sentence, not the name of the thing again."""
    reasons = {f.name: f.text for block in blocks() for f in settings_of(block) if not f.effect}
    assert reasons
    assert {key: why for key, why in reasons.items() if len(why.split()) < 2 or not why.endswith(".")} == {}
