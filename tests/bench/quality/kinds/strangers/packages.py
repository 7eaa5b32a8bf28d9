"""What is installed: records of packages, what was done to them, trees of them, hashes, certificates, project files."""

from __future__ import annotations

import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import indented
from tests.bench.quality.words import (
    clause,
    code,
    ident,
    noun,
    paragraph,
    pascal,
    person,
    sentence,
    snake,
    stamp,
    title,
)


def installed(rng: random.Random) -> Payload:
    """Paragraphs of `name: value` with folded lines, as Debian keeps them; one package is half installed."""
    parts, salient, deep = [], [], []
    for at in range(90):
        name = f"lib{noun(rng)}-{noun(rng)}{at}"
        salient.append(clause(rng)[4:])
        deep.append(f"/etc/{name}.conf {ident(rng, 32)}")
        state = "install reinstreq half-configured" if at == 61 else "install ok installed"
        folded = paragraph(rng, 3).replace(". ", ".\n ")
        parts.append(
            f"Package: {name}\nStatus: {state}\nPriority: optional\nSection: libs\nInstalled-Size: {rng.randint(9, 9999)}\n"
            f"Maintainer: {person(rng)} <pkg@example.org>\nArchitecture: amd64\nVersion: {rng.randint(0, 9)}.{at}-{rng.randint(1, 9)}\n"
            f"Depends: lib{noun(rng)}, lib{noun(rng)} (>= 2.{at})\nConffiles:\n {deep[-1]}\n"
            f"Description: {salient[-1]}\n {folded}\n"
        )
    text = "\n".join(parts)
    return payload("package records", text, leading(text, ["install reinstreq half-configured"], salient), deep)


def package_log(rng: random.Random) -> Payload:
    """What was done to packages, six lines for each; upgrades are what one looks for."""
    lines: list[str] = []
    salient: list[str] = []
    deep: list[str] = []
    for at in range(80):
        name = f"lib{noun(rng)}{at}:amd64"
        old, new = f"2.{at}-1", f"2.{at}-1+deb12u{rng.randint(1, 9)}"
        upgrade = at % 11 == 4
        now = f"2026-11-{at % 28 + 1:02d} 06:{at % 60:02d}:25"
        deed = f"upgrade {name} {old} {new}" if upgrade else f"trigproc {name} {old} <none>"
        (salient if upgrade else deep).append(deed)
        lines += [
            f"{now} startup archives unpack",
            f"{now} {deed}",
            f"{now} status half-configured {name} {old}",
            f"{now} status unpacked {name} {old}",
            f"{now} startup packages configure",
            f"{now} status installed {name} {new}",
        ]
    return payload("package log", "\n".join(lines) + "\n", salient, deep)


def tree(rng: random.Random) -> Payload:
    """`npm ls --json`: dependencies in dependencies, a problem at one of them."""
    first: list[str] = []
    deep: list[str] = []

    def node(depth: int) -> dict[str, Any]:
        version = f"{rng.randint(0, 20)}.{rng.randint(0, 20)}.{rng.randint(0, 99)}"
        made: dict[str, Any] = {
            "version": version,
            "resolved": f"https://registry.example.org/{ident(rng, 12)}.tgz",
            "overridden": False,
        }
        deep.append(made["resolved"])
        if depth < 4:
            below = (4, 3, 3, 2)[depth]
            made["dependencies"] = {f"{noun(rng)}-{noun(rng)}-{depth}{at}": node(depth + 1) for at in range(below)}
        return made

    parts = {}
    for at in range(3):
        first.append(f"@acme/{noun(rng)}-{at}")
        parts[first[-1]] = node(0)
    problem = "invalid: zod@3.22.4 /srv/app/node_modules/zod, required by: ^4.0.0"
    text = indented({"name": "acme-shop", "version": "4.1.0", "problems": [problem], "dependencies": parts})
    return payload("dependency tree", text, [problem, *first], deep)


def hashes(rng: random.Random) -> Payload:
    """RECORD of a wheel: paths, hashes, sizes."""
    lines, paths, deep = [], [], []
    for at in range(330):
        path = f"{noun(rng)}/{rng.choice(['core', 'lib', 'tests'])}/{snake(rng)}_{at}.py"
        deep.append(code(rng, 43))
        paths.append(path)
        lines.append(f"{path},sha256={deep[-1]},{rng.randint(9, 99_999)}")
    salient = ["../../../bin/settle-agent", "acme-2.4.6.dist-info/METADATA"]
    lines.insert(0, f"{salient[0]},sha256={code(rng, 43)},176")
    lines.insert(1, f"{salient[1]},sha256={code(rng, 43)},6608")
    lines.append("acme-2.4.6.dist-info/RECORD,,")
    text = "\n".join(lines) + "\n"
    return payload("record of hashes", text, leading(text, salient, paths), deep)


def certificates(rng: random.Random) -> Payload:
    """Certificates as openssl prints them; the numbers are most of it, whose they are is what matters."""
    parts, salient, deep = [], [], []
    for at in range(16):
        subject = (
            f"Subject: C = NO, O = {noun(rng).capitalize()} {noun(rng).capitalize()} AS, CN = {pascal(rng)} CA {at}"
        )
        salient.append(subject)
        deep.append(_octets(rng, 16))
        modulus = "\n".join(f"                    {_octets(rng, 15)}:" for _ in range(17))
        signature = "\n".join(f"         {_octets(rng, 18)}:" for _ in range(14))
        end = "Nov 12 09:37:37 2026 GMT" if at == 9 else f"Dec 31 09:37:37 {2030 + at} GMT"
        parts.append(
            "Certificate:\n    Data:\n        Version: 3 (0x2)\n"
            f"        Serial Number:\n            {deep[-1]}\n        Signature Algorithm: sha256WithRSAEncryption\n"
            f"        Issuer: CN = {pascal(rng)} Root\n        Validity\n"
            f"            Not Before: May  5 09:37:37 2016 GMT\n            Not After : {end}\n        {subject}\n"
            "        Subject Public Key Info:\n            Public Key Algorithm: rsaEncryption\n"
            f"                Public-Key: (2048 bit)\n                Modulus:\n{modulus}\n"
            "                Exponent: 65537 (0x10001)\n        X509v3 extensions:\n"
            f"            X509v3 Subject Key Identifier: \n                {_octets(rng, 20).upper()}\n"
            f"            X509v3 Basic Constraints: critical\n                CA:TRUE\n"
            f"    Signature Algorithm: sha256WithRSAEncryption\n    Signature Value:\n{signature}\n"
        )
    text = "".join(parts)
    return payload("certificates", text, leading(text, ["Not After : Nov 12 09:37:37 2026 GMT"], salient), deep)


def _octets(rng: random.Random, count: int) -> str:
    return ":".join(ident(rng, 2) for _ in range(count))


def project(rng: random.Random) -> Payload:
    """A project file of Maven: properties, dependencies, plugins in plugins."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<project xmlns="http://maven.apache.org/POM/4.0.0">',
        "  <modelVersion>4.0.0</modelVersion>",
        "  <groupId>org.acme</groupId>",
        "  <artifactId>acme-parent</artifactId>",
        "  <version>88.2</version>",
        "  <properties>",
    ]
    salient, deep = [], []
    for at in range(60):
        name = f"acme.{snake(rng)}.version"
        deep.append(f"{rng.randint(0, 9)}.{at}.{rng.randint(0, 99)}-{code(rng, 4)}")
        lines.append(f"    <{name}>{deep[-1]}</{name}>")
    lines += ["  </properties>", "  <build>", "    <plugins>"]
    for at in range(44):
        salient.append(f"{noun(rng)}-{noun(rng)}-{at:02d}-plugin")
        lines += [
            "      <plugin>",
            "        <groupId>org.apache.maven.plugins</groupId>",
            f"        <artifactId>{salient[-1]}</artifactId>",
            f"        <version>{rng.randint(1, 9)}.{at}</version>",
            "        <executions>",
            "          <execution>",
            f"            <id>{snake(rng)}</id>",
            f"            <phase>{rng.choice(['verify', 'package', 'site'])}</phase>",
            f"            <configuration><outputName>{noun(rng)}-{code(rng, 6)}</outputName></configuration>",
            "          </execution>",
            "        </executions>",
            "      </plugin>",
        ]
    text = "\n".join([*lines, "    </plugins>", "  </build>", "</project>", ""])
    return payload("project in xml", text, leading(text, ["acme-parent"], salient), deep)


def media_types(rng: random.Random) -> Payload:
    """Records in XML, each with the same sentence in many languages."""
    parts, salient, deep = ['<?xml version="1.0" encoding="UTF-8"?>\n<mime-info>'], [], []
    for at in range(60):
        salient.append(f"application/vnd.{noun(rng)}.{noun(rng)}{at:02d}")
        said, comments = [], []
        for language in ("be", "da", "de", "eo", "fi", "ga", "hu", "nn", "pl", "sk"):
            said.append(f"{title(rng)} ({language})")
            comments.append(f'    <comment xml:lang="{language}">{said[-1]}</comment>')
        deep.append(rng.choice(said))
        glob = f'    <glob pattern="*.{code(rng, 3).lower()}{at}"/>'
        parts += [
            f'  <mime-type type="{salient[-1]}">',
            f"    <comment>{sentence(rng)}</comment>",
            *comments,
            glob,
            "  </mime-type>",
        ]
    return payload("records in xml", "\n".join([*parts, "</mime-info>", ""]), salient, deep)


def releases(rng: random.Random) -> Payload:
    """A changelog in reStructuredText: releases, sections, entries."""
    parts, salient, deep = ["Changelog\n+++++++++\n"], [], []
    number = 120_000
    for at in range(10):
        head = f"What's New in Ledger 3.{20 - at}.{rng.randint(0, 9)}?"
        salient.append(head)
        parts += [head, "=" * len(head), "", f"*Release date: {stamp(rng, at * 900_000)[:10]}*", ""]
        for section in ("Core", "Library", "Tests"):
            parts += [section, "-" * len(section), ""]
            for _ in range(5):
                number -= rng.randint(1, 99)
                deep.append(f"gh-issue-{number}: {sentence(rng)}")
                parts += [f"- {deep[-1]}", f"  {sentence(rng)}", ""]
    return payload("changelog", "\n".join(parts), salient, deep)
