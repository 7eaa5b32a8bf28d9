"""The checks of `mms doctor` that concern the compressor: its replicas, and the models that summarise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bus.errors import ConfigError
from bus.replicas import actor_of
from cli.cluster import REPLICATED
from cli.doctor_checks import Check
from cli.health import Health
from cli.output import count, printable
from config.llm import endpoint, summarised
from config.load import Loaded

EDIT = '$EDITOR "$(mms config path)"'
MOST_NAMES = 3


def check_compressors(loaded: Loaded, found: Health | None) -> Iterator[Check]:
    """Whether as many replicas run as are configured; nothing to say about a single one."""
    wanted = loaded.settings.bus.compressor_replicas
    if found is None or not found.survey.actors:
        return
    run = sum(actor_of(line.name) == REPLICATED for line in found.survey.actors)
    if run != wanted:
        text = f"{count(run, 'compressor')} in the cluster, bus.compressor_replicas says {wanted}"
        yield Check("compressors", "WARN", text, "mms restart")
    elif run > 1:
        yield Check("compressors", "PASS", f"{count(run, 'compressor')} share the load")


def check_models(loaded: Loaded, found: Health | None, env: Mapping[str, str]) -> Iterator[Check]:
    """Whether each model of `llm_summary` has an address and a key in this environment; none is asked."""
    places: dict[str, list[str]] = {}
    for name, settings in summarised(loaded.settings).items():
        try:
            where = endpoint(settings, env)
        except ConfigError as error:
            yield Check("llm", "FAIL", printable(f"{name}: {error.message}; until then it is shortened locally"), EDIT)
        else:
            places.setdefault(f"{where.provider} {where.model} at {where.host}", []).append(name)
    for model, names in places.items():
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        yield Check("llm", "PASS", printable(f"{model} summarises {', '.join(names[:MOST_NAMES])}{more}"))
    if found is not None and found.summaries is not None:
        for model in found.summaries.resting:
            text = f"{model} failed repeatedly and rests; it is tried again by itself"
            yield Check("llm", "WARN", printable(text), "mms logs compressor")
