"""Whatever stands in the file or the environment, loading gives complete settings and one-line findings."""

from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.environment import known_variables
from config.fields import Block, fields_of
from config.leaves import leaves
from config.load import interpret
from config.policy import tool_policy
from config.schema import Settings
from config.schema_proxy import ProxySettings
from config.session import SessionSettings

PATH = Path("stm_proxy.json")

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["auto", "5", "-1", "true", "on", "fs", "stdio", "${X}", "1e400"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def documents(block: type[Block], depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with keys of the block, mostly with the wrong values."""
    keys: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in fields_of(block).items():
        keys[name] = values
        if depth and field.block:
            keys[name] = values | documents(field.block, depth - 1)
        elif depth and field.entries:
            names = st.text(max_size=4) | st.sampled_from(["fs", "web"])
            keys[name] = values | st.dictionaries(names, values | documents(field.entries, depth - 1), max_size=3)
    chosen = st.lists(st.sampled_from(sorted(keys)), max_size=6, unique=True)
    known = chosen.flatmap(lambda some: st.fixed_dictionaries({key: keys[key] for key in some}))
    return st.builds(lambda a, b: a | b, st.dictionaries(st.text(max_size=4), values, max_size=1), known)


roots = st.builds(lambda a, b: a | b, documents(ProxySettings), documents(Settings, 2))
environments = st.dictionaries(
    st.sampled_from([*sorted(known_variables()), "MEMTOMEM_STM_PROXY__UPSTREAM_SERVERS__FS__PREFIX", "MEMTOMEM_STM_X"]),
    st.text(max_size=6) | st.sampled_from(["{}", "[]", '{"a":1}', '{"enabled":{"x":[]}}', "null", "5", "true"]),
    max_size=4,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(roots, environments)
def test_loading_never_fails_and_says_what_it_left_out(document: dict[str, Any], env: dict[str, str]) -> None:
    before = msgspec.json.encode(document)
    loaded = interpret(document, env, PATH)
    assert msgspec.json.encode(document) == before
    for problem in loaded.problems:
        assert problem.message.isprintable()
    for leaf in leaves(loaded.settings):
        loaded.origin(leaf.key)
    msgspec.json.encode(loaded.settings)
    for name, upstream in loaded.settings.proxy.upstream_servers.items():
        assert upstream.command or upstream.url
        policy = tool_policy(loaded.settings, name, "any", SessionSettings.from_environment(env))
        assert policy.max_chars > 0
        assert policy.max_tokens > 0
    prefixes = [upstream.prefix for upstream in loaded.settings.proxy.upstream_servers.values()]
    assert len(prefixes) == len(set(prefixes))
    assert "" not in prefixes or len(document.get("upstream_servers") or {}) <= 1


def test_every_key_is_documented() -> None:
    assert [leaf.key for leaf in leaves(Settings()) if not leaf.text] == []
