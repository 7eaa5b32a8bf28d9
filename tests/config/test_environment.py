"""Which variables speak for a cluster."""

from config.environment import cluster_environment, differing, known_variables, without_session

CLIENT = {
    "PATH": "/bin",
    "MEMTOMEM_STM_HOME": "/x",
    "MEMTOMEM_STM_PROXY__CACHE__ENABLED": "false",
    "MEMTOMEM_STM_SURFACING__LTM_MCP_COMMAND": "ltm",
    "MEMTOMEM_STM_SURFACING__INJECTION_MODE": "prepend",
    "MEMTOMEM_STM_NONSENSE": "1",
}


def test_a_cluster_freezes_its_own_scope() -> None:
    assert set(cluster_environment(CLIENT)) == {
        "MEMTOMEM_STM_PROXY__CACHE__ENABLED",
        "MEMTOMEM_STM_SURFACING__LTM_MCP_COMMAND",
    }


def test_a_cluster_s_processes_get_everything_but_one_client_s_wishes() -> None:
    assert without_session(CLIENT) == {n: v for n, v in CLIENT.items() if not n.endswith("INJECTION_MODE")}


def test_a_client_s_other_wishes_are_named() -> None:
    frozen = {"MEMTOMEM_STM_PROXY__CACHE__ENABLED": "false"}
    assert differing(CLIENT, frozen) == ["MEMTOMEM_STM_SURFACING__LTM_MCP_COMMAND"]
    assert differing(CLIENT, cluster_environment(CLIENT)) == []


def test_documented_variables_of_memtomem_stm_are_known() -> None:
    known = set(known_variables())
    assert {
        "MEMTOMEM_STM_LOG_LEVEL",
        "MEMTOMEM_STM_PROXY__UPSTREAM_SERVERS",
        "MEMTOMEM_STM_PROXY__SELECTION_TELEMETRY__SAMPLE_RATE",
        "MEMTOMEM_STM_SURFACING__FEEDBACK_DEMOTION_NEGATIVE_THRESHOLD",
        "MEMTOMEM_STM_SURFACING__SCALE_GATED_MIN_SCORE",
        "MEMTOMEM_STM_HOOK__COMPRESSION__MAX_CHARS",
        "MEMTOMEM_STM_DAEMON__MAX_CONCURRENT_LTM_OPS",
        "MEMTOMEM_STM_FORMATION__MAX_CONTENT_CHARS",
        "MEMTOMEM_STM_LANGFUSE__SECRET_KEY",
        "MEMTOMEM_STM_OTLP__FLUSH_TIMEOUT_SECONDS",
        "MEMTOMEM_STM_PARENT_LIVENESS_GRACE_SECONDS",
        "MEMTOMEM_STM_HOOK_SURFACE_TOOLS",
        "MEMTOMEM_STM_HTTP_TOKEN",
    } <= known
