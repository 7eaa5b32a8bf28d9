"""Code: declarations of many languages stay, whatever else goes; minified code by its names and texts."""

from __future__ import annotations

import re

import pytest

from actors.compressor.detect import Kind, detect
from actors.compressor.messages import Policy
from tests.actors.compressor.texts import shortened

BODIES = {
    "python": (
        "class Ledger{n}(Base):\n"
        '    """Keeps {n}."""\n\n'
        "    def settle_{n}(\n        self, entry: Entry, *, dry_run: bool = False\n    ) -> Result:\n"
        "        found = self.load(entry)\n        if found is None:\n            return Result()\n"
        "        self.note(found)\n        return found.result\n",
        ("class Ledger{n}(Base):", "def settle_{n}(", "self, entry: Entry, *, dry_run: bool = False"),
    ),
    "c header": (
        "/*\n** Returns what is left of the account and\n** sets the error of the handle otherwise.\n"
        "** The string belongs to the library.\n*/\nLIB_API int lib_settle_{n}(lib_handle*, const char*,\n"
        "                  int flags);\n#define LIB_FLAG_{n} 0x{n}\ntypedef struct lib_entry_{n} lib_entry_{n};\n",
        ("LIB_API int lib_settle_{n}(lib_handle*, const char*,", "int flags);", "typedef struct lib_entry_{n}"),
    ),
    "c++ of GNU": (
        "      /**\n       *  @brief  Finds.\n       */\n      iterator\n"
        "      find_{n}(const key_type& __x) const\n      {{ return _M_t.find(__x); }}\n\n"
        "      template<typename _Other>\n\tvoid\n\tmerge_{n}(map<_Other>& __source)\n\t{{\n"
        "\t  walk(__source);\n\t}}\n\n",
        ("find_{n}(const key_type& __x) const", "merge_{n}(map<_Other>& __source)"),
    ),
    "declarations of TypeScript": (
        "export interface Options{n} extends Base<'x'> {{\n    /** How long. */\n    readonly timeout?: number;\n"
        "    /** How often. */\n"
        "    readonly retries?: number;\n    /** Where to. */\n    readonly target?: string;\n    // and so on\n}}\n"
        "export declare const create{n}: Factory<Options{n}>;\n"
        "export type Input{n}<T extends Shape> = T extends any ? Inner<T> : never;\n"
        "export declare function read{n}(path: string): boolean;\n",
        ("interface Options{n}", "declare const create{n}", "type Input{n}", "declare function read{n}"),
    ),
    "shell": (
        "fetch_{n}() {{\n  local url=\"$1\"\n  if [ -z \"$url\" ]; then\n    echo none >&2\n    return 1\n  fi\n"
        "  curl -qsSL \"$url\"\n}}\n\n",
        ("fetch_{n}() {",),
    ),
    "java that throws": (
        "    /**\n     * Runs all of them.\n     */\n    public <T> List<Future<T>> invoke{n}(Collection<T> tasks,\n"
        "                                        long timeout)\n        throws InterruptedException {{\n"
        "        long nanos = toNanos(timeout);\n        if (nanos > 0) {{\n"
        "            return wait(nanos);\n        }}\n"
        "        return done;\n    }}\n\n",
        ("invoke{n}(Collection<T> tasks,", "long timeout)"),
    ),
    "c#": (
        "    public sealed class Handler{n} : IHandler\n    {{\n        private readonly IStore _store;\n\n"
        "        public async Task<Result> HandleAsync{n}(Order order, CancellationToken token = default)\n        {{\n"
        "            if (order == null)\n            {{\n"
        "                throw new ArgumentNullException();\n            }}\n"
        "            return await _store.SaveAsync(order, token);\n        }}\n    }}\n",
        ("class Handler{n} : IHandler", "HandleAsync{n}(Order order, CancellationToken token = default)"),
    ),
    "ruby": (
        "  class Invoice{n} < ApplicationRecord\n    belongs_to :customer\n    validates :total, presence: true\n\n"
        "    def total_{n}(currency = :eur)\n      lines.sum(&:amount).round(2)\n    end\n  end\n",
        ("class Invoice{n} < ApplicationRecord", "def total_{n}(currency = :eur)"),
    ),
    "kotlin": (
        "class Orders{n}(private val repo: Repository) {{\n    suspend fun settle{n}(id: Long): Result<Order> {{\n"
        "        val order = repo.find(id) ?: return failure(id)\n        log.info(\"settling\")\n"
        "        return success(order)\n    }}\n}}\n",
        ("class Orders{n}(private val repo: Repository) {", "suspend fun settle{n}(id: Long)"),
    ),
    "lua": (
        "function M.open_{n}(path, mode)\n  local f = io.open(path, mode)\n  if not f then\n    return nil\n  end\n"
        "  return f\nend\n\nM.close_{n} = function(f)\n  f:close()\nend\n",
        ("function M.open_{n}(path, mode)", "M.close_{n} = function(f)"),
    ),
    "settings of Terraform": (
        'resource "aws_instance" "web_{n}" {{\n  ami           = data.aws_ami.ubuntu.id\n'
        '  instance_type = "t3.micro"\n\n  tags = {{\n    Name = "web"\n  }}\n}}\n\n',
        ('resource "aws_instance" "web_{n}" {',),
    ),
    "schema of GraphQL": (
        "type Person{n} implements Node {{\n  id: ID!\n  name: String!\n  friends(first: Int = 10): Connection!\n}}\n\n"
        "enum Role{n} {{\n  ADMIN\n  USER\n}}\n\n",
        ("type Person{n} implements Node {", "enum Role{n} {"),
    ),
    "sql": (
        "CREATE TABLE ledger_{n} (\n    id bigint NOT NULL,\n    amount numeric(12, 2),\n    CHECK (amount > 0)\n);\n\n"
        "INSERT INTO ledger_{n} VALUES (1, 2.50);\nINSERT INTO ledger_{n} VALUES (2, 3.50);\n",
        ("CREATE TABLE ledger_{n} (",),
    ),
    "disassembly": (
        "00000000000{n}a0 <settle_{n}@plt>:\n"
        + "".join(f"    20{at:02x}:\t48 83 ec {at:02x}          \tsub    $0x8,%rsp\n" for at in range(16, 40)),
        ("<settle_{n}@plt>:",),
    ),
    "latex": (
        "\\section{{Chapter {n}}}\n% nobody sees this\nSome words about it that run on\nover two lines.\n"
        "\\begin{{methoddesc}}[Http]{{request_{n}}}{{uri, method}}\nSends it and waits\nfor the answer.\n"
        "\\end{{methoddesc}}\n\n",
        ("\\section{Chapter {n}}", "\\begin{methoddesc}[Http]{request_{n}}{uri, method}"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", sorted(BODIES))
def test_all_declarations_stay(language: str) -> None:
    body, wanted = BODIES[language]
    numbers = range(100, 140)
    text = "\n".join(body.format(n=n) for n in numbers)
    assert detect(text) is Kind.CODE
    out = shortened(text, policy=Policy(max_chars=len(text) // 2, max_tokens=4_000, untouched_chars=500))
    lost = [each for n in numbers for each in wanted if each.replace("{n}", str(n)) not in out]
    assert not lost


def test_declarations_that_are_too_many_are_cut_so_that_all_have_room() -> None:
    text = "\n".join(
        f"export interface Thing{n} extends Base<'thing{n}'>, Other<Thing{n}, Record<string, Thing{n}Input>> {{\n"
        "    field: string;\n}"
        for n in range(240)
    )
    out = shortened(text, policy=Policy(max_chars=14_000, max_tokens=3_500))
    assert all(f"export interface Thing{n} " in out for n in range(240))
    assert "…\n" in out


def test_control_statements_and_labels_are_no_declarations() -> None:
    body = (
        "static int settle_{n}(int a)\n{{\n    if (a > 0) {{\n        goto exit;\n    }}\n    while (more()) {{\n"
        "        step(a);\n    }}\nexit:\n    return a;\n}}\n\n"
    )
    text = "#include <stdio.h>\n" + "".join(body.format(n=n) for n in range(200))
    out = shortened(text, policy=Policy(max_chars=9_000, max_tokens=2_500))
    assert all(f"settle_{n}(int a)" in out for n in range(200))
    assert out.count("exit:") < 20
    assert out.count("while (more())") < 20


def test_a_comment_on_its_own_heads_what_follows_and_a_licence_does_not() -> None:
    licence = "/* Copyright somebody.\n   Redistribution is allowed\n   without any warranty.  */\n\n"
    groups = "".join(
        f"\n/* Flags of group {at}.  */\n" + "".join(f"#define G{at}_F{n}\t{n}\n" for n in range(60))
        for at in range(30)
    )
    out = shortened(licence + groups, policy=Policy(max_chars=8_000, max_tokens=2_500))
    assert all(f"/* Flags of group {at}.  */" in out for at in range(30))
    assert "Redistribution" not in out


@pytest.mark.parametrize(
    "prose",
    [
        "* a first point about it\n* a second point (with more)\n  * one below\n",
        "The function returns what was asked for, and\nthe next one does not. That is the second\n"
        "class of problems that nobody has seen, such as\nthese here, and a few more.\nNobody minds them.\n",
        "Ledger (the old one) was closed.  It should be:\n  kept, read, forgotten.\n",
    ],
)
def test_prose_is_no_code(prose: str) -> None:
    assert detect(prose * 80) is not Kind.CODE


def minified(count: int) -> str:
    return "/*! Ledger v1 */\n" + "".join(
        f'function settle{n}(e,t){{if(!e)throw new Error("Cannot settle the account {n}: nothing left");'
        f"for(var r=0;r<t.length;r++)e.push(t[r]<<2|{n});return e}}"
        f"Ledger{n}.prototype.close{n}=function(e){{this.a=e}};"
        for n in range(count)
    )


def test_minified_code_is_told_by_its_names_and_texts() -> None:
    text = minified(60)
    assert detect(text) is Kind.MINIFIED
    out = shortened(text)
    assert out.startswith("/*! Ledger v1 */")
    assert all(f"settle{n}" in out and f"close{n}" in out for n in range(60))
    assert all(f"Cannot settle the account {n}: nothing left" in out for n in range(60))
    assert re.search(r"\[shortened: 120 of 120 names and 60 of 60 texts of minified code", out)


def test_what_is_asked_of_minified_code_stands_as_it_stood() -> None:
    out = shortened(minified(300), query="Cannot settle the account 217")
    assert 'throw new Error("Cannot settle the account 217: nothing left")' in out


def test_quotes_in_patterns_do_not_turn_code_into_texts() -> None:
    text = minified(20) + "var q=/[\"']/;" + minified(200)
    out = shortened(text)
    assert ")throw new Error(" not in out
    assert "Cannot settle the account 19: nothing left" in out


def test_a_style_sheet_keeps_its_selectors() -> None:
    text = "".join(
        f".card-{n}{{display:flex;padding:{n}px}}@media (max-width:{n}px){{.card{{padding:0;margin:0}}}}"
        for n in range(100, 400)
    )
    assert detect(text) is Kind.MINIFIED
    out = shortened(text)
    assert all(f".card-{n}, " in out for n in range(100, 180))


TYPES = {
    "a base behind it": "    class ring : protected _Ring_base<_Tp, _Alloc>",
    "the base on the next line": "    class ring :",
    "nothing behind it": "  struct ring",
    "a specialisation": "    struct ring<char, 4>",
    "final": "  class ring final : public base",
    "a namespace": "namespace ring",
}


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_a_type_whose_body_opens_on_the_next_line_is_declared(kind: str) -> None:
    body = "\n".join(f"      push(slot_{at}, {at * 7});" for at in range(400))
    text = f"#include <memory>\n{body}\n  template<typename _Tp>\n{TYPES[kind]}\n    {{\n{body}\n    }};\n"
    assert TYPES[kind].strip() in shortened(text)


@pytest.mark.parametrize("sign", ["<=>", "==", "!=", "+=", "<<", "[]", "()", "->", "<", "*"])
def test_an_operator_is_declared_under_its_type(sign: str) -> None:
    body = "\n".join(f"      push(slot_{at}, {at * 7});" for at in range(400))
    head = f"    operator{sign}(const ring<_Tp>& __x, const ring<_Tp>& __y)"
    text = f"#include <memory>\n{body}\n  template<typename _Tp>\n    inline bool\n{head}\n    {{\n{body}\n    }}\n"
    assert head.strip() in shortened(text)


def test_constructors_that_begin_alike_are_all_declarations() -> None:
    text = "".join(
        f"class Action{at}(Base):\n    def __init__(self,\n                 option_{at},\n"
        + "                 other=None):\n"
        + "".join(f"        self.value_{line} = option_{at} + {line}\n" for line in range(14))
        + "\n"
        for at in range(40)
    )
    out = shortened(text)
    assert out.count("def __init__(self,") == 40
    assert all(f"option_{at}," in out for at in range(40))
