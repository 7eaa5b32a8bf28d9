"""What a tool-graph provider says about tools, and what follows from it. Pure.

The provider is a separate MCP server that decides which tools an agent may see. A verdict on a tool is a signal like
any other: the exposure profile `strict` withholds for it, `review` demotes, `explore` ignores it. What the
configuration wants when the provider fails holds in every profile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from bus import jsonrpc
from config.schema_proxy import OnFailure, ToolgraphSettings

TOOL = "eligible_tools"
CODE = "toolgraph_"
PENDING = f"{CODE}pending"
NOT_FOUND = f"{CODE}tool_not_found"
MAX_CODE = 40
_ODD = re.compile(r"[^a-z0-9]+")

FailureKind = Literal["unreachable", "protocol_error", "agent_not_found"]


class ProviderError(Exception):
    """The provider gave no verdict. It stays within this actor."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Answer(msgspec.Struct, frozen=True):
    """What the provider said about all tools at one time.

    Attributes:
        generation: of its graph.
        asked: candidates it was asked about, `server::tool`.
        rejected: reason codes of those it rejects.
    """

    generation: int
    asked: frozenset[str]
    rejected: dict[str, str]


@dataclass(frozen=True)
class Ruling:
    """Why a tool is not to be shown.

    Attributes:
        reason: code; detail: for people.
        firm: in every profile: the provider failed, and the configuration wants a verdict.
    """

    reason: str
    detail: str
    firm: bool


@dataclass(frozen=True)
class Standing:
    """What is known at a time.

    Attributes:
        answer: the last one. live: it was given in this run. failure: why the last question had none.
    """

    answer: Answer | None = None
    live: bool = False
    failure: FailureKind | None = None
    error: str = ""


def candidate(server: str, tool: str, names: Mapping[str, str]) -> str:
    """How the provider calls a tool; `names` are its names for our servers."""
    return f"{names.get(server, server)}::{tool}"


def question(settings: ToolgraphSettings, candidates: list[str]) -> bytes:
    """JSON of the params of `tools/call`."""
    arguments = {"agent": settings.agent_id, "candidates": candidates, "profile": settings.query_profile}
    return jsonrpc.encode({"name": TOOL, "arguments": arguments})


def read(result: bytes, candidates: list[str], agent: str) -> Answer:
    """The answer in the JSON of a tool result; it stands in `structuredContent`, or in a text block.

    Raises:
        ProviderError: it is none, or the provider does not know the agent.
    """
    try:
        outer = msgspec.json.decode(result, type=_Result)
        verdict = _verdict(outer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProviderError("protocol_error", f"{TOOL} answered in another shape: {error}") from None
    if not verdict.agent_found:
        raise ProviderError("agent_not_found", f"the provider does not know the agent {agent} (toolgraph.agent_id)")
    if verdict.rejected is None:
        raise ProviderError("protocol_error", f"{TOOL} answered without `rejected`")
    asked = frozenset(candidates)
    rejected = {one.candidate: code(one.reason) for one in verdict.rejected if one.candidate in asked}
    return Answer(verdict.graph_generation, asked, rejected)


def code(reason: str) -> str:
    """The reason code of the provider's reason: `NOT_GRANTED` → `toolgraph_not_granted`."""
    return CODE + (_ODD.sub("_", reason.casefold()).strip("_")[:MAX_CODE] or "rejected")


def withholds_all(standing: Standing, settings: ToolgraphSettings) -> bool:
    """Whether no tool is shown, since a verdict is wanted and none was given."""
    if standing.failure is None:
        return False
    return _knob(standing.failure, settings) == "closed" or _has_not_started(standing, settings)


def rule(standing: Standing, settings: ToolgraphSettings, ref: str) -> Ruling | None:
    """What holds for one tool; `None` = it may be shown."""
    failure, answer = standing.failure, standing.answer
    if failure is not None and withholds_all(standing, settings):
        return Ruling(CODE + failure, standing.error, firm=True)
    if answer is not None and ref in answer.asked:
        reason = answer.rejected.get(ref)
        if reason is None or (reason == NOT_FOUND and settings.on_tool_not_found == "open"):
            return None
        return Ruling(reason, f"the tool-graph provider rejects it (generation {answer.generation})", firm=False)
    if failure is None:
        return Ruling(PENDING, "the tool-graph provider has not answered yet", firm=False)
    if _knob(failure, settings) == "open":
        return None
    return Ruling(CODE + failure, standing.error, firm=True)


def _has_not_started(standing: Standing, settings: ToolgraphSettings) -> bool:
    """`fail_start`: an answer of an earlier run stands in for a provider that is away, not for one that is broken."""
    if standing.failure is None or _knob(standing.failure, settings) != "fail_start":
        return False
    bridged = standing.answer is not None and standing.failure == "unreachable"
    return not (standing.live or bridged)


def _knob(failure: FailureKind, settings: ToolgraphSettings) -> OnFailure:
    knobs: dict[FailureKind, OnFailure] = {
        "unreachable": settings.on_unreachable,
        "protocol_error": settings.on_protocol_error,
        "agent_not_found": settings.on_agent_not_found,
    }
    return knobs[failure]


_Generation = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]


class _Rejected(msgspec.Struct):
    candidate: str
    reason: str


class _Verdict(msgspec.Struct):
    agent_found: bool
    graph_generation: _Generation
    rejected: list[_Rejected] | None = None


class _Result(msgspec.Struct, rename="camel"):
    content: list[Any] = []
    structured_content: msgspec.Raw | UnsetType = UNSET
    is_error: bool = False


def _verdict(result: _Result) -> _Verdict:
    texts = [block["text"] for block in result.content if _is_text(block)]
    if result.is_error:
        raise ProviderError("protocol_error", f"{TOOL} answered with an error")
    raw = b"" if result.structured_content is UNSET else bytes(result.structured_content)
    if raw[:1] != b"{":
        raw = "\n".join(texts).encode("utf-8", "surrogatepass")
    return msgspec.json.decode(raw, type=_Verdict)


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
