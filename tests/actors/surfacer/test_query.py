"""Five stages, the first usable one wins; what arguments are about.

The home folders in the paths are made up: that they are cut off is what is tested.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.surfacer.query import LONGEST_QUERY, Query, extract

HOME = "/home/kim/src"
"""Of nobody: where a user keeps projects is cut off, whoever it is."""


def query(tool: str = "read_file", context_query: str = "", template: str = "", **arguments: Any) -> Query | None:
    return extract(server="fs", tool=tool, arguments=arguments, context_query=context_query, template=template)


def found(tool: str = "read_file", context_query: str = "", template: str = "", **arguments: Any) -> Query:
    made = query(tool, context_query, template, **arguments)
    assert made is not None
    return made


def words(made: Query) -> set[str]:
    return {term.token.surface.casefold() for term in made.terms}


def test_a_template_comes_first() -> None:
    made = found("deploy_log", "other", "{server} {tool_name} {arg.topic} {arg.missing}", topic="rollout")
    assert (made.stage, made.text) == (1, "fs deploy_log rollout")


def test_a_short_template_falls_through() -> None:
    assert found(template="{arg.topic}", context_query="JWT", topic="x").stage == 2


def test_context_query_is_taken_as_it_is_and_always_usable() -> None:
    made = found(context_query="  JWT  ", path="src/auth/handler.py")
    assert (made.stage, made.text) == (2, "JWT")


@pytest.mark.parametrize("key", ["path", "paths", "file", "files", "filepath", "file_path", "filename"])
def test_path_arguments(key: str) -> None:
    made = found(**{key: "src/auth/handler.py"})
    assert made.stage == 3
    assert words(made) == {"auth", "handler"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{HOME}/thumbnailer/convert.py", "thumbnailer/convert.py"),
        ("C:\\work\\shop\\Auth\\Handler.cs", "auth/handler.cs"),
        ("billing/auth/index.ts", "auth/index.ts"),
        ("billing/src/index.ts", ""),
        (f"{HOME}/shop/auth/tokens", ""),
    ],
)
def test_a_file_is_known_as_a_note_would_name_it(path: str, name: str) -> None:
    assert found(path=path).files == (frozenset({name}) if name else frozenset())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"resourceType": "ingress", "name": "checkout", "namespace": "shop"}, {"ingress", "checkout", "shop"}),
        ({"channel": "ship-war-room", "limit": 100}, {"ship", "war", "room"}),
        ({"schema": "public", "table": "ledger_entry_tags"}, {"ledger", "entry", "tags"}),
    ],
)
def test_what_servers_call_their_things(arguments: dict[str, object], expected: set[str]) -> None:
    made = found(**arguments)
    assert made.stage == 4
    assert expected <= words(made)


def test_other_keys_are_no_paths() -> None:
    assert query(directory="src/auth/handler.py") is None


@pytest.mark.parametrize(
    ("path", "project", "expected"),
    [
        (f"{HOME}/shop-api/src/auth/refreshToken.ts", "shop-api", {"auth", "refresh", "token"}),
        (
            "/Users/lee/dev/shop/db/migrations/0042_orders_add_column.py",
            "shop",
            {"db", "migrations", "orders", "column"},
        ),
        ("C:\\Users\\lee\\projects\\shop\\billing\\InvoiceNumber.cs", "shop", {"billing", "invoice", "number"}),
        ("file:///home/kim/code/game/player/jump_buffer.gd", "game", {"player", "jump", "buffer"}),
        ("web/src/결제/환불_처리.tsx", "", {"결제", "환불", "처리"}),
    ],
)
def test_the_work_folder_is_cut_and_the_repository_is_the_project(path: str, project: str, expected: set[str]) -> None:
    made = found(path=path)
    assert made.project == project
    assert expected <= words(made)
    assert not words(made) & {"src", "home", "users", "kim", "lee", "work", "dev", "ts", "py"}


@pytest.mark.parametrize(
    "path", ["package.json", "README.md", "src/index.ts", "node_modules/stripe/lib/webhooks.js", "/home/kim/x"]
)
def test_paths_that_say_nothing(path: str) -> None:
    assert query(path=path) is None


def test_a_folder_beside_a_question_is_where_to_look() -> None:
    made = found("Grep", pattern="refresh_token|rotate", path=f"{HOME}/shop/src/auth")
    assert (made.stage, made.project) == (4, "shop")
    assert {"refresh", "token", "rotate", "auth"} == words(made)


def test_semantic_keys_are_combined_and_ids_skipped() -> None:
    made = found(
        "create_plan",
        title="Cursor pagination",
        description="for the partner endpoints",
        q="8f14e45f-ceea-467a-9c3b-2f1b3c4d5e6f 3f2a1b9c8d7e true",
        keywords=["opaque", {"text": "base64"}],
    )
    assert made.stage == 4
    assert words(made) == {"cursor", "pagination", "partner", "endpoints", "opaque", "base64"}


@pytest.mark.parametrize(
    ("arguments", "project", "expected", "absent"),
    [
        (
            {"query": "repo:acme/shop is:open label:bug author:kim login redirect loop"},
            "shop",
            {"login", "redirect", "loop", "bug"},
            {"open", "kim", "acme"},
        ),
        (
            {"query": 'project = PAY AND status = "In Progress" AND text ~ "refund webhook retries"'},
            "pay",
            {"refund", "webhook", "retries"},
            {"progress", "status"},
        ),
        (
            {"query": "SELECT o.total FROM orders o JOIN refunds r ON r.order_id = o.id WHERE o.state = 'secretvalue'"},
            "",
            {"orders", "refunds", "total"},
            {"select", "join", "secretvalue"},
        ),
        (
            {"command": f"cd {HOME}/shop && npx jest tests/payments/refund.test.ts -t 'stripe webhook' | tail"},
            "shop",
            {"jest", "payments", "refund", "stripe", "webhook"},
            {"npx", "tail", "cd", "home"},
        ),
        (
            {"url": "https://docs.stripe.com/webhooks/signature-verification?utm=abc#replay"},
            "",
            {"stripe", "webhooks", "signature", "verification", "replay"},
            {"https", "docs", "utm"},
        ),
        (
            {"url": "https://github.com/acme/shop/blob/main/billing/invoice_number.py"},
            "shop",
            {"billing", "invoice", "number"},
            {"github", "acme", "blob"},
        ),
        ({"pattern": r"def\s+rotate_refresh\(", "path": "."}, "", {"def", "rotate", "refresh"}, {"s"}),
        ({"query": "데이터베이스를 백업하고 복구하는 절차"}, "", {"데이터베이스", "백업", "복구", "절차"}, set()),
        ({"query": "マイナス在庫の販売停止"}, "", {"マイナス", "在庫", "販売", "停止"}, set()),
    ],
)
def test_argument_languages(arguments: dict[str, Any], project: str, expected: set[str], absent: set[str]) -> None:
    made = found("lookup", **arguments)
    assert made.stage == 4
    assert made.project == project
    assert expected <= words(made)
    assert not words(made) & absent


@pytest.mark.parametrize(
    "arguments",
    [
        {"page": 3, "per_page": 50},
        {"id": "8f14e45f-ceea-467a-9c3b-2f1b3c4d5e6f"},
        {"query": "redis"},
        {"query": "get the latest version of this file"},
        {"command": "ls -la && git status"},
        {"url": "https://github.com/acme/shop/pull/1234"},
        {"query": "is:open is:issue sort:updated"},
    ],
)
def test_what_would_fit_any_memory_is_no_query(arguments: dict[str, Any]) -> None:
    assert query("search", **arguments) is None


def test_the_tool_name_is_the_last_resort_and_never_padding() -> None:
    made = found("slack_channel_history", limit=20)
    assert (made.stage, made.text) == (5, "slack channel history")
    assert query("search_repos", limit=20) is None
    assert "search" not in words(found("search_repos", query="rate limit of partner keys"))


def test_identifiers_are_taken_apart() -> None:
    made = found(context_query="OAuthClient_v2 handleAuthCallback PostgreSQL iOS k8s")
    assert {"oauth", "client", "v2", "auth", "callback", "postgre", "ios", "k8s"} <= words(made)


def test_scripts_without_spaces_are_searched_for_by_the_word_too() -> None:
    """Full-text indexes hold the whole run between spaces, particles and all."""
    query = extract(server="s", tool="t", arguments={}, context_query="본번 배포는 언제 하나요")
    assert query is not None
    assert query.text == "본번 배포는 언제 하나요"
    assert {"본번", "배포는", "배포"} <= set(query.search_text.split())
    query = extract(server="s", tool="t", arguments={}, context_query="本番リリースは何曜日ですか")
    assert query is not None
    assert {"本番リリース", "本番", "リリース"} <= set(query.search_text.split())
    query = extract(server="s", tool="t", arguments={}, context_query="when is the next release")
    assert query is not None
    assert query.search_text == query.text


@pytest.mark.parametrize("key", ["sql", "jql"])
def test_query_languages_under_their_own_names(key: str) -> None:
    values = {"sql": "SELECT last_contact_reason FROM churn_features", "jql": 'project = A AND text ~ "stub zone lost"'}
    query = extract(server="s", tool="run", arguments={key: values[key]})
    assert query is not None
    assert query.stage == 4


def test_the_digest_ignores_case_and_the_text_is_bounded() -> None:
    assert found(context_query="Rotate KEYS").digest == found(context_query="rotate keys").digest
    assert len(found(context_query="word " * 5000).text) <= LONGEST_QUERY


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_keys = st.sampled_from(["path", "query", "command", "url", "pattern", "text", "repo", "x"])


@settings(max_examples=150, deadline=None)
@given(arguments=st.dictionaries(_keys, _json | st.text(max_size=300), max_size=5), asked=st.text(max_size=80))
def test_any_arguments_give_a_bounded_query_or_none(arguments: dict[str, Any], asked: str) -> None:
    made = extract(server="s", tool="t", arguments=arguments, context_query=asked)
    assert made is None or (0 < len(made.text) <= LONGEST_QUERY and all(term.weight > 0 for term in made.terms))
