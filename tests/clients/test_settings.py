"""Settings that cannot work are refused by name and limit, as flags and in a file alike; nothing is taken silently."""
import pytest
from takt_process import run


def one_line_of_error(result, code):
    assert result.returncode == code, result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("takt: ")
    return lines[0]


# (key, value as TOML writes it, what the refusal says)
WRONG = [
    ("scheduler.max_sequences", "0", "1 to 4096"),
    ("scheduler.max_sequences", "4097", "1 to 4096"),
    ("scheduler.max_step_tokens", "0", "1 to 65536"),
    ("scheduler.max_step_tokens", "64", "scheduler.max_sequences"),
    ("compute.max_step_tokens", "64", "scheduler.max_sequences"),
    ("compute.max_context_tokens", "1", "at least 2"),
    ("compute.block_tokens", "17", "multiple of 16"),
    ("compute.kv_blocks", "-1", "0 to 16777216"),
    ("compute.threads", "-1", "0 to 1024"),
    ("scheduler.step_target_ms", "0", "1 to 60000"),
    ("scheduler.step_target_ms", "201", "scheduler.max_step_ms"),
    ("scheduler.watermark", "nan", "0.0 to 0.5"),
    ("scheduler.watermark", "-0.1", "0.0 to 0.5"),
    ("scheduler.newcomer_share", "inf", "0.1 to 0.9"),
    ("server.drain_seconds", "-1", "0 to 86400"),
    ("server.drain_seconds", "nan", "0 to 86400"),
    ("server.drain_seconds", "inf", "0 to 86400"),
    ("server.drain_seconds", "1.5", "0 to 86400"),
    ("server.drain_seconds", "99999999999999999999999", "server.drain_seconds"),
    ("server.log_level", '"loud"', "critical"),
    ("engine.stall_after_ms", "200", "scheduler.max_step_ms"),
    ("http.port", "70000", "0 to 65535"),
    ("http.port", "-1", "0 to 65535"),
    ("http.host", '"two words"', "name or an address"),
    ("http.host", '""', "name or an address"),
    ("http.cors_allowed_origins", '["everybody"]', "everybody"),
    ("server.step_log", '"a\\u0007b"', "control characters"),
    ("kv.prefix_cache", '"yes"', "true or false"),
    ("scheduler.step_taget_ms", "3", "scheduler.step_target_ms"),
    ("http.step_target_ms", "3", "scheduler.step_target_ms"),
    ("server.port", "3", "http.port"),
]


def as_flag(key, value):
    text = value.strip("[]").strip('"').replace("\\u0007", "\a")
    return ["--set", f"{key}={text}"]


@pytest.mark.parametrize("key, value, said", WRONG)
def test_a_wrong_setting_is_one_clear_line_as_a_flag_and_in_a_file(tmp_path, key, value, said):
    section, name = key.split(".")
    file = tmp_path / "takt.toml"
    file.write_text(f"[{section}]\n{name} = {value}\n")
    for arguments in (as_flag(key, value), ["--config", str(file)]):
        line = one_line_of_error(run("serve", "--port", "0", "--model", "fake:", *arguments), 2)
        if "99999999999999999999999" not in value:
            assert said in line and key in line, line


@pytest.mark.parametrize("flag", ["--host", "--port", "--api-key", "--api-key-file", "--config", "--step-target-ms", "--max-sequences",
                                  "--threads", "--kv-type", "--kv-bytes", "--kv-blocks", "--drain-seconds", "--step-log", "--log-level",
                                  "--set"])
def test_an_empty_value_does_not_mean_the_default(flag):
    arguments = [flag, ""] if flag in ("--port", "--model") else ["--port", "0", flag, ""]
    one_line_of_error(run("serve", "--model", "fake:", *arguments), 2)


def test_a_pool_too_small_for_one_context_is_refused_with_both_numbers(tiny_model, start):
    for arguments in (["--kv-blocks", "127"], ["--kv-bytes", "400000"]):
        line = one_line_of_error(run("serve", "--port", "0", "--model", tiny_model, *arguments), 3)
        assert "a context of 2048 tokens needs 128" in line and "compute.kv_" in line
    start("--kv-blocks", "128", model=tiny_model)
    start("--kv-blocks", "16", "--set", "compute.max_context_tokens=256", model=tiny_model)


def test_weights_that_stay_in_the_file_are_served_and_said_at_the_start(tiny_model, start):
    ask = {"prompt": "hello", "max_tokens": 4, "temperature": 0}
    server = start("--no-repack", model=tiny_model)
    assert any("in memory, the rest read from the file in every step" in line for line in server.lines)
    status, answer = server.post("/v1/completions", ask)
    assert status == 200
    _, packed = start(model=tiny_model).post("/v1/completions", ask)
    assert packed["choices"][0]["text"] == answer["choices"][0]["text"]


def test_a_pool_larger_than_the_memory_is_refused_not_cut(tiny_model):
    line = one_line_of_error(run("serve", "--port", "0", "--model", tiny_model, "--kv-bytes", str(1 << 45)), 3)
    assert "compute.kv_bytes" in line and str(1 << 45) in line


# What is measured is said, not refused: a machine that is busy while it starts must still start.
def test_a_step_target_below_what_is_possible_is_said_at_the_start(start):
    server = start("--step-target-ms", "1", model="fake:step_ms=20")
    assert any(line.startswith("warning: ") and "the step target is 1 ms" in line for line in server.lines)


def test_an_unknown_setting_is_named_although_the_closest_one_begins_like_it():
    ended = run("serve", "--set", "scheduler.step_target=30", "--print-config")
    assert ended.returncode == 2
    assert ended.stderr.strip() == "takt: scheduler.step_target: unknown option; the closest is scheduler.step_target_ms"
