"""How lines look that declare something, in the languages that people and tools send most."""

from __future__ import annotations

import re2

_MODIFIERS = (
    rb"(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|override|virtual|sealed|open"
    rb"|inline|data|case|lazy|implicit|pub(?:\([a-z: ]+\))?|unsafe|async|const|constexpr|extern(?: \"C\")?|local"
    rb"|mutating|partial|readonly|suspend|operator|infix|tailrec|companion|inner|annotation|value|fileprivate|required"
    rb"|convenience|indirect|native|synchronized|friend|explicit|typedef|given|comptime"
    rb"|@\w+(?:\([^)\n]*\))?|template ?<[^\n]*>) +)*"
)
_NAMED = (
    # functions
    rb"(?:def|defp|defmacro|fn|func|fun|sub|proc|procedure|subroutine|macro_rules!|rpc) +[\w$&'`.(:-]",
    rb"function\*?(?: +[\w$.:-]+)? *[({]",
    rb"function +[\w$.:-]+ *$",
    rb"\[[\w$.]+\] *\([^\n]*\{$",
    rb"(?:constructor|init[?!]?|deinit|subscript) *[(<{][^\n]*\{$",
    rb"(?:get|set) +\w+ *\([^\n]*\{$",
    # types: a name in capitals, or a line that opens a block
    rb"(?:class|struct|enum|union|interface|trait|protocol|extension|namespace|module|actor|record|object|mixin|newtype"
    rb"|enum class|enum struct|@interface|concept|instance|impl)(?: +(?:[A-Z_$]|[^\n]*[{:(]$)|<)",
    # a type that ends the line: what it extends may follow, its body opens on the next one
    rb"(?:class|struct|union|enum|namespace) +\w+(?:<[^\n;(){}]*>)?(?: +final)?(?: *:(?:[^:\n;][^\n;]*)?)? *$",
    rb"(?:impl|mod|trait|macro|package|defmodule|defprotocol|defimpl|module) +[\w<!][^\n]*(?:[{;]| do)$",
    rb"(?:type|input|message|service|oneof|typealias|associatedtype|fragment|query|mutation|subscription) +[@\w$]+"
    rb"[^\n]*[{=|(]",
    rb"scalar +[A-Z]\w*|directive +@\w|schema *\{|type +\w+ +(?:struct|interface|func)\b|package +[\w.]+;?$",
    # settings in blocks
    rb"(?:resource|data|variable|output|provider|module|check|ephemeral) +\"|(?:locals|terraform|moved) *\{$",
)
_INDENTED = (
    # a function that is assigned
    rb"(?:export +)?(?:const|let|var|local|my|our|val)? *[\w.$:'\"]+ *(?::[^=\n]{1,80})?(?:=|<-|:) *(?:async *)?"
    rb"(?:function\b|\([^()\n]*\) *(?::[^=\n]{1,60})?=>|\w+ *=>|lambda\b|proc\b|Proc\.new"
    rb"|(?:packed |extern )?(?:struct|enum|union|error|opaque) *[({])",
    rb"(?i:CREATE +(?:OR +REPLACE +|UNIQUE +|TEMP +|TEMPORARY +|MATERIALIZED +|UNLOGGED +)*(?:TABLE|VIEW|FUNCTION|INDEX"
    rb"|TRIGGER|TYPE|SCHEMA|PROCEDURE|SEQUENCE|DATABASE|ROLE|EXTENSION|POLICY|AGGREGATE|DOMAIN|CAST)\b)",
    rb"(?i:ALTER +(?:TABLE|FUNCTION|TYPE) )",
    # a type, a name, parameters, and the block that opens; the type is not always there
    rb"(?:[A-Za-z_][\w:<>,*&\[\]?. ]* [*&]*)?[~$@\w][\w:$.]*(?:<[^\n()]*>)? ?\([^;\n]*\)[^;\n(){}=]*(?:\([^()\n]*\))?"
    rb" *\{(?: *|[^\n]{0,120}\}| *//[^\n]*) *$",
    rb"(?:public|private|protected|internal|static|final|virtual|extern)\b[^\n=;]*\([^\n;)]*[,(]$",
    # a test or a group of them by its title
    rb"\w+ ?\([\"'`][^\n]{1,160}(?:\{|=> ?\{?|do)$",
    rb"#[ \t]*define +\w+\(",
    rb"@(?:interface|implementation|protocol) +\w|[-+] ?\([\w *<>]+\)\w+",
    rb"\((?:def\w*|define|ns) \S",
    rb"\\(?:part|chapter|(?:sub){0,2}section|paragraph|title|newcommand|newenvironment)\*?[\[{]",
    rb"\\begin\{\w+\}(?:\[[^\]\n]*\])?\{",
)
_MARGIN = (
    # whatever opens a block at the margin
    rb"[^\s{}/#*=;][^\n;=]{0,200}\{ *$",
    # labels of assembly, targets of make, symbols of a disassembly
    rb"[0-9a-f]{6,16} <[^>\n]+>:|[\w.$@]+:(?:[ \t]*[#;/][^\n]*)?$",
    rb"[\w/%$(){}-][\w./%$(){}-]*(?: [\w./%$(){}-]+){0,2}:(?: [\w./%$(){} |-]*)?$",
    rb"(?:export +|declare +|pub +)+(?:const|let|var|static|default)\b",
    rb"=head\d \S|=item [^\s*]",
    rb"\w+'* :: \S",
    rb"[\w.]+ +(?:<-|=) +function\b",
    rb"typedef\b[^\n]*|\} *\w+(?:, *\*?\w+)*;|extern [^\n(=]+;|(?:struct|union|enum) +\w+",
)
# One pattern of all of them has more states than re2 keeps, and is ten times slower.
DECLARED = tuple(
    re2.compile(rb"(?m)^" + begin + rb"(?:" + rb"|".join(forms) + rb")")
    for begin, forms in ((rb"[ \t]{0,16}" + _MODIFIERS, _NAMED), (rb"[ \t]{0,16}", _INDENTED), (rb"", _MARGIN))
)
"""In the bytes of a text: where a line begins that declares something, unless its first word is in `CONTROL`."""
PROTOTYPE = re2.compile(
    rb"(?m)^[A-Za-z_][\w*&:<> \t,]*[ \t*&]\(?\*?[\w:]+\)?[ \t]*\([^\n={}]*[;,(\\)][ \t]*(?:/[/*][^\n]*)?$"
)
"""In the bytes of C: a function without a body, or with it on the next line."""
CONTROL = frozenset(
    (
        "return", "if", "for", "while", "switch", "else", "catch", "elif", "elsif", "elseif", "await", "yield", "throw",
        "new", "do", "try", "with", "foreach", "when", "unless", "until", "case", "default", "finally", "delete",
        "goto", "using", "lock", "fixed", "except", "raise", "assert", "print", "echo", "guard", "defer", "select",
        "match", "loop", "then", "fi", "done", "esac", "end", "and", "or", "not", "in", "is", "as", "super", "this",
        "self", "break", "continue", "go", "range", "asm", "printf", "fprintf", "static_assert",
    )
)  # fmt: skip
"""First words of lines that look like declarations and are statements."""
