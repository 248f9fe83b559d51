"""The process's environment."""

from pathlib import Path

import pytest

from mcptasks_server.settings import Settings, SettingsError, settings_from

NOWHERE = Path("/nonexistent/namespace")


def read(**environment: str) -> Settings:
    return settings_from({f"MCPTASKS_{name}": value for name, value in environment.items()}, namespace_file=NOWHERE)


def test_everything_has_a_default() -> None:
    settings = read()

    assert (settings.namespace, settings.host, settings.port, settings.metrics_port) == (
        *("default", "0.0.0.0"),
        *(8080, 9090),
    )
    assert (settings.allowed_hosts, settings.allowed_origins, settings.max_body_bytes) == (
        *(frozenset(), frozenset()),
        1_048_576,
    )
    assert (settings.kubeconfig, settings.context, settings.log_level) == (None, None, "info")
    assert settings.require_task_name_header is True
    assert settings.large_results is True
    assert (settings.max_tasks, settings.max_arguments_bytes) == (10_000, 262_144)


def test_a_pods_own_namespace_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "namespace"
    file.write_text("team-a\n")

    assert settings_from({}, namespace_file=file).namespace == "team-a"
    assert settings_from({"MCPTASKS_NAMESPACE": "team-b"}, namespace_file=file).namespace == "team-b"


def test_lists_are_read_without_blanks_and_empty_parts() -> None:
    settings = read(ALLOWED_HOSTS=" MCP.example.com. , ,other:8443,", ALLOWED_ORIGINS="https://app.example/")

    assert settings.allowed_hosts == {"mcp.example.com", "other:8443"}
    assert settings.allowed_origins == {"https://app.example"}


def test_a_switch_is_read_in_either_case() -> None:
    assert read(REQUIRE_TASK_NAME_HEADER="False").require_task_name_header is False
    assert read(REQUIRE_TASK_NAME_HEADER="TRUE").require_task_name_header is True
    assert read(LARGE_RESULTS="false").large_results is False


def test_callers_are_known_by_tokens_where_that_is_asked_for() -> None:
    assert read(AUTHENTICATION="none", TOKENS_FILE="/ignored").tokens_file is None
    assert read(AUTHENTICATION="Tokens", TOKENS_FILE="/etc/tokens.yaml").tokens_file == Path("/etc/tokens.yaml")


def test_tool_packs_are_all_that_are_installed_unless_some_are_named() -> None:
    assert read().tool_packs is None
    assert read(TOOLPACKS="weather, calendar:pack").tool_packs == ("weather", "calendar:pack")
    assert read(TOOLPACKS="none").tool_packs == ()
    assert (read().tool_pack_threads, read(TOOLPACK_THREADS="3").tool_pack_threads) == (8, 3)


def test_what_is_empty_counts_as_not_set() -> None:
    assert read(PORT="", NAMESPACE=" ", KUBECONFIG="") == read()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "x"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("MAX_BODY_BYTES", "10"),
        ("TOOLPACK_THREADS", "0"),
        ("LOG_LEVEL", "loud"),
        ("AUTHENTICATION", "oidc"),
        ("AUTHENTICATION", "tokens"),
        ("TOKENS_FILE", "/etc/tokens.yaml"),
        ("REQUIRE_TASK_NAME_HEADER", "no"),
        ("PORT", "\u0663"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_its_variables_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"MCPTASKS_{name}"):
        read(**{name: value})
