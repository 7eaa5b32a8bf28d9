"""What version control prints: history with files, blame, diffs with messages."""

from __future__ import annotations

import re

import pytest

from actors.compressor.detect import Kind, detect
from actors.compressor.messages import Policy
from tests.actors.compressor.texts import shortened


def commit(n: int, files: list[str], body: str = "") -> str:
    return (
        f"commit {n:040x}\nAuthor: Kim {n % 3} <kim{n % 3}@example>\n"
        f"Date:   Mon Nov {n % 28 + 1} 10:00:00 2026 +0000\n\n"
        f"    Settle the {n}th account before it closes\n{body}\n" + "".join(files) + "\n"
    )


FILES = {
    "stat": lambda n: [f" src/ledger_{n}.py | {n % 40} +++--\n", " 1 file changed, 12 insertions(+)\n"],
    "name-status": lambda n: [f"M\tsrc/ledger_{n}.py\n", f"R100\told_{n}.py\tsrc/new_{n}.py\n"],
}


@pytest.mark.parametrize("form", sorted(FILES))
def test_history_has_every_subject_and_the_files_of_the_first_commits(form: str) -> None:
    text = "".join(commit(n, FILES[form](n), "\n    It was lost otherwise.\n") for n in range(1, 120))
    assert detect(text) is Kind.COMMITS
    out = shortened(text)
    assert all(f"{n:040x}"[:8] + f" Settle the {n}th account" in out for n in range(1, 120))
    assert "src/ledger_1.py" in out
    assert "Kim 1, Mon Nov 2 10:00:00 2026 +0000" in out
    assert "It was lost otherwise." in out
    assert re.search(r"subject of all 119 commits, authors, days and files of the first \d+", out)
    assert len(out) <= len(text) // 3


def test_files_are_left_out_before_any_subject_is() -> None:
    text = "".join(commit(n, FILES["stat"](n)) for n in range(1, 200))
    out = shortened(text, policy=Policy(max_chars=11_500, max_tokens=4_000))
    assert all(f"Settle the {n}th account" in out for n in range(1, 200))


def blamed(count: int) -> str:
    lines = []
    for n in range(1, count + 1):
        line = (f"def settle_{n}(entry: Entry) -> Result:", "    found = load(entry)", "    return found.result", "")[
            n % 4
        ]
        name = f"{n // 40 + 1:08x}"
        lines.append(f"{name} (Kim {n // 40} 2026-11-{n // 40 + 10} 14:29:36 +0000 {n:4}) {line}")
    return "\n".join(lines)


def test_blame_is_code_behind_its_commits() -> None:
    text = blamed(400)
    assert detect(text) is Kind.BLAME
    out = shortened(text)
    assert all(f"def settle_{n}(" in out for n in range(4, 400, 4))
    assert all(re.search(rf"^c\d+ = {n // 40 + 1:08x} Kim {n // 40} 2026-11-{n // 40 + 10}, \d+ lines$", out, re.M)
               for n in range(40, 400, 40))  # fmt: skip
    assert out.count("14:29:36") == 0
    assert re.search(r"^200 c\d+ def settle_200\(", out, re.M)


def test_blame_with_a_query_has_the_lines_around_the_answer() -> None:
    text = blamed(2_000).replace("    return found.result", "    return 0", 1)
    out = shortened(text, query="settle_1204 found")
    at = out.index("def settle_1204(")
    assert "1205 " in out[at : at + 200]


def test_a_list_of_commits_is_no_blame() -> None:
    text = "\n".join(f"{n:08x} (HEAD -> main) Settle the {n}th account" for n in range(0xA000000, 0xA000000 + 300))
    assert detect(text) is Kind.COMMITS


def patch(n: int) -> str:
    return (
        f"diff --git a/src/m{n}.py b/src/m{n}.py\nindex 111..222 100644\n--- a/src/m{n}.py\n+++ b/src/m{n}.py\n"
        f"@@ -{n},9 +{n},9 @@ class Ledger{n}:\n" + "".join(f"     line {k} of {n}\n" for k in range(9))
        + "".join(f"-    old = {k}\n+    new = {k}\n" for k in range(6))
        + f"+def settle_{n}(entry):\n+    return entry\n"
    )  # fmt: skip


def test_a_history_with_patches_keeps_subjects_files_and_what_is_new() -> None:
    text = "".join(commit(n, [patch(2 * n), patch(2 * n + 1)]) for n in range(1, 25))
    out = shortened(text)
    assert all(f"    Settle the {n}th account before it closes" in out for n in range(1, 25))
    assert all(f"diff --git a/src/m{n}.py" in out for n in range(2, 50))
    assert all(f"+def settle_{n}(entry):" in out for n in range(2, 50))
    assert "--- a/src/m2.py" not in out


def test_a_removed_line_that_looks_like_a_header_is_a_change() -> None:
    text = "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,900 +1,2 @@\n" + "".join(
        f"--- note {n} about the query\n" for n in range(900)
    )
    out = shortened(text)
    assert out.count("--- note") < 400
    assert "diff --git a/q.sql b/q.sql" in out


def test_a_patch_without_names_above_it_keeps_the_new_name() -> None:
    text = "".join(f"--- src/m{n}.c\t2026\n+++ src/m{n}.c\t2026\n" + patch(n).split("\n", 4)[4] for n in range(60))
    assert detect(text) is Kind.DIFF
    out = shortened(text)
    assert all(f"+++ src/m{n}.c" in out for n in range(60))


def test_the_last_word_of_a_subject_is_a_word() -> None:
    lines = [f"{n * 2_654_435_761 % 2**28 + 2**27:07x} Settle account {n} before it closes" for n in range(900)]
    lines[500] = "abc1234 Rotate the token"
    lines[700] = "abc1235 The tokenizer is faster"
    out = shortened("\n".join(lines) + "\n", query="token")
    assert out.startswith("abc1234 Rotate the token\n")
    assert "abc1235 The tokenizer is faster\n" not in out.partition(lines[0][8:])[0]


@pytest.mark.parametrize("printed", [False, True])
def test_commits_behind_labels_keep_their_subjects(printed: bool) -> None:
    """As the official git server tells them, and as it did before."""
    parts = ["Commit history:"]
    for at in range(150):
        message = f"Fix retry {at} of the upstream\n\nIt closed its socket {at} times.\n"
        author = f'<git.Actor "Dana Li <dana{at}@example.org>">' if printed else "Dana Li"
        told = repr(message) if printed else message
        sha = f"{at:040x}"
        parts.append(f"Commit: {sha!r}" if printed else f"Commit: {sha}")
        parts.append(f"Author: {author}\nDate: 2026-03-0{at % 9 + 1} 10:00:11+02:00\nMessage: {told}\n")
    text = "\n".join(parts)
    out = shortened(text)
    assert detect(text) is Kind.COMMITS
    assert all(f"Fix retry {at} of the upstream\n" in out for at in range(150))
    assert "  Dana Li, 2026-03-01 10:00:11+02:00\n  It closed its socket 0 times.\n" in out
    assert "hash and subject of all 150 commits" in out
    assert "It closed its socket 141 times." in shortened(text, query="retry 141")
