"""Reports while `compression_feedback` is switched off."""

from __future__ import annotations

import json

from actors.tuner.actor import TunerActor
from actors.tuner.messages import ReportCompression
from bus.client import Bus
from bus.endpoint import Runtime
from config.place import Place


async def test_a_report_is_refused_and_says_which_setting(place: Place) -> None:
    place.config_file.write_text(json.dumps({"compression_feedback": {"enabled": False}}))
    tuner = TunerActor(place)
    await tuner.start()
    bus = Bus(Runtime(place.runtime), "test")
    request = ReportCompression(server="fs", tool="read", missing="the second half", kind="truncated")
    recorded = await bus.ask(request, timeout=10)
    assert (recorded.ok, recorded.recorded) == (False, 0)
    assert "compression_feedback.enabled is false" in recorded.text
    bus.close()
    await tuner.stop(drain=0.1)
