"""Texts that people structure by hand: headings with rules, manuals, settings among comments, mentions of trouble."""

from __future__ import annotations

import random

import pytest

from actors.compressor.deadlines import due
from actors.compressor.detect import Kind, detect
from actors.compressor.outline import underlined
from actors.compressor.sentences import unlike
from actors.compressor.trouble import trouble
from actors.compressor.units import split
from tests.actors.compressor.texts import sentence, shortened


@pytest.fixture
def rng() -> random.Random:
    """The same sentences whichever other tests run."""
    return random.Random(3)


def prose(rng: random.Random, count: int = 6) -> str:
    return "\n".join(sentence(rng) for _ in range(count))


def test_headings_with_a_rule_and_their_levels() -> None:
    units = split("Title\n=====\n\ntext\n\nPart one\n--------\n\n----\n\nmore\n\nPart two\n--------\n")
    assert {units.contents[at]: level for at, level in underlined(units).items()} == {
        "Title": 1, "Part one": 2, "Part two": 2,
    }  # fmt: skip


def test_release_notes_keep_every_release(rng: random.Random) -> None:
    text = "".join(
        f"What is new in 3.{at}?\n====================\n\nCore\n----\n\n"
        + "".join(f"- {prose(rng, 3)}\n" for _ in range(12))
        for at in range(40)
    )
    out = shortened(text)
    assert all(f"What is new in 3.{at}?" in out for at in range(40))


def test_a_manual_keeps_its_options(rng: random.Random) -> None:
    options = [f"--option-{at} <value>" for at in range(120)]
    text = "NAME\n       tool - does it\n\nOPTIONS\n" + "".join(
        f"       {option}\n\t      {sentence(rng)}\n\t      An error is an error: {sentence(rng)}\n\n"
        for option in options
    )
    out = shortened(text)
    assert all(option in out for option in options)


def test_settings_among_comments_stay(rng: random.Random) -> None:
    text = "".join(
        f"# {sentence(rng)}\n# {sentence(rng)}\n# Default: {at}\nsetting.{at} = {at * 3}\n\n" for at in range(150)
    )
    out = shortened(text)
    assert all(f"setting.{at} = {at * 3}" in out for at in range(150))


def test_mail_keeps_its_subjects(rng: random.Random) -> None:
    text = "".join(
        f"From: a{at}@example.org\nSubject: topic {at} {sentence(rng, 3)}\n\n{prose(rng)}\n> {prose(rng, 2)}\n\n"
        for at in range(60)
    )
    out = shortened(text)
    assert all(f"Subject: topic {at} " in out for at in range(60))


def test_mentions_of_trouble_count_where_they_are_rare(rng: random.Random) -> None:
    rare = split("\n".join([*(sentence(rng) for _ in range(90)), "Then the disk failed: an error."]))
    assert list(trouble(rare)) == [90]
    usual = split(
        "\n".join([*(f"How error {at} failed us, and what it means." for at in range(90)), "a.c:3:1: error: no x"])
    )
    ranks = trouble(usual)
    assert ranks[90] > max(rank for index, rank in ranks.items() if index != 90)


def test_an_agreement_keeps_its_sums(rng: random.Random) -> None:
    text = "AGREEMENT\n\n"
    for at in range(1, 80):
        second = "The liability shall not exceed EUR 250,000." if at == 33 else sentence(rng)
        text += f"{at}.1 {sentence(rng)}\n{at}.2 {second}\n{at}.3 {sentence(rng)} {sentence(rng)}\n\n"
    assert "33.2 The liability shall not exceed EUR 250,000." in shortened(text)


def test_a_warning_among_the_comments_of_settings_stays(rng: random.Random) -> None:
    text = ""
    for at in range(150):
        said = "DANGER: this deletes the archive." if at == 70 else sentence(rng)
        text += f"# {said}\n# {sentence(rng)}\nkey.{at} = {at}\n\n"
    assert "DANGER: this deletes the archive." in shortened(text)


def test_terms_with_their_explanation_beside_them_stay() -> None:
    commands = [f"  manage-part-{at:<10} Looks after part {at} of the fleet." for at in range(40)]
    options = [
        f"  --option-{at} VALUE\n{' ' * 24}What option {at} sets.\n{' ' * 24}Its default is {at}." for at in range(150)
    ]
    text = "usage: fleet <command>\n\ncommands:\n" + "\n".join(commands) + "\n\noptions:\n" + "\n".join(options)
    out = shortened(text)
    assert all(f"manage-part-{at} " in out for at in range(40))
    assert all(f"--option-{at} " in out for at in range(150))


def test_names_of_servers_and_facts_that_something_is_broken_stay() -> None:
    servers = "".join(
        f"    server {{\n        listen 443 ssl;\n        server_name host{at}.example.org;\n"
        f"        location /part {{\n            proxy_pass http://part_{at}:8000;\n        }}\n    }}\n"
        for at in range(120)
    )
    out = shortened(f"user nginx;\nhttp {{\n{servers}}}\n")
    assert all(f"server_name host{at}.example.org;" in out for at in range(120))
    facts = [f"some_figure_{at}:{at * 7919 % 99_991}" for at in range(900)]
    facts[333], facts[666] = "rdb_last_bgsave_status:err", "master_link_status:down"
    out = shortened("# Server\n" + "\n".join(facts))
    assert facts[333] in out
    assert facts[666] in out


def filler(count: int, seed: int) -> str:
    rng = random.Random(seed)
    return "\n".join(sentence(rng, 60) for _ in range(count))


def test_headings_of_wikis_stay_however_many_they_are() -> None:
    parts = [f"{'=' * (2 + at % 2)} Section number {at} {'=' * (2 + at % 2)}\n{filler(2, at)}\n" for at in range(30)]
    out = shortened("The Danube is a river.\n\n" + "\n".join(parts))
    assert all(f"Section number {at} =" in out for at in range(30))


def test_what_is_announced_in_capitals_stays() -> None:
    paragraphs = [filler(4, at) for at in range(40)]
    paragraphs[20] += "\nMATERIAL WEAKNESS: controls over revenue recognition were not effective.\n" + filler(1, 99)
    assert "MATERIAL WEAKNESS: controls" in shortened("\n\n".join(paragraphs))


def test_what_a_tree_of_packages_finds_invalid_stays() -> None:
    lines = [f"| +-- package-{at}@1.{at}.0" for at in range(900)]
    lines[432] = "| +-- invalid: zod@3.22.4 /srv/app/node_modules/zod"
    out = shortened("app@1.0.0\n" + "\n".join(lines))
    assert lines[432] in out


def test_a_manual_keeps_its_synopsis() -> None:
    options = "\n\n".join(f"       --option-{at} VALUE\n              {filler(1, at)[:200]}" for at in range(90))
    head = f"SETTLE(1){' ' * 24}Settle Manual{' ' * 24}SETTLE(1)"
    name, synopsis = "NAME\n       settle - moves balances", "SYNOPSIS\n       settle [options] [account...]"
    text = f"{head}\n\n{name}\n\n{synopsis}\n\nOPTIONS\n{options}\n"
    assert detect(text) is not Kind.TABLE
    out = shortened(text)
    assert "settle - moves balances" in out
    assert "settle [options] [account...]" in out


def test_what_was_agreed_in_plain_words_stays() -> None:
    paragraphs = [filler(4, at) for at in range(40)]
    paragraphs[20] = f"{filler(2, 7)}\nSo we agreed to drop the legacy exporter by March.\n{filler(2, 8)}"
    assert "we agreed to drop the legacy exporter" in shortened("\n\n".join(paragraphs))


def test_reports_of_few_forms_keep_what_they_are_about_and_what_is_seldom() -> None:
    hosts = [
        f"Nmap scan report for host{at}.example.org (10.0.{at % 5}.{at})\nHost is up (0.0{at % 90 + 10}s latency).\n"
        f"Not shown: 99{at % 9} closed tcp ports (reset)\nPORT   STATE SERVICE VERSION\n"
        f"22/tcp open  ssh     OpenSSH 9.{at % 9} (protocol 2.0)\n80/tcp open  http    nginx 1.2{at % 9}\n"
        for at in range(90)
    ]
    hosts[33] += "3389/tcp open  ms-wbt-server Microsoft Terminal Services\n"
    out = shortened("Starting Nmap 7.95\n" + "\n".join(hosts))
    assert "3389/tcp open  ms-wbt-server" in out
    assert all(f"report for host{at}.example.org" in out for at in range(90))


def test_days_until_which_something_holds(rng: random.Random) -> None:
    wanted = (
        "The permit is valid until 31 January 2027.",
        "Notice is to be received no later than February 28, 2027.",
        "Der Zugang wird ab dem 7. Dezember 2026 gesperrt.",
        "계약은 2027년 3월 31일까지 유효합니다.",
        "Prices double from 1 July.",
    )
    sections = [f"## Part {at}\n\n" + "\n".join(f"{sentence(rng, 14)}." for _ in range(14)) for at in range(40)]
    for at, line in enumerate(wanted):
        sections[5 + 7 * at] += f"\n{line}\n{sentence(rng, 14)}."
    for text in ("\n\n".join(sections), "\n\n".join(sections).replace("## ", "")):
        out = shortened(text)
        assert [line for line in wanted if line not in out] == []


def test_where_every_line_has_a_day_none_is_a_deadline(rng: random.Random) -> None:
    units = split("\n".join(f"Rent is due on 2026-{at % 12 + 1:02}-01 for {sentence(rng, 4)}" for at in range(100)))
    assert due(units) == []


def test_the_sentence_that_no_form_wrote(rng: random.Random) -> None:
    forms = (
        "Pump {n} ran for {n} hours without a fault and was refilled.",
        "The level at gauge {n} was read at noon and found to be usual.",
        "Vehicle {n} drove {n} kilometres and is to be serviced in spring.",
        "Invoice {n} of the supplier was checked and released for payment.",
    )

    def paragraph() -> str:
        return " ".join(rng.choice(forms).replace("{n}", str(rng.randrange(900))) for _ in range(7))

    paragraphs = [paragraph() for _ in range(80)]
    odd = "The sluice of the northern culvert fell shut and stayed closed."
    paragraphs[43] += f" {odd} {paragraph()}"
    text = "\n\n".join(paragraphs)
    assert odd in shortened(text)
    assert odd in shortened("\n\n".join(f"## Week {at}\n\n{each}" for at, each in enumerate(paragraphs)))


def test_sentences_that_are_all_unlike_say_nothing_by_it(rng: random.Random) -> None:
    units = split("\n\n".join(" ".join(f"{sentence(rng, 9)}." for _ in range(6)) for _ in range(60)))
    assert unlike(units) == []


def test_what_forces_a_replacement(rng: random.Random) -> None:
    def resource(at: int) -> str:
        action = "must be replaced" if at == 30 else "will be created"
        fields = [f"      + field_{number} = (known after apply)" for number in range(24)]
        if at == 30:
            fields[17] = "      ~ storage_encrypted = false -> true # forces replacement"
        inner = "\n".join(fields)
        return f"  # db_instance.d{at} {action}\n  + resource db_instance d{at} {{\n{inner}\n    }}\n"

    assert "false -> true # forces replacement" in shortened("\n".join(map(resource, range(60))))


def test_among_many_services_the_one_that_is_set_otherwise(rng: random.Random) -> None:
    def service(at: int) -> str:
        return (
            f"- kind: Deployment\n  metadata:\n    name: service-{at}\n    uid: {rng.randrange(10**9)}\n"
            + "".join(f"    note-{number}: {sentence(rng, 4)}\n" for number in range(9))
            + f"  spec:\n    replicas: {at % 3 + 1}\n    context:\n      runAsUser: {0 if at == 21 else 10001}\n"
            f"  status:\n    reason: {'ProgressDeadlineExceeded' if at == 9 else 'NewReplicaSetAvailable'}\n"
        )

    out = shortened("apiVersion: v1\nitems:\n" + "".join(map(service, range(40))))
    assert "runAsUser: 0\n" in out or "runAsUser: 0 " in out
    assert "ProgressDeadlineExceeded" in out


@pytest.mark.parametrize(
    "line",
    [
        "환경청 보고 기한은 2027년 1월 8일이다.",
        "다음 회의는 12월 14일 오전 10시로 변경되었다.",
        "提出期限は1月8日です。",
        "会议改在三楼,截止1月8日。",
        "Boil the water until at least Thursday 3 December.",
    ],
)
def test_deadlines_in_other_words(line: str, rng: random.Random) -> None:
    units = split("\n".join([*(sentence(rng, 9) for _ in range(50)), line, *(sentence(rng, 9) for _ in range(50))]))
    assert [units.contents[at] for at in due(units)] == [line]


def test_of_a_conversation_among_robots_what_people_said_stays(rng: random.Random) -> None:
    said = (
        "p95 on the transfer went from 180 to 910ms",
        "the index is invalid, it scans every row",
        "rolled back, fine",
    )
    blocks = []
    for at in range(90):
        blocks.append(f"[2026-11-30 {8 + at // 10:02}:{at % 60:02}] {rng.choice(('ana', 'tom', 'kemal'))} ts={at}")
        blocks.append(f"    {said[at // 30]}" if at % 30 == 17 else f"    {sentence(rng, 5)}")
        for number in range(4):
            blocks.append(
                f"    [{8 + at // 10}:{at % 60:02}] deploybot: pipeline #{rng.randrange(9999)} passed in {number}m"
            )
            blocks.append(
                f"    [{8 + at // 10}:{at % 60:02}] alertmanager: RESOLVED disk-{rng.randrange(99)} (was {at}%)"
            )
    out = shortened("\n".join(blocks))
    assert [line for line in said if line not in out] == []
