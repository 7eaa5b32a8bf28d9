"""Logs: trouble and what is behind it, rare statements, odd measures, silences, steps; equal lines once, counted."""

from __future__ import annotations

import random
import re

import pytest

from actors.compressor.detect import Kind, detect
from actors.compressor.metrics import metrics
from actors.compressor.statements import rare, shapes_of, statements
from actors.compressor.units import split
from tests.actors.compressor.texts import WORDS, sentence, shortened


def clock(seconds: int) -> str:
    return f"2026-03-01 {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def ordinary(count: int) -> list[str]:
    """A log of two statements with names and numbers of their own in each line."""
    return [
        f"{clock(at * 7)} served /files/{at * 7919 % 9973:x}/index in {20 + at % 9}ms"
        if at % 2
        else f"{clock(at * 7)} queued job j{at * 104729 % 99991:x} for worker-{at % 4}"
        for at in range(count)
    ]


RARE = {
    "a word that nothing else says": "{} worker 31 went away by itself",
    "a statement with other words": "{} configuration read from /etc/ledger.toml",
    "a flag in brackets": "{} served /files/1a/index in 24ms [R.]",
    "an action of another kind": "{} upgrade libledger:amd64 1.0.3 1.0.4",
    "no word that others have": "{} heap 94M->10M(44M)",
}


@pytest.mark.parametrize("kind", sorted(RARE))
def test_a_rare_statement_stays(kind: str) -> None:
    lines = ordinary(1_200)
    lines[700] = RARE[kind].format(clock(700 * 7))
    out = shortened("\n".join(lines))
    assert lines[700] in out
    assert out.count("served /files/") < 200


def test_where_every_line_is_of_its_own_being_rare_says_nothing() -> None:
    lines = [
        f"{clock(at)} " + " ".join(WORDS[(at * step + step) % len(WORDS)] for step in range(1, 9)) for at in range(600)
    ]
    units = split("\n".join(lines))
    assert rare(statements(units, shapes_of(units))) == []


def test_equal_errors_stand_a_few_times_and_are_counted() -> None:
    lines = [
        f'{clock(at * 5)} [error] 31#31: *{at * 977 % 9999} open() "/html/x{at * 7907 % 99991:x}.php" failed (2: none)'
        for at in range(500)
    ]
    lines[300] = f"{clock(1500)} [crit] 31#31: *771 handshake failed (certificate verify failed)"
    lines[400] = f"{clock(2000)} [alert] 1#1: worker process 31 exited on signal 9"
    out = shortened("\n".join(lines))
    assert lines[300] in out
    assert lines[400] in out
    assert out.count("open()") < 100
    assert "498 lines like “[error] 31#31: *0 open() " in out


def test_errors_that_differ_in_their_words_all_stay() -> None:
    lines = ordinary(900)
    for at, what in enumerate(("disk full", "no route", "bad key", "lock held", "quota used")):
        lines[100 + 150 * at] = f"{clock(at * 1050)} ERROR cannot write the ledger: {what}"
    out = shortened("\n".join(lines))
    assert all(lines[100 + 150 * at] in out for at in range(5))


@pytest.mark.parametrize("line", ["not ok 454 - keeps it balanced", "worker process 31 exited on signal 9"])
def test_trouble_without_a_level_is_found(line: str) -> None:
    lines = [f"ok {at} - the {at * 31 % 97}th case of the list of cases holds" for at in range(600)]
    lines[454:455] = [line, "  ---", "  expected: 0", "  actual: -1250", "  at: test/refund.js:71:5", "  ..."]
    out = shortened("\n".join(lines))
    assert line in out
    assert "at: test/refund.js:71:5" in out


def test_a_measure_far_from_those_of_its_statement_stays() -> None:
    lines = ordinary(1_500)
    lines[801] = f"{clock(801 * 7)} served /files/2f/index in 4s"
    lines[1101] = f"{clock(1101 * 7)} served /files/3a/index in 91ms"  # a larger number, and yet less
    out = shortened("\n".join(lines))
    assert lines[801] in out, "four seconds are more than milliseconds"


def test_the_lines_around_a_long_silence_stay() -> None:
    lines = ordinary(400) + [line.replace("2026-03-01", "2026-03-02") for line in ordinary(800)[400:]]
    out = shortened("\n".join(lines))
    assert lines[399] in out
    assert lines[400] in out


def composed() -> list[str]:
    lines = []
    for at in range(600):
        lines.append(f'web-1     | 172.19.0.1 - - "GET /v1/{at * 7919 % 9973:x} HTTP/1.1" 200 {at * 31 % 9000}')
        lines.append(f"worker-1  | [{clock(at)}] task t{at * 104729 % 99991:x} done in {at % 90}ms")
    return lines


def test_lines_of_composed_services_are_told_apart() -> None:
    lines = composed()
    trace = [
        "worker-1  | panic: runtime error: index out of range [7] with length 7",
        lines[600],
        "worker-1  | goroutine 88 [running]:",
        lines[602],
        "worker-1  | main.(*Settler).apply(0xc0001a2000, 0x7)",
        "worker-1  | \t/src/settle/apply.go:214 +0x1d9",
        "worker-1 exited with code 2",
    ]
    text = "\n".join([*lines[:600], *trace, *lines[603:]])
    assert detect(text) is Kind.LOG
    out = shortened(text)
    assert all(line in out for line in trace if not line.startswith("web-1"))


def test_a_table_with_bars_is_no_log_of_services() -> None:
    text = "\n".join(f"name-{at} | {at} | {at * 3}" for at in range(300))
    assert detect(text) is not Kind.LOG


STEPS = {
    "docker build": ("#{n} [builder {n}/40] RUN make part{n}", "#{n} 0.{k} checking whether part {k} works... yes"),
    "ansible": ("TASK [role{n} : Install part{n}] ***********", "ok: [host{k}.example] => (item=x{k})"),
    "gradle": ("> Task :module{n}:compile", "[1{k}%] compiling unit {k} of it"),
    "threads": ('"pool-1-thread-{n}" #{n} prio=5 os_prio=0 tid=0x00 runnable', "\tat org.ledger.A{k}.run(A.java:{k})"),
}


@pytest.mark.parametrize("kind", sorted(STEPS))
def test_steps_of_a_run_stay(kind: str) -> None:
    head, body = STEPS[kind]
    lines = []
    for n in range(10, 40):
        lines += [head.format(n=n), *(body.format(n=n, k=k) for k in range(1, 25))]
    text = "\n".join(lines)
    assert detect(text) is Kind.LOG
    out = shortened(text)
    assert all(head.format(n=n) in out for n in range(10, 40))


PLAIN = {
    "system calls": '{p} openat(AT_FDCWD, "/usr/lib/x{k}.so", O_RDONLY|O_CLOEXEC) = {k}',
    "kernel": "[ {k}.100234] usb {k}-1: new high-speed device number {k}",
    "console": "[LOG] hydrated component c{k} in {k}ms",
    "npm": "npm http fetch GET 200 https://registry.example/p{k} {k}ms",
    "installer": "Unpacking libledger{k}:amd64 (1.{k}) over (1.{k}) ...",
    "program before the time": "update-alternatives 2025-06-24 14:36:{k}: link group g{k} updated",
}


@pytest.mark.parametrize("kind", sorted(PLAIN))
def test_what_programs_write_without_a_time_is_a_log(kind: str) -> None:
    text = "\n".join(PLAIN[kind].format(p=30625, k=10 + at % 50) for at in range(400))
    assert detect(text) is Kind.LOG


def test_what_an_interpreter_was_told_is_a_report() -> None:
    assert detect("\n".join(f">>> settle({10 + at % 50})" for at in range(400))) is Kind.REPORT


def test_statements_of_lines_with_names_are_alike() -> None:
    lines = [f"status installed lib{at * 7919 % 9973:x}:amd64 1.{at}" for at in range(300)]
    units = split("\n".join([*lines, "status config-files libold:amd64 1.0"]))
    written = statements(units, shapes_of(units))
    assert len(set(written[:300])) == 1
    assert written[300] != written[0]


def test_the_same_log_twice_as_long_keeps_the_same_trouble() -> None:
    lines = ordinary(1_000)
    lines[500] = f"{clock(3500)} FATAL ledger lost"
    short, long = shortened("\n".join(lines)), shortened("\n".join([*lines, *ordinary(1_000)]))
    assert lines[500] in short
    assert lines[500] in long
    assert re.search(r"\[shortened: \d+ of 2000 lines", long)


def test_rare_statements_that_begin_alike_leave_room_for_others() -> None:
    lines = ordinary(3_000)
    signals = [f"sigaction SIG{chr(65 + at % 26)}{chr(65 + at // 26)} restored to the default" for at in range(60)]
    for at, said in enumerate(signals):
        lines[200 + at] = f"{clock((200 + at) * 7)} {said}"
    lines[2_000] = f"{clock(14_000)} execve of /usr/bin/git replaced the process"
    written = statements(split("\n".join(lines)), shapes_of(split("\n".join(lines))))
    found = rare(written)
    assert 2_000 in found
    assert sum(1 for at in found if 200 <= at < 260) < 30


def test_the_same_warning_again_and_again_stands_a_few_times() -> None:
    lines = ordinary(900)
    for at in range(0, 900, 9):
        lines[at] = f'{clock(at * 7)} WARNING missing property "sku" of item {at * 31}'
    lines[501] = f"{clock(3507)} WARNING the certificate ends in 3 days"
    out = shortened("\n".join(lines))
    assert lines[501] in out
    assert out.count("missing property") < 20
    assert "100 lines like “WARNING missing property " in out


def test_what_a_run_says_of_each_part_does_not_sum_it_up() -> None:
    lines = [f" ✓ src/part{at * 7919 % 997}.py ({at % 17 + 2} tests) in {at % 90}ms" for at in range(900)]
    lines[450:450] = ["the worker of part 31 went away", "12 tests were left"]
    out = shortened("\n".join([*lines, "Tests  1 failed | 899 passed (900)", "bye"]))
    assert "the worker of part 31 went away" in out
    assert "Tests  1 failed | 899 passed (900)" in out


def test_a_summary_keeps_what_it_announces() -> None:
    lines = [
        f"==31== 8 bytes in 1 blocks are definitely lost in record {at}\n==31==    at f{at} (v.c:{at})"
        for at in range(300)
    ]
    lines[200:200] = [
        "==31== LEAK SUMMARY:",
        "==31==    definitely lost: 480 bytes",
        "==31==    indirectly lost: 16 bytes",
    ]
    out = shortened("\n".join(lines))
    assert "==31== LEAK SUMMARY:\n==31==    definitely lost: 480 bytes\n==31==    indirectly lost: 16 bytes" in out


def test_an_exception_that_is_seldom_raised_stays_among_hundreds_of_errors() -> None:
    rng = random.Random(5)
    lines: list[str] = []
    for at in range(400):
        who, what = rng.choice(WORDS), sentence(rng, 9)
        lines += [
            f"2026-03-04T07:{at // 60:02}:{at % 60:02}Z ERROR {who}: {what}",
            f"    at com.{who}.Part.run(Part.java:{at})",
        ]
    lines.insert(331, "Caused by: java.sql.SQLException: replica 5 diverged")
    lines.insert(555, "java.lang.OutOfMemoryError: Metaspace (pid 4417)")
    out = shortened("\n".join(lines))
    assert "java.sql.SQLException: replica 5 diverged" in out
    assert "java.lang.OutOfMemoryError: Metaspace (pid 4417)" in out


def test_a_scrape_that_failed() -> None:
    rng = random.Random(5)
    families = [
        f"# HELP {name} {sentence(rng, 6)}.\n# TYPE {name} gauge\n"
        + "".join(f'{name}{{instance="10.0.{at}.{host}:9100"}} {rng.randrange(1000)}.{at}\n' for host in range(6))
        for at, name in enumerate(f"node_{word}_{at}" for at in range(9) for word in WORDS[:6])
    ]
    up = "".join(f'up{{job="node",instance="10.0.7.{host}:9100"}} {int(host != 4)}\n' for host in range(6))
    text = "".join([*families[:30], f"# HELP up Whether it answered.\n# TYPE up gauge\n{up}", *families[30:]])
    assert re.search(r'instance="10\.0\.7\.4:9100"} 0\b', shortened(text))


def test_metrics_by_family_and_what_is_far_from_its_family() -> None:
    rng = random.Random(6)
    families = {
        f"queue_{word}_{at}": [f'{{queue="{host}"}} {rng.randrange(3, 40)}' for host in WORDS[:6]]
        for at in range(8)
        for word in WORDS[:7]
    }
    lagging = next(iter([*families][20:]))
    families[lagging][4] = '{queue="claims"} 184203'
    families["up_dependency"] = [f'{{name="{word}"}} {int(word != WORDS[3])}' for word in WORDS[:6]]
    text = "".join(
        f"# TYPE {name} gauge\n" + "".join(f"{name}{sample}\n" for sample in samples)
        for name, samples in families.items()
    )
    out = shortened(text)
    assert f'{lagging}{{queue="claims"}} 184203' in out
    assert re.search(rf'up_dependency{{name="{WORDS[3]}"}} 0\b', out)
    assert all(f"# TYPE {name} gauge" in out for name in families)


@pytest.mark.parametrize("sample", ["a_version 1.2.3", "a 1e999", "a NaN", "a -Inf", 'a{b="}"} 1.', "a 1.5e+3 17"])
def test_odd_numbers_of_metrics(sample: str) -> None:
    families = "".join(f"# TYPE m{at} gauge\n" for at in range(3))
    assert metrics(split(families + f"{sample}\n" * 30)).keys() <= {0, 1, 2}


def test_a_run_that_shows_differences_is_no_diff() -> None:
    hosts = [f"web{at:02}.example" for at in range(30)]
    tasks = [
        f"TASK [step {at}] {'*' * 40}\n"
        + "".join(
            f'fatal: [{host}]: FAILED! => {{"msg": "No space left on device: /boot"}}\n'
            if (at, host) == (9, "web07.example")
            else f"--- before: /etc/a.conf\n+++ after: /etc/a.conf\n@@ -1,2 +1,2 @@\n-a\n+b\n\nchanged: [{host}]\n"
            if host == hosts[at]
            else f"ok: [{host}]\n"
            for host in hosts
        )
        for at in range(24)
    ]
    text = "\n".join([*tasks, f"PLAY RECAP {'*' * 60}", *(f"{host} : ok=24 changed=1 failed=0" for host in hosts)])
    assert detect(text) is Kind.LOG
    out = shortened(text)
    assert "No space left on device" in out and "PLAY RECAP" in out


def test_packets_are_a_log() -> None:
    rng = random.Random(7)
    lines = [
        f"{at:5} {at / 37:10.6f}     10.30.1.{rng.randrange(20)} → 10.30.0.2   TCP   {rng.randrange(60, 1500):5} "
        f"{rng.randrange(30000, 60000)} → 443 [ACK] Seq={rng.randrange(10**5)} Len=0"
        for at in range(300)
    ]
    lines[211] = (
        "  211   5.702703     10.30.1.21 → 185.220.101.34  HTTP     1145 POST /gate.php HTTP/1.1  (48213 bytes)"
    )
    assert detect("\n".join(lines)) is Kind.LOG
    assert "POST /gate.php" in shortened("\n".join(lines))
