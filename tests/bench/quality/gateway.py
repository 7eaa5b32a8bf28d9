"""The same measurement through a gateway process, as a client sees it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.calls import UPSTREAM
from tests.bench.client import BenchClient
from tests.bench.quality.facts import Payload
from tests.bench.quality.measure import Row, measure
from tests.fixtures.home import MMS, Home


def through_gateway(payloads: Sequence[Payload], strategy: str) -> list[Row]:
    """Each payload as the answer of an echo tool behind `mms gateway`. The CPU column is of this process only."""
    home = Home()
    home.configure(
        {"b": {"command": UPSTREAM[0], "args": UPSTREAM[1:], "prefix": "b", "compression": strategy}}, telemetry={}
    )
    client = BenchClient([str(MMS), "gateway"], home.environment(), str(home.path))

    def text_of(name: str, arguments: dict[str, object]) -> str:
        result = client.request("tools/call", {"name": name, "arguments": arguments})
        return "\n".join(str(block.get("text", "")) for block in result["content"])

    def first(text: str, query: str) -> str:
        return text_of("b__echo", {"text": text, **({"_context_query": query} if query else {})})

    def more(key: str, find: str, offset: int) -> str:
        where: dict[str, object] = {"find": find} if find else {"offset": offset}
        return text_of("stm_proxy_read_more", {"key": key, **where})

    try:
        client.until_listed("b__echo")
        return [measure(payload, first, more) for payload in payloads]
    finally:
        client.close()
        home.mms("down")
        home.remove()
