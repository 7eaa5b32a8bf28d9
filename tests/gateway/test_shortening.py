"""What comes back when an answer is too long: valid, smaller, honest about what is missing, and recoverable."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal

import pytest

from bus.status import GetStatus
from tests.bench.tokens import tokens
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.fixtures.servers.good import CHANNELS, log_text, long_text
from tests.gateway.conftest import Connect, Start


def key_in(text: str) -> str:
    found = re.search(r'stm_proxy_read_more\(key="([^"]+)"', text)
    assert found, text[-500:]
    return found[1]


async def read_all(client: McpClient, key: str) -> str:
    """The original, slice by slice."""
    text = ""
    while True:
        answer = (await client.call("stm_proxy_read_more", {"key": key, "offset": len(text)})).text
        body, _, footer = answer.rpartition("\n---\n[progressive: chars=")
        assert footer, answer[-300:]
        text += body
        if "has_more=False" in footer:
            return text


async def until_there(home: Home) -> None:
    """Returns when the compressor answers: while it starts, the gateway shortens by itself."""
    with home.bus() as bus:
        await bus.ask(GetStatus(), timeout=20, wait=20, actor="compressor")


async def test_a_count_field_keeps_its_word(home: Home, start: Start) -> None:
    """120 items under a tight budget: what is left out is said in the source's units, and all of it can be read."""
    home.configure({"echo": home.upstream("echo", max_result_chars=300)}, untouched_chars=100)
    client = await start("echo__count_field")
    await until_there(home)
    text = (await client.call("echo__count_field")).text
    kept = re.findall(r'"?(r\d+)"?', text)
    assert len(set(kept)) < 120
    assert "of 120" in text
    assert await read_all(client, key_in(text)) == CHANNELS
    assert '"total":120' in text.replace(" ", ""), text


async def test_structured_content_alone_is_shortened_too(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("tight__structured",))
    await until_there(shared_home)
    small = await client.call("tight__structured", {"n": 1.10})
    assert small.result["structuredContent"] == {"n": 1.10}
    source = {"rows": [{"id": at, "name": f"row {at}"} for at in range(400)]}
    large = await client.call("tight__structured", source)
    assert "structuredContent" not in large.result
    assert len(large.text) <= 2_000
    assert "of 400 items" in large.text
    assert json.loads(await read_all(client, key_in(large.text))) == source


async def test_the_needles_of_a_log_survive(connect: Connect) -> None:
    client = await connect(ready=("mixed__log",))
    source = log_text(2_000)
    text = (await client.call("mixed__log", {"lines": 2_000})).text
    assert len(text) <= 16_000
    for needle in ("FATAL worker-3 disk /dev/sdz9 is gone (errno 5)", "ImportError: cannot import name 'frobnicate'"):
        assert needle in text
    assert "1 failed, 1999 passed in 12.3s" in text
    assert await read_all(client, key_in(text)) == source


async def test_never_larger_and_never_over_budget(connect: Connect) -> None:
    client = await connect(ready=("mixed__long",))
    for chars in (2_000, 2_001, 3_000, 15_900, 16_100, 60_000):
        text = (await client.call("mixed__long", {"chars": chars})).text
        assert len(text) <= min(chars, 16_000)
        if text != long_text(chars):
            assert await read_all(client, key_in(text)) == long_text(chars)


def awkward() -> dict[str, str]:
    """Texts with little to gain: whatever is done to them must not make them longer."""
    nested = {f"k{i}": {"a": [i, {"b": [i * 7919 % 101, None, True]}], "c": str(i)} for i in range(200)}
    noise = base64.b64encode(hashlib.sha512(b"seed").digest() * 60).decode()
    distinct = "\n".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(300))
    return {"nested": json.dumps(nested, separators=(",", ":")), "base64": noise, "short": "ok", "distinct": distinct}


@pytest.mark.parametrize("kind", awkward())
async def test_never_more_tokens_out_than_in(connect: Connect, kind: str) -> None:
    source = awkward()[kind]
    client = await connect()
    text = (await client.call("fx__text", {"text": source})).text
    assert tokens(text) <= tokens(source)
    assert len(text) <= len(source)
    if text != source:
        assert await read_all(client, key_in(text)) == source


async def test_an_unknown_key_says_so(connect: Connect) -> None:
    client = await connect()
    for tool, arguments in (
        ("stm_proxy_read_more", {"key": "nothing"}),
        ("stm_proxy_select_chunks", {"key": "nothing", "sections": ["a"]}),
    ):
        result = (await client.call(tool, arguments)).result
        assert result["isError"] is True


async def test_a_repeated_read_comes_from_the_cache(connect: Connect) -> None:
    client = await connect()
    assert len({(await client.call("fx__count")).text for _ in range(3)}) == 1
    assert len({(await client.call("fx__count_uncached")).text for _ in range(3)}) == 3


async def test_the_compressor_may_be_down(home: Home, start: Start) -> None:
    """The answer keeps to its budget by plain truncation, and can still be read to its end."""
    home.serve("mixed")
    client = await start("mixed__long")
    (compressor,) = [pid for pid, line in home.processes().items() if "actors.compressor" in line]

    os.kill(compressor, signal.SIGSTOP)
    try:
        text = (await client.call("mixed__long", {"chars": 40_000}, patience=60)).text
        assert len(text) <= 16_000
        assert await read_all(client, key_in(text)) == long_text(40_000)
    finally:
        os.kill(compressor, signal.SIGCONT)


async def test_the_query_argument_is_taken_out(connect: Connect) -> None:
    client = await connect()
    assert json.loads((await client.call("fx__echo", {"a": 1, "_context_query": "why"})).text) == {"a": 1}
