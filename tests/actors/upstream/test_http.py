"""Upstream servers behind HTTP: official ones, odd ones, and ones that break."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from actors.upstream import http_peer
from actors.upstream.login import _Callback
from actors.upstream.messages import (
    Authorize,
    LoggedIn,
    LogIn,
    ResponseTooLarge,
    ServerState,
    UpstreamDied,
    UpstreamInvalid,
    UpstreamUnavailable,
)
from bus.errors import Refused
from tests.actors.upstream.test_pool import Pool, pool, running  # noqa: F401
from tests.eventually import eventually
from tests.fixtures.http_server import everything, serving


async def until_state(pool: Pool, server: str, wanted: str) -> ServerState:  # noqa: F811
    async with asyncio.timeout(20):
        while (state := await pool.state(server)).state != wanted:
            await asyncio.sleep(0.01)
    return state


@pytest.mark.parametrize("kind", ["sdk", "sse"])
async def test_a_server_of_the_official_sdk(pool: Pool, kind: str) -> None:  # noqa: F811
    with serving(kind, pool.place.home) as server:
        pool.configure(**{kind: server.entry()})
        async with running(pool):
            await pool.until(f"{kind}__echo")
            assert await pool.text(kind, "echo", {"text": "안녕\u2028"}) == "안녕\u2028"
            assert await pool.text(kind, "where", {"region": "서울 east"}) == "서울 east"
            steps: list[Any] = []
            await pool.call(kind, "steps", {"count": 3}, on_item=steps.append)
            assert [json.loads(step.params)["progress"] for step in steps] == [1, 2, 3]
            state = await pool.state(kind)
            assert (state.state, state.pid) == ("ready", 0)
            assert state.protocol_version == "2026-07-28"


async def test_both_eras_are_spoken_over_http(pool: Pool) -> None:  # noqa: F811
    with serving("odd", pool.place.home) as odd, serving("sdk", pool.place.home) as sdk:
        pool.configure(odd=odd.entry(), sdk=sdk.entry())
        async with running(pool):
            await pool.until("odd__numbers", "sdk__echo")
            assert (await pool.state("odd")).protocol_version == "2025-06-18"
            assert (await pool.state("sdk")).protocol_version == "2026-07-28"
            listed = odd.recorded("tools/list")[0]["headers"]
            assert listed["mcp-protocol-version"] == "2025-06-18"
            assert listed["mcp-session-id"]
        assert len(odd.recorded("goodbye")) == 1


async def test_an_answer_arrives_as_the_bytes_that_were_sent(pool: Pool) -> None:  # noqa: F811
    with serving("odd", pool.place.home) as server:
        pool.configure(odd=server.entry())
        async with running(pool):
            await pool.until("odd__numbers")
            result = (await pool.call("odd", "numbers", {"x": 1})).result
            assert result is not None
            assert b"[1.10, 12345678901234567890123, 1E400]" in result.data
            assert b"\n" not in result.data


async def test_what_a_failed_request_costs(pool: Pool) -> None:  # noqa: F811
    """Its own call, and no other."""
    with serving("odd", pool.place.home) as server:
        pool.configure(odd=server.entry())
        async with running(pool):
            await pool.until("odd__hold")
            held = asyncio.create_task(pool.text("odd", "hold"))
            await eventually(lambda: server.recorded("holding"))
            with pytest.raises(UpstreamInvalid, match="HTTP 503"):
                await pool.call("odd", "refuse")
            with pytest.raises(UpstreamDied, match="may have taken effect"):
                await pool.call("odd", "snap")
            assert not held.done()
            assert await pool.text("odd", "write") == "written"
            assert await held == "held"
            assert (await pool.state("odd")).restarts == 0


async def test_a_stream_that_breaks_is_resumed(pool: Pool) -> None:  # noqa: F811
    with serving("odd", pool.place.home) as server:
        pool.configure(odd=server.entry())
        async with running(pool):
            await pool.until("odd__broken")
            assert await pool.text("odd", "broken") == "the rest"
            called = [entry for entry in server.recorded("tools/call") if entry["params"]["name"] == "broken"]
            assert len(called) == 1


async def test_what_has_not_been_sent_is_not_said_to_have_run(pool: Pool) -> None:  # noqa: F811
    with serving("odd", pool.place.home) as server:
        pool.configure(odd=server.entry())
        async with running(pool):
            await pool.until("odd__write")
            server.stop()
            with pytest.raises(UpstreamUnavailable, match="cannot connect"):
                await pool.call("odd", "write")
            server.start()


async def test_an_answer_over_the_limit(pool: Pool) -> None:  # noqa: F811
    with serving("odd", pool.place.home) as server:
        settings = {"enabled": True, "max_upstream_bytes": 1_000_000, "upstream_servers": {"odd": server.entry()}}
        pool.place.config_file.write_text(json.dumps(settings))
        async with running(pool):
            await pool.until("odd__big")
            with pytest.raises(ResponseTooLarge, match="max_upstream_bytes"):
                await pool.call("odd", "big")
            assert b"line one" in (await pool.call("odd", "numbers")).result.data  # type: ignore[union-attr]


async def test_a_server_that_was_restarted(pool: Pool) -> None:  # noqa: F811
    """It no longer knows our session: a new one is opened once, reads are repeated. A write has not run, but
    the session that it was meant for is gone, so it is left to the caller."""
    with serving("odd", pool.place.home) as server:
        pool.configure(odd=server.entry(reconnect_delay_seconds=0.05))
        async with running(pool):
            await pool.until("odd__numbers")
            await pool.call("odd", "numbers")
            server.restart()
            reads = [pool.call("odd", "numbers", {"n": n}) for n in range(8)]
            assert [call.result is not None for call in await asyncio.gather(*reads)] == [True] * 8
            assert (await pool.state("odd")).restarts == 1
            server.restart()
            with pytest.raises(UpstreamUnavailable, match="nothing has run, call again"):
                await pool.call("odd", "write")
            await until_state(pool, "odd", "ready")
            assert await pool.text("odd", "write") == "written"
            written = [entry for entry in server.recorded("tools/call") if entry["params"]["name"] == "write"]
            assert len(written) == 1


async def test_a_server_that_is_killed_under_load(pool: Pool) -> None:  # noqa: F811
    with serving("sdk", pool.place.home) as server:
        pool.configure(sdk=server.entry(reconnect_delay_seconds=0.05, max_reconnect_delay_seconds=0.2))
        async with running(pool):
            await pool.until("sdk__hold")
            held = [asyncio.create_task(pool.call("sdk", "hold")) for _ in range(5)]
            await pool.text("sdk", "echo", {"text": "x"})
            server.stop()
            for call in held:
                with pytest.raises((UpstreamDied, UpstreamUnavailable)):
                    await call
            server.start()
            await until_state(pool, "sdk", "ready")
            assert await pool.text("sdk", "echo", {"text": "back"}) == "back"


async def test_a_restart_is_noticed_while_nothing_is_asked(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the new process offers may be something else."""
    monkeypatch.setattr(http_peer, "QUICK_SECONDS", 0.0)
    with serving("sdk", pool.place.home) as server:
        pool.configure(sdk=server.entry(reconnect_delay_seconds=0.05, max_reconnect_delay_seconds=0.2))
        async with running(pool):
            await pool.until("sdk__echo")
            server.restart()
            async with asyncio.timeout(20):
                while not (state := await pool.state("sdk")).restarts or state.state != "ready":
                    await asyncio.sleep(0.02)
            assert await pool.text("sdk", "echo", {"text": "new"}) == "new"


async def test_headers_come_from_the_environment(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("A_KEY", "from-the-environment")
    with serving("odd", pool.place.home) as server:
        headers = {"x-key": "${A_KEY}"}
        unset = server.entry("unset", headers={"x-key": "${NOT_SET_ANYWHERE}"})
        pool.configure(odd=server.entry(headers=headers), unset=unset)
        async with running(pool):
            await pool.until("odd__numbers")
            assert server.recorded("tools/list")[0]["headers"]["x-key"] == "from-the-environment"
            error = (await until_state(pool, "unset", "failed")).error
            assert "NOT_SET_ANYWHERE" in error


async def test_what_is_said_of_a_server_that_cannot_be_used(pool: Pool) -> None:  # noqa: F811
    with serving("guarded", pool.place.home) as server:
        nobody = {"prefix": "nobody", "transport": "streamable_http", "url": "http://127.0.0.1:9/secret-path"}
        secret = {**nobody, "prefix": "secret", "headers": {"authorization": "Bearer öö"}}
        pool.configure(guarded=server.entry(), nobody=nobody, secret=secret)
        async with running(pool):
            guarded = await until_state(pool, "guarded", "failed")
            assert "mms login guarded" in guarded.error
            down = await until_state(pool, "nobody", "failed")
            assert "cannot connect to http://127.0.0.1:9" in down.error
            assert "secret-path" not in down.error
            odd = await until_state(pool, "secret", "failed")
            assert "authorization" in odd.error
            assert "öö" not in odd.error


async def test_a_server_that_hangs_up_is_said_to(pool: Pool) -> None:  # noqa: F811
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/secret-path"
        pool.configure(rude={"prefix": "rude", "transport": "streamable_http", "url": url})
        async with running(pool):
            rude = await until_state(pool, "rude", "failed")
            assert rude.error.startswith(f"the connection to http://127.0.0.1:{port} broke")


async def log_in(pool: Pool, server: str) -> LoggedIn:  # noqa: F811
    """As a person whose browser follows every redirect."""
    visits: list[asyncio.Task[httpx2.Response]] = []
    async with httpx2.AsyncClient(follow_redirects=True) as browser:

        def visit(item: Authorize) -> None:
            visits.append(asyncio.ensure_future(browser.get(item.address)))

        done = await pool.bus.ask(LogIn(server=server), timeout=20, on_item=visit)
        assert [(await visit).status_code for visit in visits] == [200]
    return done


async def test_logging_in(pool: Pool) -> None:  # noqa: F811
    """Tokens are kept, 0600, go to their own server only, and are refreshed when they end or are taken back."""
    with serving("guarded", pool.place.home) as server:
        pool.configure(guarded=server.entry())
        async with running(pool):
            await until_state(pool, "guarded", "failed")
            file = Path((await log_in(pool, "guarded")).file)
            await pool.until("guarded__numbers")
            await pool.call("guarded", "write", {"n": 1})
            assert file.stat().st_mode & 0o777 == 0o600
            assert file.parent.stat().st_mode & 0o777 == 0o700
            async with httpx2.AsyncClient() as other:
                await other.post(server.origin + "/revoke-all")
            await pool.call("guarded", "write", {"n": 2})
            kept = json.loads(file.read_bytes())
            assert "access-" in kept["tokens"]["access_token"]
            kept["expires_at"] = 1
            file.write_text(json.dumps(kept))
        again = Pool(pool.place)
        async with running(again):
            await again.until("guarded__numbers")
            await again.call("guarded", "write", {"n": 3})
            assert json.loads(file.read_bytes())["tokens"] != kept["tokens"]
            seen = [entry["headers"]["authorization"] for entry in server.recorded("tools/call")]
            assert len(set(seen)) == 3


@pytest.mark.parametrize("request_", [b"GET\r\n\r\n", b"x" * 100_000, b"GET http://[::1 HTTP/1.1\r\n\r\n", b"\r\n\r\n"])
async def test_what_is_no_request_is_hung_up_on(request_: bytes) -> None:
    async with _Callback() as callback:
        url = urlsplit(callback.address)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(request_)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(20):
                assert await reader.read() == b""
        writer.close()


async def test_logging_in_where_it_cannot_be(pool: Pool) -> None:  # noqa: F811
    with serving("odd", pool.place.home) as server:
        pool.configure("echo", odd=server.entry())
        async with running(pool):
            with pytest.raises(Refused, match="asked for no login"):
                await pool.bus.ask(LogIn(server="odd"), timeout=20)
            with pytest.raises(Refused, match="is a program"):
                await pool.bus.ask(LogIn(server="echo"), timeout=20)
            with pytest.raises(UpstreamUnavailable):
                await pool.bus.ask(LogIn(server="nobody"), timeout=20)


@pytest.mark.npm
@pytest.mark.parametrize(
    ("mode", "transport", "path"), [("streamableHttp", "streamable_http", "/mcp"), ("sse", "sse", "/sse")]
)
async def test_the_official_typescript_server(pool: Pool, mode: str, transport: str, path: str) -> None:  # noqa: F811
    with everything(mode) as origin:
        pool.configure(ts={"prefix": "ts", "transport": transport, "url": origin + path})
        async with running(pool):
            await pool.until("ts__echo")
            assert "hello" in await pool.text("ts", "echo", {"message": "hello"})
            steps: list[Any] = []
            arguments = {"duration": 0.4, "steps": 4}
            await pool.call("ts", "trigger-long-running-operation", arguments, on_item=steps.append)
            assert [json.loads(step.params)["progress"] for step in steps] == [1, 2, 3, 4]
