"""File and environment → settings."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.load import Loaded
from config.place import Place
from config.schema import Settings
from config.schema_upstream import UpstreamSettings

Load = Callable[..., Loaded]
FS = {"prefix": "fs", "command": "fs-server"}


def upstreams(loaded: Loaded) -> dict[str, UpstreamSettings]:
    return loaded.settings.proxy.upstream_servers


def errors(loaded: Loaded) -> dict[str, str]:
    return {p.key: p.message for p in loaded.problems if p.level == "error"}


def test_without_a_file_everything_has_its_default(load: Load) -> None:
    loaded = load()
    assert loaded.settings == Settings()
    assert loaded.problems == ()
    assert loaded.origins == {}
    assert loaded.file_error == ""


def test_the_file_s_root_is_the_proxy_and_sections_stand_beside_it(load: Load) -> None:
    loaded = load(
        {
            "default_compression": "none",
            "surfacing": {"max_results": 1},
            "bus": {"idle_exit_seconds": 60},
            "log_level": "WARNING",
        }
    )
    assert loaded.settings.proxy.default_compression == "none"
    assert loaded.settings.surfacing.max_results == 1
    assert loaded.settings.bus.idle_exit_seconds == 60
    assert loaded.settings.log_level == "WARNING"
    assert loaded.problems == ()


def test_environment_beats_file_beats_default_per_leaf(load: Load) -> None:
    loaded = load(
        {"cache": {"enabled": False, "max_entries": 5}, "surfacing": {"max_results": 1}},
        MEMTOMEM_STM_PROXY__CACHE__MAX_ENTRIES="7",
        MEMTOMEM_STM_SURFACING__EXCLUDE_TOOLS='["fs__*"]',
        MEMTOMEM_STM_ADVERTISE_OBSERVABILITY_TOOLS="true",
    )
    cache = loaded.settings.proxy.cache
    assert (cache.enabled, cache.max_entries, cache.default_ttl_seconds) == (False, 7, 3600)
    assert loaded.settings.surfacing.exclude_tools == ("fs__*",)
    assert loaded.settings.advertise_observability_tools
    assert loaded.origin("cache.enabled") == "file"
    assert loaded.origin("cache.max_entries") == "environment MEMTOMEM_STM_PROXY__CACHE__MAX_ENTRIES"
    assert loaded.origin("cache.default_ttl_seconds") == "default"
    assert loaded.problems == ()


def test_environment_reaches_into_upstreams_and_maps(load: Load) -> None:
    loaded = load(
        {"upstream_servers": {"Fs-1": FS | {"env": {"A": "1"}}}},
        **{"MEMTOMEM_STM_PROXY__UPSTREAM_SERVERS__FS-1__MAX_RETRIES": "9"},
        **{"MEMTOMEM_STM_PROXY__UPSTREAM_SERVERS__FS-1__ENV__Token": "x"},
    )
    server = upstreams(loaded)["Fs-1"]
    assert server.max_retries == 9
    assert server.env == {"A": "1", "Token": "x"}


def test_environment_alone_can_define_upstreams(load: Load) -> None:
    loaded = load(MEMTOMEM_STM_PROXY__UPSTREAM_SERVERS=json.dumps({"fs": FS}))
    assert upstreams(loaded)["fs"].command == "fs-server"
    assert loaded.settings.proxy.enabled


def test_a_whole_section_or_entry_in_a_variable(load: Load) -> None:
    loaded = load(
        {"default_compression": "hybrid", "advertise_context_query": True},
        MEMTOMEM_STM_PROXY='{"default_compression": "none"}',
        MEMTOMEM_STM_SURFACING__CONTEXT_TOOLS__T='{"enabled": false}',
    )
    assert loaded.settings.proxy.default_compression == "none"
    assert loaded.settings.proxy.advertise_context_query
    assert not loaded.settings.surfacing.context_tools["t"].enabled
    assert loaded.origin("default_compression") == "environment MEMTOMEM_STM_PROXY"


def test_null_stands_for_an_absent_block(load: Load) -> None:
    loaded = load({"cache": None, "upstream_servers": None, "surfacing": {"context_tools": None}})
    assert loaded.settings == Settings(stated=loaded.settings.stated)
    assert loaded.problems == ()


def test_an_object_in_a_variable_merges_with_the_file_s(load: Load) -> None:
    loaded = load({"cache": {"max_entries": 5}}, MEMTOMEM_STM_PROXY__CACHE='{"enabled": false}')
    assert (loaded.settings.proxy.cache.enabled, loaded.settings.proxy.cache.max_entries) == (False, 5)


@pytest.mark.parametrize("text", ["[1]", "null", "5", "x"])
def test_a_whole_section_in_a_variable_must_be_an_object(load: Load, text: str) -> None:
    loaded = load({"default_compression": "none"}, MEMTOMEM_STM_PROXY=text, MEMTOMEM_STM_BUS=text)
    assert loaded.settings.proxy.default_compression == "none"
    assert loaded.settings.bus.idle_exit_seconds == 900
    assert any("MEMTOMEM_STM_PROXY" in problem.message for problem in loaded.problems)


def test_names_that_cannot_be_shown_are_left_out(load: Load) -> None:
    loaded = load({"upstream_servers": {"": FS, "a\x1b[2J": FS | {"prefix": "b"}, "ok": FS | {"prefix": "c"}}})
    assert list(upstreams(loaded)) == ["ok"]
    assert all(problem.message.isprintable() for problem in loaded.problems)
    assert len(loaded.problems) == 2


def test_variable_names_are_not_case_sensitive(load: Load) -> None:
    assert load(memtomem_stm_surfacing__max_results="2").settings.surfacing.max_results == 2


def test_an_empty_variable_counts_as_unset_where_no_text_is_expected(load: Load) -> None:
    loaded = load({"surfacing": {"max_results": 1}}, MEMTOMEM_STM_SURFACING__MAX_RESULTS="")
    assert loaded.settings.surfacing.max_results == 1
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("1", True), ("YES", True), ("on", True), ("False", False), ("0", False), ("no", False)],
)
def test_switches_in_variables(load: Load, text: str, value: bool) -> None:
    assert load(MEMTOMEM_STM_HOOK__AUTO_SPAWN=text).settings.hook.auto_spawn is value


def test_hook_surface_tools_takes_commas(load: Load) -> None:
    loaded = load(MEMTOMEM_STM_HOOK_SURFACE_TOOLS="Read, Grep")
    assert loaded.settings.hook.surface_tools == ("Read", "Grep")


def test_numbers_may_be_texts_as_in_memtomem_stm(load: Load) -> None:
    loaded = load({"default_max_result_chars": "9000", "max_upstream_bytes": 1000.0})
    assert loaded.settings.proxy.default_max_result_chars == 9000
    assert loaded.settings.proxy.max_upstream_bytes == 1000
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("document", "key", "words"),
    [
        (
            {"default_max_result_chars": "many"},
            "default_max_result_chars",
            "must be a whole number or null, not a text",
        ),
        ({"default_max_result_chars": 0}, "default_max_result_chars", "must be a whole number >= 1"),
        ({"default_compression": "hybird"}, "default_compression", "did you mean hybrid?"),
        ({"default_max_result_chars": 2**60}, "default_max_result_chars", "<= 9007199254740991"),
        ({"surfacing": {"rerank": "perhaps"}}, "surfacing.rerank", "must be one of true, false, none"),
        ({"cache": {"max_entries": [1]}}, "cache.max_entries", "not a list"),
        ({"cache": 5}, "cache", "must be an object, not a number"),
        ({"min_result_retention": 2}, "min_result_retention", "<= 1.0"),
        ({"surfacing": {"exclude_tools": ["a", 1]}}, "surfacing.exclude_tools", "(at [1])"),
        ({"surfacing": {"timeout_seconds": None}}, "surfacing.timeout_seconds", "not null"),
        ({"otlp": {"headers": {"x": 1}}}, "otlp.headers", "(one of its values)"),
        ({"surfacing": {"context_tools": {"t": 1}}}, "surfacing.context_tools.t", "must be an object"),
        ({"surfacing": {"context_tools": [1]}}, "surfacing.context_tools", "must be an object of names, not a list"),
        ({"upstream_servers": ["fs"]}, "upstream_servers", "must be an object of servers by name, not a list"),
    ],
)
def test_a_wrong_value_costs_its_key_only(load: Load, document: dict[str, Any], key: str, words: str) -> None:
    loaded = load(document | {"advertise_context_query": True})
    assert loaded.settings.proxy.advertise_context_query
    assert list(errors(loaded)) == [key]
    message = errors(loaded)[key]
    assert message.startswith(f"stm_proxy.json: {key} ")
    assert words in message
    reset = loaded.settings.proxy
    assert (reset.default_max_result_chars, reset.default_compression, reset.cache.max_entries) == (
        None,
        "auto",
        10_000,
    )


def test_a_wrong_variable_is_named_as_the_source(load: Load) -> None:
    loaded = load({}, MEMTOMEM_STM_SURFACING__MAX_RESULTS="three", MEMTOMEM_STM_SURFACING__EXCLUDE_TOOLS="a,b")
    assert loaded.settings.surfacing.max_results == 3
    assert errors(loaded)["surfacing.max_results"].startswith("MEMTOMEM_STM_SURFACING__MAX_RESULTS: ")
    assert "JSON" in errors(loaded)["surfacing.exclude_tools"]


def test_values_never_stand_in_messages(load: Load) -> None:
    loaded = load(
        {"upstream_servers": {"a": {"prefix": "a", "command": "x", "headers": ["hunter2"], "max_retries": "hunter2"}}},
        MEMTOMEM_STM_LANGFUSE__ENABLED="hunter2",
        MEMTOMEM_STM_OTLP__HEADERS="hunter2",
    )
    assert len(errors(loaded)) == 4
    assert not any("hunter2" in problem.message for problem in loaded.problems)


def test_what_protects_fails_closed(load: Load) -> None:
    tool = {"hidden": [], "cache": "maybe", "expose_in_profiles": 5}
    loaded = load({"upstream_servers": {"fs": FS | {"surfacing_enabled": "?", "tool_overrides": {"t": tool}}}})
    server = upstreams(loaded)["fs"]
    own = server.tool_overrides["t"]
    assert (server.surfacing_enabled, own.hidden, own.cache, own.expose_in_profiles) == (False, True, False, ())


@pytest.mark.parametrize(
    ("document", "hint"),
    [
        ({"defualt_compression": "auto"}, "did you mean default_compression?"),
        ({"surfacin": {}}, "did you mean surfacing?"),
        ({"surfacing": {"min_scor": 1}}, "did you mean min_score?"),
        ({"upstream_servers": {"fs": FS | {"max_result_char": 1}}}, "did you mean max_result_chars?"),
        ({"upstream_servers": {"fs": FS | {"tool_overrides": {"t": {"hiden": 1}}}}}, "did you mean hidden?"),
        ({"proxy": {"enabled": True}}, "its keys stand at the root"),
        ({"zzz": 1}, "is not a known key"),
    ],
)
def test_unknown_keys_are_reported_with_a_suggestion(load: Load, document: dict[str, Any], hint: str) -> None:
    (problem,) = load(document).problems
    assert problem.level == "warning"
    assert hint in problem.message


def test_unknown_variables_are_reported_with_a_suggestion(load: Load) -> None:
    loaded = load(
        MEMTOMEM_STM_SURFACING__MIN_SCOR="1",
        MEMTOMEM_STM_LOGLEVEL="INFO",
        MEMTOMEM_STM_LOG_LEVEL__X="1",
        MEMTOMEM_STM_PROXY__CACHE__ENABLED__X="1",
        MEMTOMEM_OTHER="1",
    )
    messages = [problem.message for problem in loaded.problems]
    assert len(messages) == 4
    assert any("did you mean MEMTOMEM_STM_SURFACING__MIN_SCORE?" in message for message in messages)
    assert any("did you mean MEMTOMEM_STM_LOG_LEVEL?" in message for message in messages)


def test_variables_read_elsewhere_are_known(load: Load) -> None:
    loaded = load(
        MEMTOMEM_STM_HOME="/x",
        MEMTOMEM_STM_DATA_DIR="/x",
        MEMTOMEM_STM_PROXY__CONFIG_PATH="/x",
        MEMTOMEM_STM_HTTP_TOKEN="x",
    )
    assert loaded.problems == ()


def test_comment_keys_are_left_alone(load: Load) -> None:
    assert load({"$schema": "x", "_comment": "y", "//": "z"}).problems == ()


def test_keys_without_effect_are_noted_once(load: Load) -> None:
    server = FS | {"chars_per_token": 3, "origin": {"schema_version": 1}}
    loaded = load({"upstream_servers": {"a": server, "b": server | {"prefix": "b"}}, "metrics": {"max_history": 1}})
    assert {(p.level, p.key) for p in loaded.problems} == {
        ("note", "upstream_servers.a.chars_per_token"),
        ("note", "metrics.max_history"),
    }
    assert len(loaded.problems) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b'{"upstream_servers": {"fs"', "half-written"),
        (b"[]", "must hold a JSON object, not a list"),
        (b'"x"', "not a string"),
        (b'{\n  "a": 1,\n  "b" 2\n}', "line 3, column 7"),
        (b"\x00\xff\xfe", "is not valid JSON"),
        (b'{"a": "\xff"}', "is not valid JSON"),
        (b'{"a": NaN}', "is not valid JSON"),
        (b'{"a":' + b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "nested too deeply"),
    ],
)
def test_a_broken_file_is_one_error_and_the_environment_still_counts(load: Load, content: bytes, words: str) -> None:
    loaded = load(content, MEMTOMEM_STM_SURFACING__MAX_RESULTS="1")
    (problem,) = loaded.problems
    assert problem.level == "error"
    assert words in problem.message
    assert "stm_proxy.json" in problem.message
    assert "\n" not in problem.message
    assert loaded.file_error == problem.message
    assert loaded.settings.surfacing.max_results == 1


def test_a_directory_or_a_pipe_in_the_file_s_place(load: Load, place: Place) -> None:
    place.config_file.mkdir()
    assert "regular file" in load().file_error
    place.config_file.rmdir()
    os.mkfifo(place.config_file)
    assert "regular file" in load().file_error


def test_a_file_that_cannot_be_read(load: Load, place: Place, tmp_path: Path) -> None:
    place.config_file.symlink_to(place.config_file)
    assert "cannot read" in load().file_error
    place.config_file.unlink()
    with open(place.config_file, "wb") as file:
        file.truncate(17 * 1024 * 1024)
    assert "larger than 16 MiB" in load().file_error


def test_a_byte_order_mark_is_skipped(load: Load) -> None:
    assert load(b'\xef\xbb\xbf{"default_compression": "none"}').settings.proxy.default_compression == "none"


@pytest.mark.parametrize(
    ("entry", "key", "words"),
    [
        (5, "upstream_servers.bad", "must be an object"),
        ({"prefix": "b", "command": "x", "session": "own"}, "upstream_servers.bad.session", "must be one of"),
        ({"prefix": "b", "command": 5}, "upstream_servers.bad.command", "must be a text"),
        ({"prefix": "b", "command": "x", "args": "-y"}, "upstream_servers.bad.args", "must be a list"),
        ({"prefix": "b", "command": "x", "env": {"A": 1}}, "upstream_servers.bad.env", "left out"),
        ({"prefix": "b", "command": "x", "transport": "http"}, "upstream_servers.bad.transport", "must be one of"),
        ({"command": "x"}, "upstream_servers.bad.prefix", "is missing"),
        ({"prefix": "", "command": "x"}, "upstream_servers.bad.prefix", "only a single upstream"),
        ({"prefix": "fs", "command": "x"}, "upstream_servers.bad.prefix", "prefix of good already"),
        ({"prefix": "a__b", "command": "x"}, "upstream_servers.bad.prefix", "single underscores"),
        ({"prefix": "1a", "command": "x"}, "upstream_servers.bad.prefix", "must be a letter"),
        ({"prefix": "a-b", "command": "x"}, "upstream_servers.bad.prefix", "must be a letter"),
        ({"prefix": "a\n", "command": "x"}, "upstream_servers.bad.prefix", "must be a letter"),
        ({"prefix": "stm", "command": "x"}, "upstream_servers.bad.prefix", "is reserved"),
        ({"prefix": "mms", "command": "x"}, "upstream_servers.bad.prefix", "is reserved"),
        ({"prefix": "b"}, "upstream_servers.bad.command", "transport stdio needs"),
        ({"prefix": "b", "transport": "sse"}, "upstream_servers.bad.url", "transport sse needs"),
    ],
)
def test_a_bad_upstream_is_left_out_and_the_others_load(load: Load, entry: Any, key: str, words: str) -> None:
    loaded = load({"upstream_servers": {"good": FS, "bad": entry, "last": FS | {"prefix": "last"}}})
    assert list(upstreams(loaded)) == ["good", "last"]
    assert list(errors(loaded)) == [key]
    assert words in errors(loaded)[key]
    assert "left out" in errors(loaded)[key]


def test_a_single_upstream_may_have_an_empty_prefix(load: Load) -> None:
    assert upstreams(load({"upstream_servers": {"only": FS | {"prefix": ""}}}))["only"].prefix == ""


def test_other_wrong_keys_of_an_upstream_do_not_cost_it(load: Load) -> None:
    loaded = load({"upstream_servers": {"fs": FS | {"max_retries": "x", "cleaning": {"strip_html": []}}}})
    server = upstreams(loaded)["fs"]
    assert server.max_retries == 3
    assert server.cleaning is not None
    assert server.cleaning.strip_html
    assert set(errors(loaded)) == {"upstream_servers.fs.max_retries", "upstream_servers.fs.cleaning.strip_html"}


def test_a_url_alone_means_streamable_http(load: Load) -> None:
    loaded = load({"upstream_servers": {"web": {"prefix": "web", "url": "https://example.org/mcp"}}})
    assert upstreams(loaded)["web"].transport == "streamable_http"


@pytest.mark.parametrize(
    ("document", "enabled", "notes"),
    [
        ({}, False, 0),
        ({"upstream_servers": {"fs": FS}}, True, 0),
        ({"upstream_servers": {"fs": FS}, "enabled": True}, True, 0),
        ({"upstream_servers": {"fs": FS}, "enabled": False}, False, 1),
        ({"enabled": False}, False, 0),
    ],
)
def test_enabled_gates_advertising(load: Load, document: dict[str, Any], enabled: bool, notes: int) -> None:
    loaded = load(document)
    assert loaded.settings.proxy.enabled is enabled
    assert [p.key for p in loaded.problems if p.level == "note"] == ["enabled"] * notes


def test_thresholds_of_the_rank_scale_are_replaced(load: Load) -> None:
    loaded = load(
        {"surfacing": {"context_tools": {"t": {"min_score": 0.01}, "u": {"min_score": 0.5}}}},
        MEMTOMEM_STM_SURFACING__MIN_SCORE="0.017",
        MEMTOMEM_STM_SURFACING__AUTO_TUNE_SCORE_CEILING="0.05",
    )
    surfacing = loaded.settings.surfacing
    assert (surfacing.min_score, surfacing.auto_tune_score_ceiling) == (Settings().surfacing.min_score, 0.9)
    assert surfacing.context_tools["t"].min_score is None
    assert surfacing.context_tools["u"].min_score == 0.5
    assert {p.key for p in loaded.problems} == {
        "surfacing.min_score",
        "surfacing.auto_tune_score_ceiling",
        "surfacing.context_tools.t.min_score",
    }
    assert all("rank scale" in p.message for p in loaded.problems)


def test_holdout_is_clamped(load: Load) -> None:
    assert load({"surfacing": {"holdout_rate": 0.8}}).settings.surfacing.holdout_rate == 0.5


def test_unset_injection_caps_follow_the_model(load: Load) -> None:
    surfacing = load({"consumer_model": "gpt-4.1-mini", "surfacing": {"max_results": 1}}).settings.surfacing
    assert (surfacing.max_injection_chars, surfacing.max_results) == (6000, 1)


def test_generation_follows_content_and_settings_variables(load: Load) -> None:
    first = load({"enabled": True}).generation
    assert load({"enabled": True}, PATH="/bin").generation == first
    assert load({"enabled": False}).generation != first
    assert load({"enabled": True}, MEMTOMEM_STM_LOG_LEVEL="INFO").generation != first


def test_errors_stand_first(load: Load) -> None:
    loaded = load({"metrics": {"max_history": 1}, "zzz": 1, "default_compression": 1})
    assert [problem.level for problem in loaded.problems] == ["error", "warning", "note"]
    assert loaded.error == loaded.problems[0].message
    assert load({}).error == ""


def test_a_file_with_every_key_of_memtomem_stm_loads_without_errors(load: Load) -> None:
    document = json.loads((Path(__file__).parent / "memtomem_stm_0_6.json").read_text())
    loaded = load(document)
    assert [p.message for p in loaded.problems if p.level != "note"] == []
    server = upstreams(loaded)["everything"]
    assert server.tool_overrides["read"].hidden
    assert loaded.settings.surfacing.context_tools["everything__read"].namespace == "code"


@pytest.mark.parametrize(
    "url", ["notaurl", "ftp://host/", "https://", "http://a b/", "http://host:99999/", "//host/mcp"]
)
def test_what_is_no_address_costs_the_upstream(load: Load, url: str) -> None:
    loaded = load({"upstream_servers": {"web": {"prefix": "web", "url": url}, "fs": FS}})
    assert list(upstreams(loaded)) == ["fs"]
    assert "is no address" in errors(loaded)["upstream_servers.web.url"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/mcp", "https://[::1]/", "${BASE}/mcp", "https://h/${A:-b}"])
def test_addresses_and_references_to_them_are_taken(load: Load, url: str) -> None:
    assert upstreams(load({"upstream_servers": {"web": {"prefix": "web", "url": url}}}))["web"].url == url


def test_a_key_that_stands_twice_is_named(load: Load) -> None:
    text = b'{"cache": {"enabled": true}, "upstream_servers": {"fs": {"prefix": "a", "command": "x"}, "fs": {"prefix": '
    loaded = load(text + b'"b", "command": "y", "args": [{"k": 1, "k": 2}]}}}')
    said = {p.key: p.message for p in loaded.problems if p.level == "warning"}
    assert set(said) >= {"upstream_servers.fs", "upstream_servers.fs.args.k"}
    assert "more than once" in said["upstream_servers.fs"]


def test_a_link_to_nothing_is_no_missing_file(load: Load, place: Place) -> None:
    place.config_file.symlink_to(place.home / "moved.json")
    assert "moved.json, which does not exist" in load().file_error
