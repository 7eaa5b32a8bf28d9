"""`llm_summary` through the actor, against real HTTP servers that speak the providers' APIs."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from actors.compressor.actor import CompressorActor
from actors.compressor.messages import Compress, Compressed, GetSummaryStats, Policy, ReadMore
from bus.actor import Actor, Context, handles
from bus.client import Bus
from bus.endpoint import Runtime
from bus.message import Blob
from bus.record import Record
from config.place import Place
from tests.actors.compressor import texts
from tests.eventually import eventually, until
from tests.fixtures.llm_server import KEY, LlmServer, llm_server

PROVIDERS = ("openai", "anthropic", "ollama")
TEXT = texts.markdown(120)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with llm_server() as running:
        yield running


def configure(place: Place, server: LlmServer, *models: str, provider: str = "openai", **llm: Any) -> None:
    """One upstream server per model, of the model's name."""
    key = None if provider == "ollama" else KEY
    keys = {"provider": provider, "base_url": server.origin, "api_key": key, **llm}
    servers = {
        model: {
            "prefix": f"p{number}",
            "command": "true",
            "compression": "llm_summary",
            "llm": {"model": model, **keys},
        }
        for number, model in enumerate(models)
    }
    place.config_file.write_text(json.dumps({"upstream_servers": servers}))
    place.config_file.chmod(0o600)


@asynccontextmanager
async def running(place: Place) -> AsyncIterator[Bus]:
    actor = CompressorActor(place)
    actor.reopen_log()
    await actor.start()
    bus = Bus(Runtime(place.runtime), "test")
    try:
        yield bus
    finally:
        bus.close()
        await actor.stop(drain=1)


class Keeper(Actor):
    """Keeps the events that it is handed, as telemetry does."""

    name = "telemetry"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.events_kept: list[dict[str, Any]] = []

    @handles(Record)
    async def record(self, request: Record, context: Context) -> None:
        self.events_kept += map(json.loads, request.lines.data.splitlines())

    def faults(self) -> list[dict[str, Any]]:
        return [event for event in self.events_kept if event["kind"] == "fault"]


@pytest.fixture(autouse=True)
async def keeper(place: Place) -> AsyncIterator[Keeper]:
    actor = Keeper(place)
    await actor.start()
    yield actor
    await actor.stop(drain=1)


def request(model: str, text: str = TEXT, *, query: str = "", seconds: float = 30, **policy: Any) -> Compress:
    wanted = Policy(strategy="llm_summary", **policy)
    return Compress(
        server=model, tool="read", texts=(Blob.of(text),), policy=wanted, query=query, llm_seconds=seconds, trace_id="t"
    )


async def ask(bus: Bus, asked: Compress) -> Compressed:
    return await bus.ask(asked, timeout=asked.llm_seconds + 15)


def delivered(reply: Compressed) -> str:
    assert reply.texts[0] is not None
    return reply.texts[0].text


async def until_read(bus: Bus, key: str) -> str:
    """The whole original, by its pages."""
    parts, offset, total = [], 0, 1
    while offset < total:
        page = await bus.ask(ReadMore(key=key, offset=offset), timeout=15)
        assert not page.is_error
        parts.append(page.text.text.partition("\n---\n[progressive:")[0])
        offset, total = offset + page.served, page.total
    return "".join(parts)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_summary_stands_for_the_text_and_the_text_can_be_read(
    place: Place, server: LlmServer, provider: str
) -> None:
    configure(place, server, "good", provider=provider)
    async with running(place) as bus:
        reply = await ask(bus, request("good", query="which jobs failed"))
        assert server.refused == []
        assert reply.strategy == "llm_summary"
        body, _, note = delivered(reply).rpartition("\n")
        assert body == "Summary 1: three of 1,200 jobs failed with exit code 137."
        assert note.startswith(f"[shortened: summary by good of {len(TEXT)} characters | source intact | ")
        assert f'key="{reply.keys[0]}"' in note
        assert await until_read(bus, reply.keys[0]) == TEXT
    (asked,) = server.asked("good")
    said = asked["body"]["messages"][-1]["content"]
    mark = re.search(r"\n<output ([0-9a-f]{16})>\n", said)
    assert mark is not None
    assert f"\n<output {mark[1]}>\n{TEXT.strip()[:200]}" in said
    assert said.endswith(f"\n</output {mark[1]}>")
    assert "which jobs failed" in said.partition(mark[0])[0]
    assert "It is data" in said.partition(mark[0])[0]


FAILURES = {
    "429": "http 429",
    "500": "http 500",
    "401": "http 401",
    "redirect": "http 307",
    "hang": "timeout",
    "garbage": "malformed",
    "foreign": "malformed",
    "huge": "malformed",
    "empty": "empty",
    "over-long": "over-long",
    "cut-off": "over-long",
    "declined": "declined",
    "disconnect": "connection",
}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_whatever_goes_wrong_the_text_is_shortened_here_and_the_path_says_why(
    place: Place, server: LlmServer, keeper: Keeper, provider: str
) -> None:
    configure(place, server, *FAILURES, provider=provider, llm_timeout_seconds=0.5)
    async with running(place) as bus:
        replies = {mode: await ask(bus, request(mode, max_chars=6_000, max_tokens=1_500)) for mode in FAILURES}
        stats = await bus.ask(GetSummaryStats(), timeout=5)
    assert server.refused == []
    for mode, reason in FAILURES.items():
        reply = replies[mode]
        assert reply.strategy == f"llm_summary→auto:truncate ({reason})", mode
        assert len(delivered(reply)) <= 6_000
        assert reply.delivered_tokens <= 1_500
        assert f'key="{reply.keys[0]}"' in delivered(reply)
        assert len(server.asked(mode)) == 1
    assert len({delivered(reply) for reply in replies.values()}) == 1  # the fallback does not depend on the fault
    assert (stats.made, sum(stats.fell_back.values())) == (0, len(FAILURES))
    faults = keeper.faults()
    assert [(fault["component"], fault["what"], fault["trace_id"]) for fault in faults] == [
        ("compressor", "llm_fallback", "t")
    ] * len(FAILURES)
    assert [fault["detail"].partition(":")[0] for fault in faults] == [f"{provider} {mode}" for mode in FAILURES]
    log = (place.logs / "compressor.log").read_text()
    assert log.count("llm_fallback") == len(FAILURES)
    for words in (log, json.dumps(faults)):
        assert KEY not in words
        assert "Section 77" not in words


async def test_equal_questions_are_asked_once_and_answered_in_equal_bytes(place: Place, server: LlmServer) -> None:
    configure(place, server, "good")
    async with running(place) as bus:
        replies = await asyncio.gather(*(ask(bus, request("good")) for _ in range(5)))
        assert len(server.asked("good")) == 1
        replies.append(await ask(bus, request("good")))
        await ask(bus, request("good", query="something else"))
        assert len(server.asked("good")) == 2
    async with running(place) as bus:  # the next process knows it too
        replies.append(await ask(bus, request("good")))
        assert len({delivered(reply) for reply in replies}) == 1
        assert len(server.asked("good")) == 2
    configure(place, server, "good", max_tokens=400)
    async with running(place) as bus:
        assert delivered(await ask(bus, request("good"))) != delivered(replies[0])
        assert len(server.asked("good")) == 3


SECRET = "\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n"


async def test_what_looks_like_a_credential_never_leaves(place: Place, server: LlmServer) -> None:
    configure(place, server, "good")
    async with running(place) as bus:
        reply = await ask(bus, request("good", TEXT + SECRET))
        asked = await ask(bus, request("good", query="password=hunter2hunter2"))
        for refused in (reply, asked):
            assert refused.strategy == "llm_summary→auto:truncate (credentials)"
        assert server.requests == []
        assert await until_read(bus, reply.keys[0]) == TEXT + SECRET
    configure(place, server, "good", privacy_scan_enabled=False)
    async with running(place) as bus:
        assert (await ask(bus, request("good", TEXT + SECRET))).strategy == "llm_summary"


async def test_a_provider_that_fails_is_left_alone_for_a_while(place: Place, server: LlmServer) -> None:
    configure(place, server, "500", "good")
    async with running(place) as bus:
        paths = [(await ask(bus, request("500", TEXT + f"\nRun {run}."))).strategy for run in range(5)]
        assert [path.rpartition(" (")[2] for path in paths] == ["http 500)"] * 3 + ["breaker open)"] * 2
        assert len(server.asked("500")) == 3
        assert (await ask(bus, request("good"))).strategy == "llm_summary"
        stats = await bus.ask(GetSummaryStats(), timeout=5)
        assert stats.resting == (f"500 at {server.origin}/v1/chat/completions",)
        assert (stats.made, stats.fell_back) == (1, {"http 500": 3, "breaker open": 2})


async def test_summaries_that_hang_hold_up_nothing_else(place: Place, server: LlmServer) -> None:
    configure(place, server, "hang", "good")
    async with running(place) as bus:
        hanging = [asyncio.ensure_future(ask(bus, request("hang", TEXT + f"\nRun {run}."))) for run in range(40)]
        await eventually(lambda: len(server.asked("hang")) == 4)
        plain = Compress(server="x", tool="y", texts=(Blob.of(TEXT),), policy=Policy(strategy="truncate"))
        assert (await bus.ask(plain, timeout=15)).strategy == "truncate"
        # More than may wait for a model do not: they are shortened here at once.
        await eventually(lambda: sum(task.done() for task in hanging) == 40 - 12)
        done = {task.result().strategy for task in hanging if task.done()}
        assert done == {"llm_summary→auto:truncate (busy)"}
        assert len(server.asked("hang")) == 4
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        # Those that nobody waits for any more have given their places back.
        assert (await ask(bus, request("good"))).strategy == "llm_summary"
        assert len(server.asked("hang")) == 4


async def test_a_call_s_own_time_is_kept(place: Place, server: LlmServer) -> None:
    configure(place, server, "hang", "good", llm_timeout_seconds=60)
    async with running(place) as bus:
        late = await bus.ask(request("hang", seconds=1.2), timeout=20)
        assert late.strategy == "llm_summary→auto:truncate (timeout)"
        none = await bus.ask(request("good", seconds=0), timeout=20)
        assert none.strategy == "llm_summary→auto:truncate (no time)"
        # The caller's deadline counts even where more was promised.
        short = await bus.ask(request("good", seconds=60), timeout=3.5)
        assert short.strategy == "llm_summary→auto:truncate (no time)"
        assert server.asked("good") == []


async def test_the_key_comes_from_the_environment(
    place: Place, server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(place, server, "good", api_key="${MY_LLM_KEY}")
    monkeypatch.delenv("MY_LLM_KEY", raising=False)
    async with running(place) as bus:
        assert (await ask(bus, request("good"))).strategy == "llm_summary→auto:truncate (configuration)"
        assert "MY_LLM_KEY" in (place.logs / "compressor.log").read_text()
        assert server.requests == []
        monkeypatch.setenv("MY_LLM_KEY", KEY)
        assert (await ask(bus, request("good"))).strategy == "llm_summary"


async def test_no_proxy_stands_before_a_model_on_this_machine(
    place: Place, server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    configure(place, server, "good")
    async with running(place) as bus:
        assert (await ask(bus, request("good"))).strategy == "llm_summary"


async def test_changed_settings_count_without_a_restart(place: Place, server: LlmServer) -> None:
    configure(place, server, "good")
    async with running(place) as bus:
        first = delivered(await ask(bus, request("good")))
        configure(place, server, "good", system_prompt="Say it as a haiku of {max_chars} characters. {keep}")

        async def is_changed() -> bool:
            return delivered(await ask(bus, request("good"))) != first

        await until(is_changed)
    said = server.asked("good")[-1]["body"]["messages"][0]["content"]
    assert re.fullmatch(r"Say it as a haiku of \d+ characters\. \{keep\}", said)


async def test_a_text_longer_than_the_model_reads_is_sent_in_its_important_parts(
    place: Place, server: LlmServer
) -> None:
    text = texts.log(9_000)
    line = "2026-03-01 10:00:00 ERROR billing: the ledger of tenant zebra-77 does not balance"
    lines = text.splitlines()
    lines[4_000] = line
    text = "\n".join(lines)
    configure(place, server, "good-of-unknown-size")
    async with running(place) as bus:
        reply = await ask(bus, request("good-of-unknown-size", text, query="zebra-77 ledger"))
    said = server.asked("good-of-unknown-size")[0]["body"]["messages"][-1]["content"]
    assert len(said) < len(text) / 3
    assert line in said
    assert lines[0] in said
    assert lines[-1] in said
    assert "It is an excerpt" in said
    assert re.search(rf"summary by good-of-unknown-size of \d+ of {len(text)} characters", delivered(reply))


async def test_what_fits_is_not_sent(place: Place, server: LlmServer) -> None:
    configure(place, server, "good")
    async with running(place) as bus:
        reply = await ask(bus, request("good", TEXT[:9_000]))
    assert reply.strategy in ("none", "clean")
    assert server.requests == []


async def test_each_long_block_is_summarised_and_all_fit(place: Place, server: LlmServer) -> None:
    configure(place, server, "good")
    blocks = tuple(Blob.of(TEXT + f"\nRun {run}.") for run in range(3))
    policy = Policy(strategy="llm_summary", max_chars=6_000, max_tokens=1_500)
    asked = Compress(server="good", tool="t", texts=blocks, policy=policy, llm_seconds=30)
    async with running(place) as bus:
        reply = await ask(bus, asked)
    assert reply.strategy == "llm_summary"
    assert len(reply.keys) == 3
    assert reply.delivered_chars <= 6_000
    assert len(server.asked("good")) == 3
