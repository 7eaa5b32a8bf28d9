"""Selection telemetry (opt-in): for each call, which tool was chosen among which, and how it ended."""

from __future__ import annotations

import hashlib
import secrets

from actors.telemetry.messages import ExecutionEvent, SelectionEvent
from actors.upstream.messages import Withheld
from bus.outbox import Outbox
from config.schema_proxy import ProxySettings
from gateway.catalogue import CatalogueView
from gateway.ranking import ToolIndex

PASS_THROUGH = "v0-passthrough"  # noqa: S105 (a cohort's name)
BM25 = "v1-bm25-tool-relevance"
BM25_RISK = "v2-bm25-risk-penalty"
NOT_REJECTED = ("disconnected",)
"""Reasons that say something about a server, not about a tool."""
CODES = {"invalid_schema": "registration_declined"}
"""Our reasons where the log has another word for them; all others are the log's own."""


class Selections:
    """Records calls, to be asked only while they are wanted.

    Attributes:
        settings: the ones in force.
    """

    def __init__(self, events: Outbox, catalogue: CatalogueView, settings: ProxySettings) -> None:
        self._events = events
        self._catalogue = catalogue
        self._index = ToolIndex(())
        self._indexed = ""
        self.settings = settings

    @property
    def wanted(self) -> bool:
        return self.settings.selection_telemetry.enabled

    def record(
        self,
        *,
        server: str,
        tool: str,
        arguments: bytes,
        query: str,
        trace_id: str,
        error_type: str,
        latency_ms: float,
        cached: bool,
        retries: int,
    ) -> None:
        """One call that is over.

        Args:
            tool: the advertised name. arguments: their JSON, of which only digest and length are recorded.
            query: what the call looks for, if known. error_type: class name, empty when it went well.
        """
        selection_id = secrets.token_hex(8)
        features, demotes = self._features(query)
        names = self._catalogue.names()
        self._events.add(
            SelectionEvent(
                trace_id=trace_id,
                selection_id=selection_id,
                server=server,
                selected_tool=tool,
                candidate_tools=names,
                candidate_count=len(names),
                reject_reasons=reject_reasons(self._catalogue.withheld),
                candidate_features=features,
                graph_generation=self._catalogue.graph_generation,
                args_sha256=hashlib.sha256(arguments).hexdigest(),
                args_chars=len(arguments.decode("utf-8", "replace")),
                ranker_version=PASS_THROUGH if features is None else BM25_RISK if demotes else BM25,
            )
        )
        self._events.add(
            ExecutionEvent(
                trace_id=trace_id,
                selection_id=selection_id,
                server=server,
                selected_tool=tool,
                ok=not error_type,
                latency_ms=round(latency_ms, 3),
                error_type=error_type,
                cache_hit=cached,
                retry_count=retries,
            )
        )

    def _features(self, query: str) -> tuple[dict[str, dict[str, float]] | None, bool]:
        """Rank and score of the best candidates, and whether any tool is demoted; `None` when there is no query, or
        ranking is off."""
        ranking = self.settings.tool_relevance
        if not query or not ranking.enabled:
            return None, False
        if self._indexed != self._catalogue.generation:
            tools = (self._catalogue.find(name) for name in self._catalogue.names())
            self._index = ToolIndex((tool.name, f"{tool.name} {tool.description}") for tool in tools if tool)
            self._indexed = self._catalogue.generation
        penalties = self._catalogue.penalties
        ranked = self._index.rank(query, ranking.top_n, penalties)
        features = {
            name: {"rank": rank, "bm25": round(score, 4)} | _demotion(score, penalties.get(name, 0.0))
            for rank, (name, score) in enumerate(ranked, 1)
        }
        return features, bool(penalties)


def _demotion(score: float, penalty: float) -> dict[str, float]:
    return {"risk_penalty": penalty, "final": round(score * (1 - penalty), 4)} if penalty else {}


def reject_reasons(withheld: tuple[Withheld, ...]) -> dict[str, str]:
    """The tools that were withheld, `server__tool` → code."""
    return {
        f"{tool.server}__{tool.tool}": CODES.get(tool.reason, tool.reason)
        for tool in withheld
        if tool.reason not in NOT_REJECTED
    }
