"""What runs: system calls, collections of garbage, threads, mappings, packets, a web server's errors, a profile, code."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.words import ADJECTIVES, camel, code, ident, noun, pascal, snake, stamp


def strace(rng: random.Random) -> Payload:
    """System calls of a program that misses a file and gives up."""
    lines = ['30625 execve("/usr/bin/settle", ["settle", "--month", "11"], 0x7fff8928bec8 /* 35 vars */) = 0']
    deep = []
    for at in range(620):
        address = f"0x7f{ident(rng, 10)}"
        deep.append(f"/usr/lib/{noun(rng)}/{snake(rng)}.so.{at}")
        call = rng.choice(
            [
                f'openat(AT_FDCWD, "{deep[-1]}", O_RDONLY|O_CLOEXEC) = 3',
                f'newfstatat(3, "{deep[-1]}", {{st_mode=S_IFREG|0644, st_size={rng.randint(99, 99_999)}, ...}}, 0) = 0',
                f"mmap({address}, {rng.randint(1, 99) * 4096}, PROT_READ, MAP_PRIVATE|MAP_FIXED, 3, 0x26000) = {address}",
                'read(3, "\\177ELF\\2\\1\\1\\3\\0\\0\\0\\0\\0\\0\\0\\0\\3\\0>\\0\\1\\0\\0\\0"..., 832) = 832',
                "close(3)                          = 0",
            ]
        )
        lines.append(f"30625 {call}")
    missing = 'openat(AT_FDCWD, "/etc/settle/keys.pem", O_RDONLY) = -1 ENOENT (No such file or directory)'
    lines += [
        f"30625 {missing}",
        f'30625 write(2, "settle: no key for {noun(rng)}\\n", 30) = 30',
        "30625 exit_group(1)                     = ?",
        "30625 +++ exited with 1 +++",
    ]
    began = 'execve("/usr/bin/settle", ["settle", "--month", "11"]'
    return payload("system calls", "\n".join(lines) + "\n", [began, missing, "+++ exited with 1 +++"], deep)


def garbage(rng: random.Random) -> Payload:
    """Pauses of a collector: most of milliseconds, three of seconds."""
    head = [
        "Using G1",
        "Version: 21.0.5+11 (release)",
        "CPUs: 2 total, 2 available",
        "Heap Region Size: 1M",
        "Heap Max Capacity: 96M",
    ]
    lines = [f"[{stamp(rng, 0)[:-1]}+0000][0.003s][info][gc,init] {each}" for each in head]
    salient, deep = ["Heap Max Capacity: 96M"], []
    for at in range(150):
        begin = f"[{stamp(rng, at * 2)[:-1]}+0000][{at * 2.417:.3f}s][info]"
        before, after = rng.randint(40, 90), rng.randint(9, 39)
        lines.append(f"{begin}[gc,start       ] GC({at}) Pause Young (Normal) (G1 Evacuation Pause)")
        lines.append(f"{begin}[gc,heap        ] GC({at}) Eden regions: {rng.randint(5, 40)}->0({rng.randint(5, 40)})")
        took = f"GC({at}) Pause Young (Normal) (G1 Evacuation Pause) {before}M->{after}M(96M) {rng.random() * 9:.3f}ms"
        if at in (48, 99, 141):
            took = f"GC({at}) Pause Full (G1 Compaction Pause) 96M->{after + 50}M(96M) {rng.randint(1900, 4800)}.{rng.randint(100, 999)}ms"
            salient.append(took)
        else:
            deep.append(took)
        lines.append(f"{begin}[gc             ] {took}")
        lines.append(f"{begin}[gc,cpu         ] GC({at}) User=0.01s Sys=0.00s Real=0.00s")
    return payload("garbage collector", "\n".join(lines) + "\n", salient, deep)


def threads(rng: random.Random) -> Payload:
    """A dump of threads, two of which wait for each other."""
    parts = ["2026-11-30 20:37:22", "Full thread dump OpenJDK 64-Bit Server VM (21.0.5+11 mixed mode, sharing):", ""]
    names, deep = [], []
    for at in range(60):
        deep.append(f"nid=0x{ident(rng, 5)}")
        names.append(f"{rng.choice(['pool-1', 'pool-2', 'netty'])}-thread-{at:02d}")
        state = rng.choice(["WAITING (parking)", "TIMED_WAITING (sleeping)", "RUNNABLE"])
        frames = [
            f"\tat org.acme.{noun(rng)}.{pascal(rng)}.{camel(rng)}({noun(rng).capitalize()}.java:{rng.randint(9, 900)})"
            for _ in range(6)
        ]
        parts += [
            f'"{names[-1]}" #{at + 12} prio=5 os_prio=0 cpu={rng.randint(1, 900)}.41ms elapsed=91.54s tid=0x00007f{ident(rng, 10)} {deep[-1]}',
            f"   java.lang.Thread.State: {state}",
            *frames,
            "",
        ]
    found, first, second = "Found one Java-level deadlock:", '"settle-writer":', '"settle-reader":'
    lock = "which is held by"
    parts += [
        found,
        "=============================",
        first,
        f"  waiting to lock monitor 0x00007f{ident(rng, 10)} (object 0x{ident(rng, 8)}, a org.acme.Ledger),",
        f'  {lock} "settle-reader"',
        second,
        f"  waiting to lock monitor 0x00007f{ident(rng, 10)} (object 0x{ident(rng, 8)}, a org.acme.Cursor),",
        f'  {lock} "settle-writer"',
        "",
        "Found 1 deadlock.",
    ]
    text = "\n".join(parts) + "\n"
    must = [found, f'{lock} "settle-reader"', f'{lock} "settle-writer"', "Found 1 deadlock."]
    return payload("thread dump", text, leading(text, must, names), deep)


def mappings(rng: random.Random) -> Payload:
    """The memory of a process: the same dozen lines for each mapping; one takes nearly everything."""
    fields = [
        "Size",
        "KernelPageSize",
        "Rss",
        "Pss",
        "Shared_Clean",
        "Private_Clean",
        "Private_Dirty",
        "Referenced",
        "Anonymous",
        "Swap",
        "Locked",
    ]
    lines, libraries, deep = [], [], []
    for at in range(110):
        begin = rng.getrandbits(27) << 12
        deep.append(f"7f{begin:010x}-7f{begin + 4096:010x}")
        libraries.append(f"/usr/lib/{noun(rng)}/{snake(rng)}.so.{at}")
        where = {3: "[heap]", 109: "[stack]"}.get(at, libraries[-1])
        lines.append(f"{deep[-1]} r-xp 00001000 fe:00 {rng.randint(10**4, 10**5)}    {where}")
        for field in fields:
            amount = {"KernelPageSize": 4, "Locked": 0}.get(field, rng.choice([0, 4, rng.randint(4, 900)]))
            if (at, field) == (3, "Rss"):
                amount = 48_211_733
            lines.append(f"{field + ':':<16}{amount:>9} kB")
        lines.append("VmFlags: rd mr mw me")
    text = "\n".join(lines) + "\n"
    return payload("mappings", text, leading(text, ["[heap]", "48211733 kB", "[stack]"], libraries), deep)


def packets(rng: random.Random) -> Payload:
    """Packets, one reset, one refusal."""
    lines, deep = [], []
    for at in range(460):
        deep.append(f"10.0.{rng.randint(0, 9)}.{rng.randint(1, 250)}.{rng.randint(1024, 65_000)} > 10.0.0.7.443")
        flags = rng.choice(["S", ".", "P.", "F."])
        lines.append(
            f"12:{at // 60:02d}:{at % 60:02d}.{rng.randint(10**5, 10**6)} IP {deep[-1]}: Flags [{flags}], "
            f"seq {rng.getrandbits(32)}, win 502, length {rng.randint(0, 1448)}"
        )
    lines[350:350] = [
        "12:05:50.771121 IP 10.0.0.7.443 > 10.0.3.9.51514: Flags [R.], seq 0, ack 771, win 0, length 0",
        "12:05:50.772904 IP 10.0.0.1 > 10.0.0.7: ICMP host 10.0.3.9 unreachable - admin prohibited, length 36",
    ]
    return payload(
        "packets", "\n".join(lines) + "\n", ["Flags [R.]", "host 10.0.3.9 unreachable - admin prohibited"], deep
    )


def web_errors(rng: random.Random) -> Payload:
    """Nothing but errors: five hundred of a harmless sort, two of another."""
    lines, deep = [], []
    for at in range(420):
        now = f"2026/09/02 {at // 60:02d}:{at % 60:02d}:{rng.randint(10, 59)}"
        deep.append(f"{rng.choice(ADJECTIVES)}-{code(rng, 7)}.php")
        client = f"{rng.randint(1, 250)}.{rng.randint(1, 250)}.7.9"
        lines.append(
            f'{now} [error] 31#31: *{rng.randint(1000, 99_999)} open() "/usr/share/nginx/html/{deep[-1]}" failed '
            f'(2: No such file or directory), client: {client}, server: _, request: "GET /wp HTTP/1.1", host: "shop.example.com"'
        )
        if at == 270:
            lines.append(
                f"{now} [crit] 31#31: *771 SSL_do_handshake() failed (SSL: error:0A000086:SSL "
                "routines::certificate verify failed) while SSL handshaking to upstream"
            )
        if at == 333:
            lines.append(f"{now} [alert] 1#1: worker process 31 exited on signal 9")
    salient = ["SSL_do_handshake() failed", "certificate verify failed", "worker process 31 exited on signal 9"]
    return payload("web server errors", "\n".join(lines), salient, deep)


def profile(rng: random.Random) -> Payload:
    """A profile in order of time: what matters stands in the first lines."""
    calls = f"{rng.randint(10**5, 10**6)} function calls in {rng.randint(40, 90)}.{rng.randint(100, 999)} seconds"
    lines = [
        f"         {calls}",
        "",
        "   Ordered by: cumulative time",
        "",
        "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)",
    ]
    took, names = 91.0, []
    for at in range(420):
        took *= rng.uniform(0.93, 0.99)
        names.append(f"{noun(rng)}.py:{rng.randint(1, 900)}({snake(rng)}_{at})")
        lines.append(
            f"{rng.randint(1, 9999):>9} {took / 9:8.3f} {took / 99:8.3f} {took:8.3f} {took / 50:8.3f} {names[-1]}"
        )
    text = "\n".join(lines) + "\n"
    return payload("profile", text, [calls, *names[:5]], names[20:])


def machine_code(rng: random.Random) -> Payload:
    """A disassembly: functions are all that a reader can hold on to."""
    lines, salient, deep = (
        ["", "/usr/bin/settle:     file format elf64-x86-64", "", "", "Disassembly of section .text:", ""],
        [],
        [],
    )
    address = 0x2000
    for at in range(60):
        salient.append(f"<{snake(rng)}_{at}>:")
        lines.append(f"{address:016x} {salient[-1]}")
        for _ in range(rng.randint(6, 22)):
            raw = " ".join(ident(rng, 2) for _ in range(rng.randint(2, 7)))
            what = rng.choice(
                [
                    "mov    %rax,%r9",
                    f"jmp    {address + 64:x}",
                    f"call   {address * 2:x}",
                    "test   %rax,%rax",
                    "sub    $0x8,%rsp",
                ]
            )
            deep.append(f"{address:x}:\t{raw:<21}\t{what}")
            lines.append(f"    {deep[-1]}")
            address += rng.randint(2, 7)
        lines.append("")
    return payload("machine code", "\n".join(lines), salient, deep)


def paths(rng: random.Random) -> Payload:
    """`find -printf`: three files are far larger than all the rest."""
    lines: list[str] = []
    salient: list[str] = []
    deep: list[str] = []
    for at in range(420):
        path = f"/var/lib/{noun(rng)}/{noun(rng)}/{rng.choice(ADJECTIVES)}-{noun(rng)}/{snake(rng)}-{at}.parquet"
        large = at in (41, 207, 344)
        lines.append(
            f"{rng.randint(4 * 10**9, 9 * 10**9) if large else rng.randint(900, 90_000)} 2026-10-{at % 28 + 1:02d} {path}"
        )
        (salient if large else deep).append(path)
    return payload("sizes of files", "\n".join(lines) + "\n", salient, deep)
