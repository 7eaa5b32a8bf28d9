"""The word lists behind `tokens`: function words, words that every project uses, abbreviations, technical concepts
across languages, Korean particles. Data only; all entries are case-folded."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS = _words("""
a an the and or but if then else so as at by for from in into of off on onto out over to up with without
within via per about above after again against all also am any are aren be been before being below between
both can cannot could did didn do does doesn doing don down during each few further had has have having he her
here hers him his how i is isn it its itself just let like ll may me might more most must my no nor not now
once only other our ours own re same she should some such than that their them there these they this those
through too under until us very was wasn we were what when where which while who whom why will won would you
your yours please want wants need needs needed using used use uses tell know show find look looking get gets
getting got give make makes made see seen still yet every ask asks asked try tries tried thing things way ways
그리고 하지만 그런데 있는 있다 있나 하는 하다 해줘 위해 위한 대한 대해 어떻게 무엇 무엇을 이것 저것
그것 우리 모든 어떤 어디 언제 누가 때문 경우 관련 관한 통해 같은 합니다 됩니다 입니다
있습니다 없습니다 한다 된다 이다
""")

# Words that say little about *which* memory fits, since any project's notes use them.
GENERIC = _words("""
add added adding adds api app application apps args argument arguments array attribute base basic block body
bool boolean branch bug bugs build builds builder call called calling calls case cases change changed changes
channel check checks class classes cli client clients code codes column command commands comment comments
commit commits common component components config configs configur configuration content contents context copy
core count create created creates creation current data date day days default defaults delete
deleted description detail details dev develop developer development dir directory doc docs document
documentation documents done edit element empty end entity entry environment env error errors event events
example examples exist existing expected fail failed fails failure false feature features fetch field fields
file filename files fix fixed fixes folder folders format found full function functions general group handle
handler handlers help helper helpers history home id ids implement implementation import improve include index
info information init initial input inputs instance int interface internal issue issues item items job json
key keys kind label last latest lib library line lines link links list lists load local log logs main manage
manager max message messages meta method methods min mode model models module modules name names new next node
note notes number object objects old open option options output package packages page pages param parameter
parameters parse part parts path paths plan point post problem process processes product production program
project projects property pull push put query question read reads readme record records reference release
remove repo repos repository request requests resource response result results return returns root row rows
rule rules run running runs sample save schema script scripts search section select send server servers
service services session set sets setting settings setup shared simple single size source sources spec specs
src stage start started state status step steps stop storage store string structure style sub summary support
system table tables tag tags target task tasks team template temp test tested tests testing text time title
today tool tools top true type types ui unit update updated updates upload url urls user users util utilities
utils val valid validate value values var variable variables version versions view views web week work working
works write wrote xml yaml yml year md py js ts tsx jsx go rs java html css txt toml sql csv first second
third one two three four five big small long short high low good bad best right wrong
""")

# Directory names that say nothing about what is in them.
GENERIC_FOLDERS = _words("""
src source sources lib libs index main app apps pkg packages package dist build out target bin cmd internal
vendor node_modules site-packages public static assets www web test tests spec specs __tests__ utils util
helpers helper common core shared modules module components component pages page views view models model types
java kotlin scala python org com resources __init__ init mod docs doc readme tmp temp usr var etc opt venv
.venv lib64 include
""")

# Folders that hold people's projects: the project is the folder below.
WORK_FOLDERS = _words("""
home users root work works workspace workspaces project projects repos repositories repo code dev develop
development git github gitlab src sources documents desktop documents mnt media srv data volumes private var
tmp opt usr local app
""")

# Words that also appear short, or in two forms; both sides meet at the right-hand stem.
ABBREVIATIONS = {
    "auth": "auth", "authentic": "auth", "authn": "auth", "authenticate": "auth", "authentication": "auth",
    "authoriz": "authz", "authorization": "authz", "authorisation": "authz", "authz": "authz",
    "authorize": "authz", "db": "databas", "dbs": "databas", "database": "databas", "databases": "databas",
    "databas": "databas", "config": "configur", "configs": "configur", "conf": "configur",
    "cfg": "configur", "configuration": "configur", "configure": "configur", "repo": "repository",
    "repos": "repository", "repositories": "repository", "env": "environment", "envs": "environment",
    "environments": "environment", "k8s": "kubernet", "kubernetes": "kubernet", "kube": "kubernet",
    "pg": "postgr", "postgres": "postgr", "postgresql": "postgr", "psql": "postgr", "js": "javascript",
    "ts": "typescript", "docs": "document", "documentation": "document", "perf": "performanc",
    "performance": "performanc", "prod": "production", "deps": "depend", "dependencies": "depend",
    "dependency": "depend", "async": "async", "asynchronous": "async", "migr": "migrat",
    "migration": "migrat", "migrations": "migrat", "migrate": "migrat", "migrating": "migrat",
    "migrated": "migrat", "signin": "login", "logon": "login", "log": "log", "creds": "credential",
    "pwd": "password", "passwd": "password", "tz": "timezon", "timezone": "timezon", "l10n": "localiz",
    "i18n": "internationaliz", "ws": "websocket", "msg": "messag", "err": "error", "errs": "error",
    "impl": "implement", "mgmt": "manag", "middlewares": "middlewar", "rotate": "rotat", "rotates": "rotat",
    "rotated": "rotat", "rotating": "rotat", "rotation": "rotat", "retries": "retry", "retrying": "retry",
    "retried": "retry", "caching": "cach", "cached": "cach", "caches": "cach", "cache": "cach",
    "paid": "payment", "pay": "payment", "payments": "payment", "payment": "payment", "billed": "billing",
    "bill": "billing", "bills": "billing", "billing": "billing", "sso": "sso", "deploy": "deploy",
    "deploys": "deploy", "deployed": "deploy", "deploying": "deploy", "deployment": "deploy",
    "deployments": "deploy", "emails": "email", "mail": "email", "mails": "email", "mailer": "email",
    "invoices": "invoic", "invoice": "invoic", "invoicing": "invoic", "queues": "queue", "queued": "queue",
    "limiter": "limit", "limits": "limit", "limiting": "limit", "limited": "limit", "limit": "limit",
    "backups": "backup", "webhooks": "webhook", "timeouts": "timeout", "locales": "local",
    "customer": "customer", "customers": "customer",
}  # fmt: skip

# Korean, Japanese and Chinese technical words → the English stem they stand for.
CONCEPTS = {
    "배포": "deploy", "デプロイ": "deploy", "인증": "auth", "認証": "auth",
    "认证": "auth", "로그인": "login", "ログイン": "login", "登录": "login", "登錄": "login",
    "데이터베이스": "databas", "디비": "databas", "データベース": "databas", "数据库": "databas",
    "백업": "backup", "バックアップ": "backup", "备份": "backup", "토큰": "token", "トークン": "token",
    "令牌": "token", "테스트": "test", "テスト": "test", "测试": "test", "설정": "configur",
    "設定": "configur", "配置": "configur", "캐시": "cach", "キャッシュ": "cach", "缓存": "cach",
    "결제": "payment", "決済": "payment", "支付": "payment", "오류": "error", "에러": "error",
    "エラー": "error", "错误": "error", "서버": "server", "サーバー": "server", "サーバ": "server",
    "服务器": "server", "사용자": "user", "ユーザー": "user", "用户": "user", "비밀번호": "password",
    "パスワード": "password", "密码": "password", "검색": "search", "検索": "search", "搜索": "search",
    "알림": "notific", "通知": "notific", "주문": "order", "注文": "order", "订单": "order",
    "재고": "inventory", "在庫": "inventory", "库存": "inventory", "환불": "refund", "返金": "refund",
    "退款": "refund", "메일": "email", "이메일": "email", "メール": "email", "邮件": "email",
    "마이그레이션": "migrat", "移行": "migrat", "マイグレーション": "migrat", "迁移": "migrat",
    "성능": "performanc", "性能": "performanc", "로그": "log", "ログ": "log", "日志": "log",
    "쿼리": "query", "クエリ": "query", "인덱스": "index", "インデックス": "index", "索引": "index",
    "세션": "session", "セッション": "session", "권한": "permission", "権限": "permission",
    "权限": "permission", "큐": "queue", "キュー": "queue", "队列": "queue", "재시도": "retry",
    "リトライ": "retry", "再試行": "retry", "重试": "retry", "타임아웃": "timeout",
    "タイムアウト": "timeout", "超时": "timeout", "모니터링": "monitor", "監視": "monitor",
    "监控": "monitor", "스키마": "schema", "スキーマ": "schema", "번역": "translat", "翻訳": "translat",
    "翻译": "translat", "시간대": "timezon", "タイムゾーン": "timezon", "时区": "timezon",
    "릴리스": "release", "릴리즈": "release", "リリース": "release", "发布": "release", "롤백": "rollback",
    "ロールバック": "rollback", "回滚": "rollback", "청구": "billing", "請求": "billing", "账单": "billing",
    "송장": "invoic", "請求書": "invoic", "发票": "invoic", "회원가입": "signup", "업로드": "upload",
    "アップロード": "upload", "上传": "upload", "이미지": "image", "画像": "image", "图片": "image",
    "문서": "document", "ドキュメント": "document", "文档": "document", "회의": "meeting",
    "会議": "meeting", "会议": "meeting", "일정": "schedul", "スケジュール": "schedul", "브랜치": "branch",
    "ブランチ": "branch", "分支": "branch", "커밋": "commit", "コミット": "commit", "提交": "commit",
    "웹훅": "webhook", "ウェブフック": "webhook", "컨테이너": "contain", "コンテナ": "contain",
    "容器": "contain", "쿠버네티스": "kubernet", "クーバネティス": "kubernet", "도커": "docker",
    "レート": "rate", "제한": "limit", "制限": "limit", "限制": "limit", "속도": "rate",
    "암호화": "encrypt", "暗号化": "encrypt", "加密": "encrypt", "키": "key", "갱신": "refresh",
    "更新": "refresh", "리프레시": "refresh", "만료": "expir", "期限": "expir", "过期": "expir",
    "프록시": "proxy", "プロキシ": "proxy", "代理": "proxy", "린트": "lint", "프론트엔드": "frontend",
    "フロントエンド": "frontend", "前端": "frontend", "백엔드": "backend", "バックエンド": "backend",
    "后端": "backend",
}  # fmt: skip

KOREAN_GENERIC = _words(
    "설정 오류 에러 서버 파일 코드 프로젝트 작업 확인 수정 추가 변경 문제 방법 기능 사용 사용자 테스트 검색 쿼리 로그 "
    "문서 이름 목록 내용 정보 데이터 버전 실행 처리 시스템 결과 요청 응답 값 함수 개발 팀 정리 규칙 최신"
)

# Longest first: particles and endings that are stripped when at least two characters stay.
KOREAN_ENDINGS = tuple(
    sorted(
        _words("""
으로부터 에서부터 에서는 으로는 에게서 부터 까지 에서 에게 으로 이랑 처럼 보다 마다 조차 이나 하고 한테
께서 인지 해야 하는 하기 하면 하여 해서 했다 한다 된다 되는 되면 되어 합니다 됩니다
들을 들이 들은 이란 이다 을 를 이 가 은 는 의 에 로 와 과 도 만 라 랑 며 고 야 요 들
"""),
        key=len,
        reverse=True,
    )
)

# Shell commands that say nothing about the matter; their operands do.
PLAIN_COMMANDS = _words("""
ls cat cd grep rg egrep find head tail sed awk wc sort uniq echo mkdir touch less more cp mv chmod tree xargs
sudo env time git npm npx pnpm yarn uv uvx pip pipx poetry python python3 node deno bun make cargo go bash sh
zsh ssh docker docker-compose curl wget cut tr tee jq test run exec install add build status diff log show
commit checkout switch branch stash fetch pull push rebase merge blame compose logs get describe apply
""")

# Operators of code and mail search that narrow, and say nothing about the matter.
SEARCH_OPERATORS = _words("""
is in author assignee mentions state sort order user org created updated closed merged language lang review
archived draft type from to cc before after older newer has site size stars forks involves commenter milestone
head base ext extension inurl during on filetype
""")
