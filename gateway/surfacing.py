"""The step of a call that asks for memories, when the gates that need no state pass."""

from __future__ import annotations

import time

from actors.surfacer.messages import Surface, Surfaced
from bus.errors import BusError, DeadlineExceeded
from bus.message import Blob
from config.policy import InjectionPolicy, ToolPolicy
from config.schema_surfacing import SurfacingSettings
from config.surfacing_gate import static_reason
from gateway.call import Call, Notes
from gateway.parts import Parts
from gateway.response import Response


class Surfacing:
    """Asks the surfacer; never longer than `timeout_seconds`, and never for one that is not there.

    Attributes:
        settings / injection: what the configuration, and this client, want.
    """

    def __init__(self, parts: Parts, settings: SurfacingSettings, injection: InjectionPolicy) -> None:
        self._parts = parts
        self.settings = settings
        self.injection = injection

    async def surface(self, call: Call, policy: ToolPolicy, response: Response, notes: Notes) -> Surfaced | None:
        """Asks for memories when the gates that need no state pass."""
        entry = call.entry
        reason = (
            "upstream_error"
            if response.is_error
            else policy.surfacing_skip
            or static_reason(
                self.settings,
                server=entry.server,
                tool=entry.tool,
                advertised=entry.name,
                declared_writer=entry.writes,
                upstream_enabled=True,
                response_chars=notes.cleaned_chars,
                has_context_query=bool(call.context_query),
            )
        )
        if not reason and self.injection.mode == "prepend" and "progressive" in notes.strategy:
            reason = "progressive_mode_conflict"
        notes.surfacing = reason
        if reason:
            return None
        started = time.perf_counter()
        request = Surface(
            server=entry.server,
            tool=entry.tool,
            advertised=entry.name,
            arguments=Blob(call.arguments),
            context_query=call.context_query,
            response_chars=notes.cleaned_chars,
            session=call.session,
            trace_id=notes.trace_id,
            max_injection_chars=self.injection.max_chars,
            max_results=self.injection.max_results,
            declared_writer=entry.writes,
        )
        try:
            surfaced = await self._parts.ask(
                request, timeout=self.settings.timeout_seconds, wait=0.0, trace_id=notes.trace_id
            )
        except DeadlineExceeded:
            notes.surfacing = "timeout"
            return None
        except BusError:
            notes.surfacing, notes.degraded = "ltm_unavailable", notes.degraded or "surfacer"
            return None
        finally:
            notes.surface_ms = (time.perf_counter() - started) * 1000
        notes.surfacing = surfaced.reason or "surfaced"
        return surfaced
