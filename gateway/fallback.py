"""What the gateway does itself while the compressor is down: a plain cut, with the original kept in bounded memory."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections import OrderedDict

MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 200
KEY_PREFIX = "local-"
TAIL_SHARE = 0.25
NOTE_CHARS = 220
LONGEST_NAMED = 60
CHARS_PER_TOKEN = 1
"""The cautious end of every script: without the compressor nobody estimates, and the budget is a promise."""


class Fallback:
    """Originals of this gateway only; they end with it."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(16)
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._bytes = 0

    def shorten(self, text: str, max_chars: int, max_tokens: int) -> str:
        """Head and tail of `text` within the budget, with a note where the middle was; the whole if it fits."""
        budget = min(max_chars, max_tokens * CHARS_PER_TOKEN)
        if len(text) <= budget:
            return text
        key = self._keep(text)
        room = max(0, budget - NOTE_CHARS)
        tail = int(room * TAIL_SHARE)
        head = room - tail
        end = len(text) - tail
        note = (
            f"\n[shortened: characters {head}-{end} of {len(text)} | source intact | "
            f'stm_proxy_read_more(key="{key}", offset={head}) | until this client disconnects]\n'
        )
        return text[:head] + note + (text[end:] if tail else "")

    def read(self, key: str, offset: int, limit: int | None, max_chars: int, find: str = "") -> str | None:
        """A page of an original; `None` for a key that is not here.

        Args:
            find: words that the page is to hold, instead of beginning at `offset`.
        """
        text = self._texts.get(key)
        if text is None:
            return None
        self._texts.move_to_end(key)
        room = max(1, min(limit or max_chars, max_chars) - NOTE_CHARS)
        if find.strip():
            place = _place(text, find.strip())
            if place is None:
                named = json.dumps(find.strip()[:LONGEST_NAMED])
                return f"[find: nothing matches {named} in {len(text)} characters]"
            offset = max(0, place - room // 4)
        end = min(len(text), offset + room)
        left = len(text) - end
        footer = f"\n---\n[progressive: chars={offset}-{end}/{len(text)} | remaining={left} | has_more={left > 0}]"
        more = f'\n[-> stm_proxy_read_more(key="{key}", offset={end})]' if left else ""
        return text[offset:end] + footer + more

    def _keep(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        key = KEY_PREFIX + hmac.new(self._secret, data, hashlib.sha256).hexdigest()[:24]
        if key not in self._texts:
            self._texts[key] = text
            self._bytes += len(data)
            while len(self._texts) > MAX_ENTRIES or (self._bytes > MAX_BYTES and len(self._texts) > 1):
                _, old = self._texts.popitem(last=False)
                self._bytes -= len(old.encode("utf-8", "surrogatepass"))
        return key


def _place(text: str, words: str) -> int | None:
    """Where the words stand together, else the longest of them alone."""
    for wanted in (words, max(words.split(), key=len)):
        found = re.search(re.escape(wanted), text, re.IGNORECASE)
        if found is not None:
            return found.start()
    return None
