"""Notes are plain Markdown: reading and writing them."""

from __future__ import annotations

import stat
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.surfacer.embedded.notes import LONGEST_CHUNK, chunks, front_matter, scan, write_note

NOTE = """---
title: "Auth"
namespace: code-notes
tags:
  - jwt
  - '#oauth'
---
Intro line.

# Tokens
Live 15 minutes.

```sh
# not a heading
```

## Refresh
Rotates.

# Empty
# Cookies
Lax.
"""


def test_headings_make_chunks() -> None:
    found = chunks("work/auth.md", NOTE)
    assert [(c.hierarchy, c.text.split("\n")[0]) for c in found] == [
        ("Auth", "Intro line."),
        ("Auth > Tokens", "Live 15 minutes."),
        ("Auth > Tokens > Refresh", "Rotates."),
        ("Auth > Cookies", "Lax."),
    ]
    assert "# not a heading" in found[1].text
    assert {(c.namespace, c.tags, c.source) for c in found} == {("code-notes", ("jwt", "oauth"), "work/auth.md")}


def test_a_note_of_headings_alone_is_found_by_them() -> None:
    (only,) = chunks("freeze.md", "# Deploys are frozen on Fridays\n## In winter\n\n")
    assert (only.hierarchy, only.text) == ("", "Deploys are frozen on Fridays\nIn winter")
    assert chunks("empty.md", "\n\n") == []


def test_ids_stay_when_a_text_changes_and_differ_between_places() -> None:
    before, after = chunks("a.md", NOTE), chunks("a.md", NOTE.replace("15 minutes", "10 minutes"))
    assert [c.id for c in before] == [c.id for c in after]
    elsewhere = chunks("b.md", NOTE)
    assert not {c.id for c in before} & {c.id for c in elsewhere}
    twice = chunks("c.md", "# A\none\n# A\ntwo\n")
    assert len({c.id for c in twice}) == 2


def test_front_matter_forms() -> None:
    fields, rest = front_matter("---\ntags: [a, 'b c']\nnamespace: x\nempty:\n---\nbody")
    assert fields == {"tags": ["a", "b c"], "namespace": ["x"], "empty": []}
    assert rest == "body"
    assert front_matter("--- no\nbody") == ({}, "--- no\nbody")


PIECES = [*"#ab `~-:\r한", "\n", "# ", "---\n", "```\n", "\n\n", "word " * 300]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_makes_bounded_chunks_with_ids_of_their_own(text: str) -> None:
    found = chunks("x.md", text)
    assert all(0 < len(c.text) <= LONGEST_CHUNK for c in found)
    assert len({c.id for c in found}) == len(found)


def test_long_sections_are_cut_at_paragraphs() -> None:
    found = chunks("x.md", "\n\n".join("word " * 100 for _ in range(20)))
    assert len(found) >= 5
    assert "".join(c.text.replace("\n", " ").replace(" ", "") for c in found) == "word" * 2000


def test_a_new_note_is_private_and_never_replaces_one(tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    first = write_note(
        folder, "Deploys stop on Friday.", title="Freeze: [prod]\n---", tags=["ops", " "], namespace="team"
    )
    second = write_note(folder, "Other text.", title="Freeze: [prod]\n---")
    assert first != second
    text = (folder / first).read_text()
    assert stat.S_IMODE((folder / first).stat().st_mode) == 0o600
    made = chunks(first, text)
    assert [(c.text, c.namespace, c.tags) for c in made] == [("Deploys stop on Friday.", "team", ("ops",))]
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_titles_in_any_script_make_file_names(tmp_path: Path) -> None:
    name = write_note(tmp_path, "내용", title="배포 절차 / 운영")
    assert name.endswith("배포-절차-운영.md")
    assert write_note(tmp_path, "!!!", title="../../etc/passwd").endswith("etc-passwd.md")
    assert len(write_note(tmp_path, "x" * 5000).encode()) < 255


def test_the_scan_leaves_out_what_is_hidden_linked_or_huge(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.markdown").write_text("b")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c.md").write_text("c")
    (tmp_path / "d.txt").write_text("d")
    (tmp_path / "big.md").write_text("x" * 1_000_001)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "README.MD").write_text("c")
    assert set(scan(tmp_path)) == {"README.MD", "a.md", "sub/b.markdown"}
    assert scan(tmp_path / "missing") == {}
