"""Plans of queries."""

from __future__ import annotations

import random

import pytest

from actors.compressor.plans import plans
from actors.compressor.units import split
from tests.actors.compressor.texts import shortened


def plan(analysed: bool, header: str = "") -> str:
    rng = random.Random(3)
    lines = [header] if header else []
    for at in range(260):
        cost, rows = rng.randint(100, 90_000), rng.randint(10, 90_000)
        step = (
            f"{' ' * (2 * (at % 9))}->  Hash Join on part_{at}  (cost={cost / 2:.2f}..{cost}.50 rows={rows} width=41)"
        )
        if analysed:
            seen = max(1, rows // rng.randint(1, 5))
            step += f" (actual time=1.100..{rng.randint(5, 700)}.25 rows={seen} loops=1)"
        lines += [step, f"{' ' * (2 * (at % 9) + 6)}Hash Cond: (a.id = b.part_{at})"]
    audit = "        ->  Seq Scan on audit_trail  (cost=0.00..8812345.11 rows=98123455 width=44)"
    wrong = "        ->  Index Scan on mistaken  (cost=0.40..8.30 rows=3 width=44)"
    if analysed:
        audit += " (actual time=0.100..48211.733 rows=98123455 loops=1)"
        wrong += " (actual time=0.010..3.100 rows=41220 loops=1)"
    lines += [audit, "          Rows Removed by Filter: 98123001", wrong]
    return "\n".join([*lines, *(f"  Buffers: shared hit={at}" for at in range(40)), "Execution Time: 48307.113 ms", ""])


@pytest.mark.parametrize("header", ["", "                 QUERY PLAN"])
@pytest.mark.parametrize("analysed", [False, True])
def test_the_step_that_takes_the_time_stays(analysed: bool, header: str) -> None:
    out = shortened(plan(analysed, header))
    assert "Seq Scan on audit_trail" in out
    assert "Rows Removed by Filter: 98123001" in out
    assert "Execution Time: 48307.113 ms" in out
    if analysed:
        assert "Index Scan on mistaken" in out


def test_other_texts_have_no_steps() -> None:
    assert plans(split("the price (cost=12) of things\n" * 40)) == []
    assert plans(split("")) == []
