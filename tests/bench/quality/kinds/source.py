"""Source code of four languages."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import camel, noun, sentence, snake


def python(rng: random.Random) -> Payload:
    lines, salient, deep = (
        [
            "from __future__ import annotations",
            "",
            "import asyncio",
            "import logging",
            "",
            f"DEFAULT_{noun(rng).upper()}_SECONDS = {rng.randint(10, 999)}",
            "",
        ],
        [],
        [],
    )
    for _ in range(14):
        salient.append(f"class {camel(rng).capitalize()}{rng.randint(10, 99)}({noun(rng).capitalize()}):")
        lines += [salient[-1], f'    """{sentence(rng)}"""', ""]
        for _ in range(6):
            salient.append(
                f"def {snake(rng)}_{rng.randint(10, 999)}(self, {noun(rng)}: str, {noun(rng)}_limit: int = {rng.randint(1, 99)}) -> bool:"
            )
            deep.append(f"{snake(rng)} = self._{noun(rng)}.{snake(rng)}({rng.randint(10**3, 10**5)})")
            lines += [
                f"    {salient[-1]}",
                f'        """{sentence(rng)}"""',
                f"        {deep[-1]}",
                f"        if {noun(rng)}:",
                f"            raise {noun(rng).capitalize()}Error({noun(rng)!r})",
                f"        for {noun(rng)[0]} in self.{noun(rng)}:",
                f"            self.{snake(rng)}({noun(rng)})",
                "        return True",
                "",
            ]
    return payload("python", "\n".join(lines), salient, deep)


def typescript(rng: random.Random) -> Payload:
    lines, salient, deep = [f"import {{ {camel(rng)}, {camel(rng)} }} from './{noun(rng)}';", ""], [], []
    for _ in range(22):
        salient.append(f"export interface {camel(rng).capitalize()}{rng.randint(10, 99)} {{")
        lines += [
            salient[-1],
            *(f"  {camel(rng)}?: {rng.choice(['string', 'number', 'Date'])};" for _ in range(4)),
            "}",
            "",
        ]
        salient.append(
            f"export async function {camel(rng)}{rng.randint(10, 99)}({noun(rng)}: {noun(rng).capitalize()}, retries = {rng.randint(1, 9)}): Promise<void> {{"
        )
        deep.append(f"const {camel(rng)} = await this.{camel(rng)}({rng.randint(10**3, 10**5)});")
        lines += [
            salient[-1],
            f"  // {sentence(rng)}",
            f"  {deep[-1]}",
            f"  if (!{camel(rng)}) {{",
            f"    throw new Error(`{noun(rng)} missing`);",
            "  }",
            *(f"  {camel(rng)}.{camel(rng)}({noun(rng)});" for _ in range(7)),
            f"  return {camel(rng)};",
            "}",
            "",
        ]
    return payload("typescript", "\n".join(lines), salient, deep)


def go(rng: random.Random) -> Payload:
    lines, salient, deep = [f"package {noun(rng)}", "", "import (", '\t"context"', '\t"fmt"', ")", ""], [], []
    for _ in range(34):
        salient.append(
            f"func (s *{noun(rng).capitalize()}Store) {camel(rng).capitalize()}{rng.randint(10, 99)}(ctx context.Context, {noun(rng)} int64) error {{"
        )
        deep.append(f"{noun(rng)} := s.{camel(rng)}({rng.randint(10**3, 10**5)})")
        lines += [
            f"// {sentence(rng)}",
            salient[-1],
            f"\t{deep[-1]}",
            f"\tif err := s.{camel(rng)}(ctx); err != nil {{",
            f'\t\treturn fmt.Errorf("{noun(rng)} %d: %w", {noun(rng)}, err)',
            "\t}",
            *(f"\ts.{noun(rng)}.{camel(rng).capitalize()}({noun(rng)})" for _ in range(8)),
            "\treturn nil",
            "}",
            "",
        ]
    return payload("go", "\n".join(lines), salient, deep)


def rust(rng: random.Random) -> Payload:
    lines, salient, deep = [f"use crate::{noun(rng)}::{noun(rng).capitalize()};", ""], [], []
    for _ in range(28):
        salient.append(f"pub struct {camel(rng).capitalize()}{rng.randint(10, 99)} {{")
        lines += [
            "#[derive(Debug, Clone)]",
            salient[-1],
            *(f"    pub {snake(rng)}: Option<u64>," for _ in range(3)),
            "}",
            "",
        ]
        salient.append(
            f"pub fn {snake(rng)}_{rng.randint(10, 99)}(&self, {noun(rng)}: &str) -> Result<u32, {noun(rng).capitalize()}Error> {{"
        )
        deep.append(f"let {noun(rng)} = self.{snake(rng)}({rng.randint(10**3, 10**5)})?;")
        lines += [
            f"/// {sentence(rng)}",
            salient[-1],
            f"    {deep[-1]}",
            f"    match {noun(rng)} {{",
            f"        Some({noun(rng)}) => {snake(rng)}(),",
            f'        None => panic!("{noun(rng)}"),',
            "    }",
            *(f"    {snake(rng)}({noun(rng)});" for _ in range(6)),
            "}",
            "",
        ]
    return payload("rust", "\n".join(lines), salient, deep)


def c(rng: random.Random) -> Payload:
    lines, salient, deep = (
        ["#include <stdio.h>", '#include "lease.h"', f"#define MAX_{noun(rng).upper()} {rng.randint(16, 4096)}", ""],
        [],
        [],
    )
    for at in range(40):
        salient.append(f"static int {snake(rng)}_{at}(struct {noun(rng)} *{noun(rng)[0]}, size_t len)")
        deep.append(f"{noun(rng)}->{noun(rng)} = {snake(rng)}({rng.randint(10**3, 10**5)});")
        lines += [
            f"/* {sentence(rng)} */",
            salient[-1],
            "{",
            f"\t{deep[-1]}",
            f"\tif (!{noun(rng)})",
            "\t\treturn -EINVAL;",
            *(f"\t{snake(rng)}({noun(rng)});" for _ in range(8)),
            "\treturn 0;",
            "}",
            "",
        ]
    return payload("c", "\n".join(lines), salient, deep)


def java(rng: random.Random) -> Payload:
    lines, salient, deep = ["package org.acme.lease;", "", "import java.util.List;", ""], [], []
    lines.append(f"public final class {camel(rng).capitalize()}Service {{")
    for at in range(36):
        salient.append(
            f"public List<String> {camel(rng)}{at}(final long {noun(rng)}Id, String {noun(rng)}) throws {noun(rng).capitalize()}Exception {{"
        )
        deep.append(f"final var {noun(rng)} = {camel(rng)}.{camel(rng)}({rng.randint(10**3, 10**5)});")
        lines += [
            "    /**",
            f"     * {sentence(rng)}",
            "     */",
            "    @Transactional",
            f"    {salient[-1]}",
            f"        {deep[-1]}",
            f"        if ({noun(rng)} == null) {{",
            f'            throw new IllegalStateException("{noun(rng)}");',
            "        }",
            *(f"        this.{camel(rng)}({noun(rng)});" for _ in range(6)),
            f"        return {camel(rng)}();",
            "    }",
            "",
        ]
    return payload("java", "\n".join([*lines, "}"]), salient, deep)
