"""Words, names and sentences from a seed; enough of them that sentences hardly ever repeat."""

from __future__ import annotations

import random
import string

NOUNS = [
    "invoice",
    "shipment",
    "ledger",
    "beacon",
    "turbine",
    "harbour",
    "orchard",
    "satellite",
    "compiler",
    "scheduler",
    "gateway",
    "replica",
    "shard",
    "cursor",
    "payload",
    "certificate",
    "tenant",
    "webhook",
    "throttle",
    "checkpoint",
    "snapshot",
    "partition",
    "migration",
    "exporter",
    "pipeline",
    "warehouse",
    "glacier",
    "corridor",
    "lantern",
    "voltage",
    "sediment",
    "passport",
    "archive",
    "tariff",
    "premium",
    "refund",
    "coupon",
    "basket",
    "terminal",
    "locale",
    "thermostat",
    "firmware",
    "antenna",
    "bracket",
    "coolant",
    "manifest",
    "registry",
    "volume",
    "bucket",
    "policy",
    "quota",
    "lease",
    "token",
    "session",
]
VERBS = [
    "rejects",
    "delays",
    "rewrites",
    "exports",
    "validates",
    "discards",
    "reorders",
    "throttles",
    "retries",
    "encrypts",
    "publishes",
    "archives",
    "merges",
    "truncates",
    "inspects",
    "releases",
    "postpones",
    "mirrors",
    "allocates",
    "compares",
    "renews",
    "drains",
    "rotates",
    "flags",
    "estimates",
]
ADJECTIVES = [
    "stale",
    "northern",
    "partial",
    "nightly",
    "duplicate",
    "orphaned",
    "regional",
    "encrypted",
    "legacy",
    "idle",
    "volatile",
    "pending",
    "upstream",
    "quiet",
    "fragile",
    "metric",
    "annual",
    "provisional",
    "remote",
    "sealed",
    "shallow",
    "verbose",
    "brittle",
    "weekly",
    "dormant",
    "obsolete",
]
ADVERBS = [
    "silently",
    "twice",
    "eventually",
    "rarely",
    "immediately",
    "locally",
    "upstream",
    "overnight",
    "gradually",
    "manually",
]
PEOPLE = [
    "Ingrid",
    "Tomas",
    "Yuki",
    "Amara",
    "Piotr",
    "Lena",
    "Rashid",
    "Chloe",
    "Mateus",
    "Sunniva",
    "Dmitri",
    "Oona",
    "Farah",
    "Gustav",
    "Nia",
    "Hiro",
    "Bianca",
    "Kofi",
]
FAMILIES = [
    "Halvorsen",
    "Okafor",
    "Lindqvist",
    "Moreau",
    "Tanaka",
    "Petrov",
    "Adeyemi",
    "Novak",
    "Castillo",
    "Berg",
    "Iqbal",
    "Rossi",
    "Kim",
    "Dunne",
]
HANGUL = [
    "서버",
    "응답",
    "지연",
    "주문",
    "배포",
    "로그",
    "사용자",
    "인증",
    "토큰",
    "캐시",
    "결제",
    "환불",
    "재고",
    "창고",
    "알림",
    "검색",
    "색인",
    "백업",
    "복구",
    "설정",
    "네트워크",
    "데이터베이스",
    "모니터링",
    "일정",
    "보고서",
    "회의",
    "고객",
    "계약",
    "배송",
    "오류",
]
PARTICLES = ("이", "을", "에서", "으로", "의", "는", "도", "까지")
HANGUL_ENDS = (
    "확인했습니다",
    "지연되었습니다",
    "변경되었습니다",
    "필요합니다",
    "실패했습니다",
    "검토 중입니다",
    "완료되었습니다",
)
KANJI = [
    "接続",
    "応答",
    "遅延",
    "配送",
    "注文",
    "倉庫",
    "認証",
    "設定",
    "更新",
    "復旧",
    "監視",
    "予約",
    "会議",
    "報告",
    "契約",
    "顧客",
    "在庫",
    "請求",
    "通知",
    "検索",
    "索引",
    "障害",
    "性能",
    "容量",
    "料金",
    "期限",
    "履歴",
    "権限",
    "部門",
    "工場",
]
KANA = ("を", "に", "が", "は", "の", "と", "から", "まで")
KANJI_ENDS = ("しました", "が必要です", "を確認中です", "は完了しています", "に失敗しました", "を変更します")
HANZI = (
    *("系统", "接口", "延迟", "订单", "部署", "日志", "用户", "认证", "缓存", "支付", "退款", "库存", "仓库", "通知"),
    *("检索", "备份", "恢复", "设置", "网络", "数据", "监控", "日程", "报告", "会议", "客户", "合同", "物流", "故障"),
    *("需要", "正在", "已经", "重新", "尚未", "确认", "更新", "检查", "完成", "取消"),
)
_SIGNS = string.ascii_letters + string.digits


def noun(rng: random.Random) -> str:
    return rng.choice(NOUNS)


def clause(rng: random.Random) -> str:
    return (
        f"the {rng.choice(ADJECTIVES)} {noun(rng)} {rng.choice(VERBS)} {rng.choice(ADVERBS)} "
        f"the {rng.choice(ADJECTIVES)} {noun(rng)}"
    )


def sentence(rng: random.Random) -> str:
    joints = ("", f" while {clause(rng)}", f" after {rng.randint(2, 90)} {noun(rng)}s", f", so {clause(rng)}")
    return f"{clause(rng)}{rng.choice(joints)}.".capitalize()


def paragraph(rng: random.Random, sentences: int = 4) -> str:
    return " ".join(sentence(rng) for _ in range(sentences))


def title(rng: random.Random) -> str:
    return f"{rng.choice(ADJECTIVES).capitalize()} {noun(rng)} {rng.choice(VERBS)} {noun(rng)} {rng.choice(ADVERBS)}"


def person(rng: random.Random) -> str:
    return f"{rng.choice(PEOPLE)} {rng.choice(FAMILIES)}"


def ident(rng: random.Random, length: int = 12) -> str:
    return f"{rng.getrandbits(4 * length):0{length}x}"


def code(rng: random.Random, length: int = 8) -> str:
    """Letters and digits without meaning, as short identifiers have them."""
    return "".join(rng.choices(_SIGNS, k=length))


def uuid(rng: random.Random) -> str:
    return f"{ident(rng, 8)}-{ident(rng, 4)}-4{ident(rng, 3)}-a{ident(rng, 3)}-{ident(rng, 12)}"


def snake(rng: random.Random) -> str:
    return f"{rng.choice(VERBS)}_{rng.choice(ADJECTIVES)}_{noun(rng)}"


def camel(rng: random.Random) -> str:
    first, *rest = snake(rng).split("_")
    return first + "".join(part.capitalize() for part in rest)


def pascal(rng: random.Random) -> str:
    return "".join(part.capitalize() for part in snake(rng).split("_"))


def korean(rng: random.Random) -> str:
    words = [rng.choice(HANGUL) + rng.choice(PARTICLES) for _ in range(rng.randint(3, 7))]
    return f"{' '.join(words)} {rng.choice(HANGUL_ENDS)}."


def japanese(rng: random.Random) -> str:
    return (
        "".join(rng.choice(KANJI) + rng.choice(KANA) for _ in range(rng.randint(3, 7))) + rng.choice(KANJI_ENDS) + "。"
    )


def chinese(rng: random.Random) -> str:
    return "，".join("".join(rng.choices(HANZI, k=rng.randint(3, 5))) for _ in range(rng.randint(2, 3))) + "。"


def stamp(rng: random.Random, at: int) -> str:
    """A time that grows with `at` (seconds), as ISO 8601."""
    day = f"2026-{3 + at // 2_592_000:02d}-{1 + at // 86400 % 28:02d}"
    return f"{day}T{at // 3600 % 24:02d}:{at // 60 % 60:02d}:{at % 60:02d}.{rng.randint(0, 999):03d}Z"
