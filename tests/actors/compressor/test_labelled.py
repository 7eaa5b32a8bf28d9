"""Records written out as lines with labels: their names, odd values and trouble stay."""

from __future__ import annotations

import random

import pytest

from actors.compressor.detect import Kind, detect
from actors.compressor.excerpt import MUST, SALIENT
from actors.compressor.labelled import records, written_out
from actors.compressor.labels import odd
from actors.compressor.units import split
from tests.actors.compressor.texts import sentence, shortened

rng = random.Random(7)
PACKAGES = "\n".join(
    f"Package: lib{at}-{rng.choice('abc')}\nStatus: {'half-configured' if at == 77 else 'installed'}\n"
    f"Section: {'libs' if at % 2 else 'admin'}\nInstalled-Size: {rng.randrange(10, 99)}\n"
    f"Description: {sentence(rng)}\n {sentence(rng)}\n {sentence(rng)}\n"
    for at in range(200)
)
EVENTS = "BEGIN:VCALENDAR\n" + "".join(
    f"BEGIN:VEVENT\nUID:{rng.randrange(10**9)}@x\nDTSTART;TZID=Europe/Vienna:202610{at % 28 + 1:02}T090000\n"
    f"SUMMARY:Meeting {at} about {sentence(rng, 3)}\nSTATUS:{'CANCELLED' if at == 60 else 'CONFIRMED'}\nSEQUENCE:0\n"
    f"DESCRIPTION:{sentence(rng, 30)}\nEND:VEVENT\n"
    for at in range(120)
)  # fmt: skip
FEED = "<?xml version=\"1.0\"?><rss><channel>" + "".join(
    f"<item><title>News {at} of {sentence(rng, 3)}</title><guid>{rng.randrange(10**9)}</guid>"
    f"<category>{'recall' if at == 45 else 'notice'}</category><description>{sentence(rng, 40)}</description></item>"
    for at in range(90)
) + "</channel></rss>"  # fmt: skip
TREE = "- main [ref=e1]:\n" + "".join(
    f'  - article [ref=e{at}0]:\n    - heading "Offer {at} {sentence(rng, 2)}" [level=3] [ref=e{at}1]\n'
    f'    - button "Add to cart" [ref=e{at}2] [cursor=pointer]\n    - text: {sentence(rng, 9)}\n'
    + ('    - alert [ref=e999]: Payment failed.\n' if at == 50 else "")
    for at in range(150)
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "names", "odd"),
    [
        (PACKAGES, "Package: lib", "Status: half-configured"),
        (EVENTS, "SUMMARY:Meeting ", "STATUS:CANCELLED"),
        (FEED, "<title>News ", "<category>recall"),
        (TREE, '- heading "Offer ', "Payment failed."),
    ],
    ids=["packages", "calendar", "feed", "accessibility tree"],
)
def test_every_record_by_its_name_and_the_odd_value(text: str, names: str, odd: str) -> None:
    assert detect(text) is Kind.RECORDS
    out = shortened(text)
    assert len(out) < len(text) / 2
    assert out.count(names) >= 0.8 * text.count(names)
    assert odd in out


def test_the_record_of_an_odd_value_is_named() -> None:
    out = shortened(PACKAGES * 5)
    lines = out.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("Status: half-configured"))
    assert lines[at - 1].startswith("Package: lib77-")


def test_a_number_far_above_the_others_of_its_label_stands_out() -> None:
    text = "\n".join(
        f"region-{at} heap\nSize: {8 + at % 3} kB\nRss: {900_000 if at == 40 else 4 + at % 5} kB\n" for at in range(100)
    )
    units = split(text)
    ranks = records(units)
    assert ranks[units.contents.index("Rss: 900000 kB")] == MUST
    assert ranks[units.contents.index("region-40 heap")] == MUST


def test_a_label_is_chosen_where_none_has_a_names_name() -> None:
    own = random.Random(8)
    text = "\n".join(f"Codename: {sentence(own, 2)} {at}\nWeight: {at % 7}\nColour: red\n" for at in range(60))
    units = split(text)
    ranks = records(units)
    assert all(ranks[at] > SALIENT for at, line in enumerate(units.contents) if line.startswith("Codename"))
    assert all(ranks[at] < SALIENT for at, line in enumerate(units.contents) if line.startswith("Colour"))


@pytest.mark.parametrize(
    "text",
    ["\n".join(sentence(rng) for _ in range(60)), "one: 1\ntwo: 2", "a = f(b)\nreturn a\n" * 3, ""],
    ids=["prose", "short", "code", "nothing"],
)
def test_other_texts_are_no_records(text: str) -> None:
    assert not written_out([line for line in text.splitlines() if line.strip()])


def test_section_heads_among_labelled_lines_stay() -> None:
    own = random.Random(9)
    text = ""
    for at in range(90):
        text += f'[tool.part-{at}]\nname = "part {at}"\nsteps = [\n    "{sentence(own)}",\n    "{sentence(own)}",\n]\n'
        text += f"level = {at % 3}\n\n"
    out = shortened(text)
    assert all(f"[tool.part-{at}]" in out for at in range(90))


def test_notes_of_who_said_what_keep_heads_and_decisions() -> None:
    rng = random.Random(3)
    parts = ["Meeting notes 2026-11-12", ""]
    for at in range(24):
        parts.append(f"{at + 1}. Topic number {at}")
        parts += [f"   - {rng.choice(('Dana', 'Lee', 'Kim'))}: {sentence(rng, 16)}" for _ in range(9)]
        parts += ["   => DECISION: ship the exporter on Monday, owner Kim"] * (at == 7) + [""]
    out = shortened("\n".join(parts))
    assert "Meeting notes 2026-11-12" in out
    assert "=> DECISION: ship the exporter on Monday" in out
    assert all(f"{at + 1}. Topic number {at}" in out for at in range(24))


def test_a_failed_test_stays_with_its_name() -> None:
    def case(at: int) -> str:
        name = f'    <testcase name="cart › step {at} of {sentence(rng, 2)}" classname="e2e/{at % 9}.ts" time="{at % 7}'
        failed = {70: "expected 12.50 to equal 0", 160: "Target page has been closed"}.get(at)
        kind = "error" if at == 160 else "failure"
        return f'{name}">\n      <{kind} message="{failed}"/>\n    </testcase>\n' if failed else f'{name}"/>\n'

    out = shortened(f"<testsuites>\n  <testsuite>\n{''.join(map(case, range(220)))}  </testsuite>\n</testsuites>\n")
    for wanted in ("cart › step 70 ", "expected 12.50", "cart › step 160 ", "Target page has been closed"):
        assert wanted in out


def test_bytes_of_keys_leave_the_room_to_what_certificates_say() -> None:
    def certificate(at: int) -> str:
        key = "\n".join("    " + ":".join(f"{rng.randrange(256):02x}" for _ in range(18)) for _ in range(30))
        until = f"Nov {at + 1:2} 12:00:00 20{20 if at == 5 else 27 + at % 3} GMT"
        return (
            f"Certificate:\n  Data:\n    Subject: CN = host-{at}.example\n    Not After : {until}\n"
            f"    Modulus:\n{key}\n  Signature Value:\n{key}\n"
        )

    out = shortened("".join(map(certificate, range(10))))
    assert all(f"CN = host-{at}.example" in out for at in range(10))
    assert "12:00:00 2020 GMT" in out


def test_of_a_dozen_records_the_one_that_restarted_stands_out() -> None:
    pods = "\n".join(
        f"Name:  tile-{at}\nImage:  render:{sentence(rng, 1)}-{at}\nNode:  node-{rng.randrange(10**6)}\n"
        f"Ready:  {'False' if at == 6 else 'True'}\nRestart Count:  {23 if at == 6 else 0}\n"
        + "".join(f"Mount {number}:  /var/{rng.randrange(10**6)} of {sentence(rng, 6)}\n" for number in range(14))
        for at in range(13)
    )
    out = shortened(pods)
    assert "Restart Count:  23" in out and "Ready:  False" in out and "tile-6" in out


def test_what_ends_first_of_many_certificates() -> None:
    def certificate(at: int) -> str:
        until = f"May {at % 28 + 1:2} 12:00:00 {2024 if at == 31 else 2031 + at % 9} GMT"
        other = "\n".join(f"    Policy {number}: {rng.randrange(10**9)} of {sentence(rng, 4)}" for number in range(9))
        return f"Certificate:\n    Subject: CN = host-{at}.example\n    Not After : {until}\n{other}\n"

    out = shortened("".join(map(certificate, range(60))))
    assert "12:00:00 2024 GMT" in out and "host-31.example" in out


def test_among_a_dozen_the_number_many_times_as_large() -> None:
    values = ["0", "1", "0", "2", "1", "47", "0", "1", "0", "2", "1"]
    assert odd({"restarts": [*range(11)]}, [("restarts", value) for value in values]) == [5]
    assert odd({"restarts": [*range(11)]}, [("restarts", value.replace("47", "3")) for value in values]) == []
