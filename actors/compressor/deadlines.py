"""Lines that say until or from which day something holds, in the languages that people and tools write most."""

from __future__ import annotations

import re

import re2

from actors.compressor.ranks import visited
from actors.compressor.units import Units

_MONTH = r"(?:Jan|Feb|M[aä]r|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz])[a-z]{0,7}\.?"
_DAY = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.)? {_MONTH}|{_MONTH} \d{{1,2}}\b|\d{{4}}-\d\d-\d\d"
    r"|\d{1,2}\.\d{1,2}\.\d{4})"
)
_DUE = re.compile(
    r"\b(?:until|till|by|before|not? later than|from|starting|effective|expires?(?: on)?|ends?(?: on)?|due(?: on| by)?"
    r"|valid through|as of|removed (?:on|in|after)|moves? (?:from|to)|postponed to|bis(?: zum)?|ab(?: dem)?"
    rf"|spätestens(?: am)?|zum|vor dem) (?:\w+,? ){{0,3}}{_DAY}"
    r"|\d{1,2}(?:월 \d{1,2}일|月\d{1,2}日)\s?(?:\([^)]\))?(?:까지|부터|まで|から|前|之前|起)"
    r"|(?:기한|마감|期限|締め?切り?|截止)[^\n]{0,20}\d{1,2}(?:월 \d{1,2}일|月\d{1,2}日)"
    r"|\d{1,2}(?:월 \d{1,2}일|月\d{1,2}日)[^\n]{0,20}(?:변경|연기|変更|延期|改为|改為)",
    re.I,
)
"""A day up to which or from which on something holds."""
_LIKE_DAY = re2.compile(_DAY.replace("[aä]", "[a?]").replace(r"\d", "[0-9]").encode() + rb"|[0-9]{1,2}\? ?[0-9]{1,2}\?")
"""Days, in a text with `?` for what is not ASCII."""
_FEW_DUE, _MOST_DUE, _MOST_DAYS = 6, 0.06, 0.5


def due(units: Units) -> list[int]:
    """Units that say until or from which day something holds, where they are rare: deadlines, changes, expiry."""
    dated = visited(units, units.text.encode("ascii", "replace"), _LIKE_DAY)
    if len(dated) > max(_FEW_DUE, _MOST_DAYS * len(units)):
        return []
    found = [index for index in sorted(dated) if _DUE.search(units.contents[index])]
    return found if len(found) <= max(_FEW_DUE, _MOST_DUE * len(units)) else []
