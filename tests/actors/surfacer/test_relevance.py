"""Relevance: absolute evidence, rarity, projects, scripts without spaces."""

from __future__ import annotations

import pytest

from actors.surfacer.memory import Memory
from actors.surfacer.query import extract
from actors.surfacer.relevance import Scored, score


def memory(
    text: str, *, namespace: str = "default", source: str = "notes.md", heading: str = "", rank: int = 0
) -> Memory:
    return Memory(f"m{rank}", text, source, heading, namespace, rank=rank)


def ask(asked: str, *memories: Memory, **arguments: str) -> list[Scored]:
    query = extract(server="s", tool="t", arguments=arguments, context_query=asked)
    assert query is not None
    return score(query, memories)


def relevance(asked: str, text: str, **fields: str) -> float:
    return ask(asked, memory(text, **fields))[0].relevance  # type: ignore[arg-type]


def test_it_lies_between_nothing_and_one() -> None:
    assert relevance("rotate the refresh token", "We grow onions in the garden.") == 0
    assert 0.5 < relevance("rotate the refresh token", "Rotate every refresh token on use.") <= 1


def test_a_note_that_names_the_file_is_about_it() -> None:
    def of(path: str, text: str) -> float:
        return ask("", memory(text), path=path)[0].relevance

    path = "/home/kim/src/thumbnailer/convert.py"
    assert of(path, "CMYK pictures fail; see thumbnailer/convert.py.") >= 0.7
    assert of(path, "CMYK pictures fail; see thumbnailer/convert.pyi and old-thumbnailer/convert.py.") < 0.35
    assert of(path, "Convert all prices before the release.") < 0.35


def test_one_shared_word_is_no_evidence() -> None:
    assert relevance("token bucket algorithm of network shaping", "The access token lives 15 minutes.") == 0


def test_common_words_do_not_add_up() -> None:
    text = "Update the test file of the new version and run the build."
    assert relevance("run the test and update the file for the new build", text) < 0.35


def test_an_unmistakable_word_is_enough() -> None:
    assert relevance("what does error ECONN1042 mean in production here", "ECONN1042: restart the proxy.") > 0.35


def test_a_single_asked_word_finds_its_note() -> None:
    assert relevance("pgbouncer", "pgbouncer runs in transaction mode.", heading="Pool") > 0.35


def test_a_heading_counts_more_than_the_text() -> None:
    asked = "eviction policy"
    assert relevance(asked, "noeviction", heading="Eviction policy") > relevance(
        asked, "the eviction policy is noeviction"
    )


def test_forms_of_a_word_meet() -> None:
    assert relevance("rotating refresh tokens", "Token rotation: refresh on use.") > 0.5
    assert relevance("colour of authenticated users", "Color for the authentication banner.") > 0.35


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("데이터베이스를 백업하는 절차", "데이터베이스 백업은 매일 새벽 3시에 한다."),
        ("로그인이 실패하면", "로그인 실패 5회면 계정을 잠근다."),
        ("在庫の販売停止", "マイナス在庫なら販売停止にする。"),
        ("商品価格を変更した後のキャッシュ", "商品価格を変更したらキャッシュを削除する。"),
        ("数据库备份的流程", "数据库备份每天凌晨进行。"),
    ],
)
def test_scripts_without_spaces(asked: str, text: str) -> None:
    assert relevance(asked, text) > 0.35
    assert relevance(asked, "오늘 점심은 김치찌개를 먹었다. 今日の昼ご飯はラーメン。今天吃面。") == 0


def test_technical_words_meet_across_languages() -> None:
    assert relevance("database backup schedule", "데이터베이스 백업은 매일 새벽 3시에 한다.") > 0.35


def test_the_order_of_the_memory_server_breaks_ties() -> None:
    twins = [memory("Rotate the refresh token.", rank=rank) for rank in (2, 0, 1)]
    assert [s.memory.rank for s in ask("rotate refresh token", *twins)] == [0, 1, 2]


def test_other_projects_weigh_less_and_the_own_one_fully() -> None:
    text = "Rotate the refresh token on every use."
    by_namespace = {
        name: ask("rotate refresh token", memory(text, namespace=name), path="/home/kim/src/shop/src/a.py")[0].relevance
        for name in ("default", "shop", "platformer")
    }
    assert by_namespace["default"] == by_namespace["shop"] > by_namespace["platformer"] > 0


def test_words_that_every_hit_holds_say_less() -> None:
    crowd = [memory(f"shopcore note {number} about gadget{number}", rank=number) for number in range(12)]
    few = ask("shopcore gadget3 calibration", *crowd)
    assert few[0].memory.rank == 3
    assert few[0].relevance > 2 * few[1].relevance


def test_long_memories_need_more() -> None:
    asked = "checkout rewritten stripe"
    filler = " ".join(f"word{number}" for number in range(400))
    assert relevance(asked, f"The checkout was rewritten for stripe. {filler}") < relevance(
        asked, "The checkout was rewritten for stripe."
    )


@pytest.mark.parametrize(
    ("asked", "own"),
    [
        ("explain how refresh token rotation works", "explain how our refresh token rotation works"),
        ("best refresh token rotation", "best way for my refresh token rotation"),
        ("리프레시 토큰 회전 방식을 설명해줘", "우리 리프레시 토큰 회전 방식을 설명해줘"),
        ("トークンの回転について説明して", "うちのトークンの回転について説明して"),
    ],
)
def test_questions_of_general_knowledge_need_more(asked: str, own: str) -> None:
    text = "Refresh token rotation: 리프레시 토큰 회전, トークンの回転, on every use."
    assert 0 < relevance(asked, text) < relevance(own, text)


def test_customers_are_not_custom() -> None:
    assert relevance("customer invoices of June", "Custom metrics tripled the June bill.") == 0


def test_explained_sql_is_sql() -> None:
    plain = extract(server="s", tool="t", arguments={"sql": "SELECT amount FROM ledger_entries WHERE closed"})
    for prefix in ("EXPLAIN ", "explain analyze ", "EXPLAIN (ANALYZE, BUFFERS) "):
        sql = prefix + "SELECT amount FROM ledger_entries WHERE closed"
        query = extract(server="s", tool="t", arguments={"sql": sql})
        assert query is not None and plain is not None
        assert query.text == plain.text
