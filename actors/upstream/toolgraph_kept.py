"""The last answers of tool-graph providers, so that the next start need not wait for one. A copy: it may be deleted."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import msgspec

from actors.upstream.toolgraph import Answer
from bus.files import write_private
from bus.log import Log
from config.schema_proxy import ToolgraphSettings

SCHEMA_VERSION = 1
MAX_BYTES = 16 * 1024 * 1024


class _File(msgspec.Struct):
    schema_version: int = SCHEMA_VERSION
    answers: dict[str, Answer] = {}


def scope(settings: ToolgraphSettings) -> str:
    """Names who asks whom, without telling a secret: an answer holds for this provider, agent and profile only."""
    parts = (
        settings.source,
        settings.command,
        settings.args,
        sorted((settings.env or {}).items()),
        settings.agent_id,
        settings.query_profile,
        sorted(settings.server_name_map.items()),
    )
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


class KeptAnswers:
    """The file of the answers, the newest last. One that cannot be read or written costs the head start only."""

    def __init__(self, path: Path, log: Log) -> None:
        self._path = path
        self._log = log
        self._answers: dict[str, Answer] = {}
        self._writable = True
        self._said = ""

    async def open(self) -> None:
        await asyncio.to_thread(self._read)

    def find(self, key: str) -> Answer | None:
        return self._answers.get(key)

    async def put(self, key: str, answer: Answer, most: int) -> None:
        """Keeps an answer, and the newest `most` in all."""
        if self._answers.get(key) == answer:
            return
        self._answers.pop(key, None)
        self._answers[key] = answer
        for old in list(self._answers)[:-most]:
            del self._answers[old]
        if self._writable:
            await asyncio.to_thread(self._write, dict(self._answers))

    def _read(self) -> None:
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=_File)
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as error:
            self._log.warning("toolgraph_answers_unreadable", error=type(error).__name__)
            return
        self._writable = found.schema_version <= SCHEMA_VERSION
        if self._writable:
            self._answers = found.answers
        else:
            self._log.warning("toolgraph_answers_newer", schema_version=found.schema_version)

    def _write(self, answers: dict[str, Answer]) -> None:
        """Writes atomically, 0600; why it could not is said once until it can again."""
        data = msgspec.json.encode(_File(answers=answers))
        said = ""
        if len(data) > MAX_BYTES:
            said = (
                f"the answers take {len(data)} bytes, of which {MAX_BYTES} at most are kept, so the next start asks "
                "anew; lower toolgraph.consult_cache_max_scopes"
            )
        else:
            try:
                write_private(self._path, data)
            except OSError as error:
                said = f"{self._path} cannot be written: {error.strerror}; check the disk"
        if said and not self._said:
            self._log.warning("toolgraph_answers_not_written", error=said)
        self._said = said
