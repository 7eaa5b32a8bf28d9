"""The index of the notes folder: SQLite FTS5 over our own tokens, ranked by BM25.

Both sides go through `actors.surfacer.tokens`: stems and identifier parts for Latin words, character pairs for Korean,
Japanese and Chinese, and the English stem of technical words in those languages. The index holds the chunks with
secret values masked; it can be deleted at any time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from actors.surfacer.embedded.notes import Chunk, FileState, chunks, scan
from actors.surfacer.tokens import Script, bigrams, tokens
from bus.sqlite import Database
from config.credentials import mask

_MIGRATIONS = (
    """
    CREATE TABLE file (source TEXT PRIMARY KEY, modified_ns INTEGER NOT NULL, size INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE chunk (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, hierarchy TEXT NOT NULL,
        namespace TEXT NOT NULL, tags TEXT NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX chunk_source ON chunk (source);
    CREATE TABLE access (id TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE term USING fts5 (title, body, tokenize = "unicode61 remove_diacritics 0");
    """,
)
_TITLE_WEIGHT, _BODY_WEIGHT = 2.0, 1.0
_MOST_QUERY_TOKENS = 64
_CHEAP_SCAN_SECONDS = 0.02
_RESCAN_SECONDS = 1.0
_BATCH = 50
_MOST_SAID = 100
_BOOST = 0.02
_MOST_BOOSTS = 10
_SEARCH = f"""
    SELECT c.id, c.source, c.hierarchy, c.namespace, c.tags, c.text,
        -bm25(term, {_TITLE_WEIGHT}, {_BODY_WEIGHT})
            * (1 + {_BOOST} * min(coalesce(a.times, 0), {_MOST_BOOSTS})) AS score
    FROM term JOIN chunk c ON c.number = term.rowid LEFT JOIN access a ON a.id = c.id
    WHERE term MATCH ? AND (? = '' OR c.namespace = ?) ORDER BY score DESC, c.source, c.number LIMIT ?
"""  # noqa: S608 (constants only)


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk and its score: BM25, higher is better, raised a little for chunks that were rated helpful."""

    chunk: Chunk
    score: float


class Index:
    """Keeps the index of `folder` in `path`. Blocks on the disk; not thread-safe.

    Args:
        say: told once, in a line, of each note that is left out.
    """

    def __init__(self, folder: Path, path: Path, say: Callable[[str], None] = lambda why: None) -> None:
        self._folder = folder
        self._database = Database(path, _MIGRATIONS)
        self.set_aside = self._database.set_aside
        self._scanned_at = float("-inf")
        self._scan_took = 0.0
        self._is_complete = False
        self._say = say
        self._said: set[str] = set()
        rows = self._database.connection.execute("SELECT source, modified_ns, size FROM file")
        self._known = {source: FileState(modified, size) for source, modified, size in rows}

    def close(self) -> None:
        self._database.close()

    def rebuild(self) -> None:
        """Sets a damaged file aside and starts an empty one, which the next refreshes fill."""
        self._database.rebuild()
        self.set_aside = self._database.set_aside
        self._known = {}
        self._is_complete = False

    def refresh(self, seconds: float, *, force: bool = False) -> bool:
        """Takes in files that were added, changed or removed; true when none is left.

        A folder whose scan takes over 20 ms is looked at once a second at most.

        Args:
            seconds: roughly how long this may take; what is left is for the next time.
            force: look even if it was done a moment ago.
        """
        now = time.monotonic()
        if not force and self._scan_took > _CHEAP_SCAN_SECONDS and now - self._scanned_at < _RESCAN_SECONDS:
            return self._is_complete
        present = scan(self._folder, self._left_out)
        self._scanned_at = time.monotonic()
        self._scan_took = self._scanned_at - now
        gone = self._known.keys() - present.keys()
        pending = [*gone, *(source for source, state in present.items() if self._known.get(source) != state)]
        for start in range(0, len(pending), _BATCH):
            if start and time.monotonic() - now > seconds:
                self._is_complete = False
                return False
            self._update(pending[start : start + _BATCH], present)
        self._is_complete = True
        return True

    def search(self, query: str, *, limit: int, namespace: str = "") -> list[Hit]:
        """The best chunks for a query, best first; `namespace` empty means all."""
        words = list(dict.fromkeys(index_tokens(query)))[:_MOST_QUERY_TOKENS]
        if not words or limit < 1:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        rows = self._database.connection.execute(_SEARCH, (match, namespace, namespace, limit))
        return [Hit(Chunk(i, s, h, n, tuple(t.split()), x), score) for i, s, h, n, t, x, score in rows]

    def find(self, source: str) -> list[Chunk]:
        """The chunks of one file, in order."""
        rows = self._database.connection.execute(
            "SELECT id, source, hierarchy, namespace, tags, text FROM chunk WHERE source = ? ORDER BY number", (source,)
        )
        return [Chunk(i, s, h, n, tuple(t.split()), x) for i, s, h, n, t, x in rows]

    def increment_access(self, ids: Sequence[str]) -> int:
        """Counts one more helpful use of each known chunk; returns how many are known."""
        sql = "INSERT INTO access SELECT id, 1 FROM chunk WHERE id = ? ON CONFLICT DO UPDATE SET times = times + 1"
        return sum(self._database.connection.execute(sql, (chunk_id,)).rowcount for chunk_id in ids)

    def size(self) -> tuple[int, int]:
        """(files, chunks)."""
        return len(self._known), self._database.connection.execute("SELECT count(*) FROM chunk").fetchone()[0]

    def _left_out(self, why: str) -> None:
        if why not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(why)
            self._say(why)

    def _update(self, sources: list[str], present: dict[str, FileState]) -> None:
        connection = self._database.connection
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for source in sources:
                of_source = "SELECT number FROM chunk WHERE source = ?"
                connection.execute(f"DELETE FROM term WHERE rowid IN ({of_source})", (source,))  # noqa: S608
                connection.execute("DELETE FROM chunk WHERE source = ?", (source,))
                connection.execute("DELETE FROM file WHERE source = ?", (source,))
                if source in present:
                    self._insert(source, present[source])
        for source in sources:
            if source in present:
                self._known[source] = present[source]
            else:
                del self._known[source]

    def _insert(self, source: str, state: FileState) -> None:
        connection = self._database.connection
        try:
            text = (self._folder / source).read_bytes().decode("utf-8", "replace")
        except OSError:
            text = ""  # vanished or unreadable: no chunks until it changes again
        for chunk in chunks(source, text):
            masked = mask(chunk.text)
            row = (chunk.id, source, chunk.hierarchy, chunk.namespace, " ".join(chunk.tags), masked)
            number = connection.execute(
                "INSERT INTO chunk (id, source, hierarchy, namespace, tags, text) VALUES (?, ?, ?, ?, ?, ?)", row
            ).lastrowid
            name = re.sub(r"\.\w+$", "", source)
            title = " ".join(index_tokens(f"{name} {chunk.hierarchy} {' '.join(chunk.tags)}"))
            connection.execute(
                "INSERT INTO term (rowid, title, body) VALUES (?, ?, ?)",
                (number, title, " ".join(index_tokens(masked))),
            )
        connection.execute("INSERT INTO file VALUES (?, ?, ?)", (source, state.modified_ns, state.size))


def index_tokens(text: str) -> list[str]:
    """The tokens of a text as the index holds them."""
    found: list[str] = []
    for token in tokens(text):
        if token.script is Script.WORD:
            found.append(token.text)
            if token.whole:
                found.append(token.whole)
        else:
            found.extend(bigrams(token.text))
            if token.concept:
                found.append(token.concept)
    return found
