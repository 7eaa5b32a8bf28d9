"""Files of code that no other set has: headers, a shell script, declarations, PHP, minified code; blame and statistics."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import (
    camel,
    clause,
    code,
    ident,
    noun,
    paragraph,
    pascal,
    person,
    sentence,
    snake,
    title,
)


def c_header(rng: random.Random) -> Payload:
    """A header that is mostly comments."""
    lines, salient, deep = ["#ifndef ACME_LEDGER_H", "#define ACME_LEDGER_H", ""], [], []
    for at in range(56):
        salient.append(f"ACME_API int acme_{snake(rng)}_{at}(acme_{noun(rng)}*, const char*, int)")
        deep.append(sentence(rng))
        lines += [
            "/*",
            f"** CAPI3REF: {title(rng)}",
            f"** METHOD: acme_{noun(rng)}",
            "**",
            *(f"** {each}" for each in [sentence(rng), deep[-1], sentence(rng)]),
            "*/",
            f"{salient[-1]};",
            "",
        ]
    return payload("header of c", "\n".join([*lines, "#endif", ""]), salient, deep)


def defines(rng: random.Random) -> Payload:
    """A header that is mostly numbers, in groups with a remark above each."""
    lines, salient, deep = ["#ifndef _ACME_ELF_H", "#define\t_ACME_ELF_H 1", ""], [], []
    for at in range(40):
        salient.append(f"{clause(rng)[4:].capitalize()} {at:02d}")
        lines += [f"/* {salient[-1]}.  */", ""]
        begin = f"{noun(rng)[:3].upper()}{at}"
        for number in range(rng.randint(6, 14)):
            deep.append(f"{begin}_{snake(rng).upper()}\t{number}")
            lines.append(f"#define {deep[-1]}")
        lines.append("")
    return payload("header of numbers", "\n".join([*lines, "#endif", ""]), salient, deep)


def shell(rng: random.Random) -> Payload:
    lines, salient, deep = ["#!/usr/bin/env bash", f"# {sentence(rng)}", "set -euo pipefail", ""], [], []
    for at in range(60):
        salient.append(f"{snake(rng)}_{at}()")
        deep.append(f'{noun(rng)}="$({noun(rng)}_{snake(rng)} "${{1:-{rng.randint(100, 9999)}}}" 2>/dev/null || true)"')
        lines += [
            f"# {sentence(rng)}",
            f"{salient[-1]} {{",
            f"  local {deep[-1]}",
            f'  if [[ -n "${noun(rng)}" ]]; then',
            f'    {noun(rng)} --{snake(rng).replace("_", "-")} "$@" | sed -e "s/{noun(rng)}/{noun(rng)}/"',
            "  else",
            f'    echo "{title(rng)}" >&2',
            "    return 1",
            "  fi",
            "}",
            "",
        ]
    return payload("shell script", "\n".join([*lines, 'main "$@"', ""]), salient, deep)


def declarations(rng: random.Random) -> Payload:
    """Types of a library: `.d.ts`."""
    lines, salient, deep = ['import type * as core from "./core.cjs";'], [], []
    for at in range(80):
        name = f"${pascal(rng)}{at}"
        salient.append(f"export interface {name}Def")
        deep.append(f"{camel(rng)}: {pascal(rng)}<{rng.choice(['Key', 'Value', 'Input'])}, {rng.randint(1, 99)}>;")
        lines += [
            f"{salient[-1]} extends $TypeDef {{",
            f'    type: "{noun(rng)}";',
            f"    /** {sentence(rng)} */",
            f"    {deep[-1]}",
            f"    readonly {camel(rng)}?: undefined | ((input: {name}Input) => {noun(rng).capitalize()});",
            "}",
            f"export type {name}Input<T extends SomeType> = core.input<T>;",
            f"export declare const {name}: core.$constructor<{name}Def>;",
        ]
    return payload("declarations", "\n".join(lines) + "\n", salient, deep)


def php(rng: random.Random) -> Payload:
    lines, salient, deep = (
        ["<?php", "namespace Acme\\Storage;", "", f"final class {pascal(rng)}Tools {{"],
        [],
        [],
    )
    for at in range(46):
        salient.append(f"public static function {camel(rng)}{at}($filename, $options = [])")
        deep.append(sentence(rng))
        lines += [
            "  /**",
            f"   * {sentence(rng)}",
            "   *",
            f"   * @param string $filename {deep[-1]}",
            f"   * @throws {noun(rng).capitalize()}Exception {sentence(rng)}",
            "   */",
            f"  {salient[-1]} {{",
            f"    $request = new {pascal(rng)}Request();",
            f"    if (!array_key_exists('{snake(rng)}', $options)) {{",
            f'      throw new \\InvalidArgumentException("{title(rng)}");',
            "    }",
            f"    return self::{camel(rng)}($request, ${camel(rng)});",
            "  }",
            "",
        ]
    return payload("php", "\n".join([*lines, "}", ""]), salient, deep)


def minified(rng: random.Random) -> Payload:
    """A bundle in one line under its licence; what it can say goes wrong is all that can be read in it."""
    licence = f"/*! {noun(rng)} v3.{rng.randint(0, 20)}.{rng.randint(0, 9)} - (c) 2026 {person(rng)} - MIT */"
    parts, salient, deep = [], [], []
    for at in range(150):
        letter, other = rng.choice("abcdefgh"), rng.choice("nopqrstuv")
        deep.append(f"prototype.{camel(rng)}{at}=function({letter},{other})")
        body = f"{{var i={letter}.length;return this.{other}.{camel(rng)}({letter}<<{rng.randint(1, 31)}^i,{rng.randint(9, 9999)})}}"
        guard = ""
        if at % 10 == 4:
            salient.append(f"{clause(rng)[4:].capitalize()} {at}")
            guard = f'if(!{letter})throw new Error("{salient[-1]}");'
        parts.append(f"{letter}.{deep[-1]}{body[:1]}{guard}{body[1:]}")
    return payload("minified", f"{licence}\n!function(e,t){{{','.join(parts)}}}(this);", salient, deep)


def blame(rng: random.Random) -> Payload:
    """Who wrote which line, sixty characters of it in front of each."""
    lines, salient, deep = [], [], []
    number = 0
    for at in range(34):
        salient.append(f"def {snake(rng)}_{at}(")
        deep.append(f"{noun(rng)} = {snake(rng)}.{snake(rng)}({rng.randint(100, 9999)})")
        body = [
            f"{salient[-1]}self, {noun(rng)}: str) -> None:",
            f'    """{sentence(rng)}"""',
            f"    {deep[-1]}",
            f"    if {noun(rng)} is None:",
            f"        raise LookupError({noun(rng)})",
            f"    self.{snake(rng)}()",
            "",
        ]
        for line in body:
            number += 1
            who = f"{ident(rng, 8)} ({person(rng):<18} 2026-{rng.randint(10, 11)}-{rng.randint(10, 28)} 14:29:36 +0000 {number:>4})"
            lines.append(f"{who} {line}".rstrip())
    return payload("blame", "\n".join(lines) + "\n", salient, deep)


def statistics(rng: random.Random) -> Payload:
    """`git log --stat`."""
    lines, salient, deep = [], [], []
    for at in range(60):
        salient.append(f"{title(rng)} ({at})")
        lines += [
            f"commit {ident(rng, 40)}",
            f"Author: {person(rng)} <dev@example.org>",
            f"Date:   Mon Nov 30 {at % 24:02d}:29:36 2026 +0000",
            "",
            f"    {salient[-1]}",
            "",
        ]
        if at % 3 == 0:
            lines += [f"    {paragraph(rng, 1)}", ""]
        for _ in range(rng.randint(3, 9)):
            deep.append(f"{noun(rng)}/{noun(rng)}/{snake(rng)}.py")
            changed = rng.randint(1, 60)
            lines.append(f" {deep[-1]:<46} | {changed:>3} {'+' * (changed // 3)}{'-' * (changed // 5)}")
        lines += [
            f" {rng.randint(3, 9)} files changed, {rng.randint(9, 300)} insertions(+), {rng.randint(1, 90)} deletions(-)",
            "",
        ]
    return payload("log with statistics", "\n".join(lines), salient, deep)


def several_files(rng: random.Random) -> Payload:
    """What a server answers that was asked for several files at once."""
    paths = [f"{noun(rng)}/{snake(rng)}.py" for _ in range(6)] + ["pyproject.toml", "docs/testing.md", "Makefile"]
    parts, salient, deep = [], [f"{paths[0]}:\n", "docs/testing.md:\n", "Makefile:\n"], []
    for path in paths:
        lines = []
        for at in range(14):
            if path.endswith(".py"):
                salient.append(f"def {snake(rng)}_{code(rng, 3)}(")
                deep.append(f"{noun(rng)} = {snake(rng)}({rng.randint(100, 9999)}, {noun(rng)})")
                lines += [
                    f"{salient[-1]}{noun(rng)}: str) -> int:",
                    f'    """{sentence(rng)}"""',
                    f"    {deep[-1]}",
                    f"    return {noun(rng)}",
                    "",
                ]
            elif path.endswith(".md"):
                lines += [f"## {title(rng)}", "", paragraph(rng, 2), ""]
            else:
                lines += [f"{snake(rng)}{at} = {rng.randint(1, 99)}", f"# {sentence(rng)}"]
        parts.append(f"{path}:\n" + "\n".join(lines) + "\n")
    return payload("several files", "\n---\n".join(parts), [*salient[:3], *salient[3::30]], deep)
