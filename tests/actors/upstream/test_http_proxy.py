"""Servers behind HTTP that are reached through a proxy which does not do it."""

from __future__ import annotations

import pytest

from tests.actors.upstream.test_http import until_state
from tests.actors.upstream.test_pool import Pool, pool, running  # noqa: F401
from tests.fixtures.raw_http import Exchange, raw_http


@pytest.mark.parametrize("proxy", ["socks5://me:hunter2@127.0.0.1:9", "ftp://me:hunter2@127.0.0.1", "http://[::1"])
async def test_a_proxy_that_cannot_be_used_is_told_without_its_password(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    proxy: str,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("http_proxy", proxy)
    pool.configure(raw={"prefix": "raw", "transport": "streamable_http", "url": "http://mcp.example/mcp"})
    async with running(pool):
        state = await until_state(pool, "raw", "failed")
        assert "the proxy of the environment cannot be used" in state.error
        assert "hunter2" not in state.error


async def test_a_proxy_that_refuses_is_named_as_what_refuses(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def connect(exchange: Exchange) -> None:
        await exchange.answer(407)

    async with raw_http(CONNECT=connect) as server:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{server.port}")
        monkeypatch.setenv("https_proxy", f"http://me:hunter2@127.0.0.1:{server.port}")
        pool.configure(raw={"prefix": "raw", "transport": "streamable_http", "url": "https://mcp.example/mcp"})
        async with running(pool):
            state = await until_state(pool, "raw", "failed")
            assert "the proxy on the way to https://mcp.example refused (407" in state.error
            assert "hunter2" not in state.error
