"""`takt bench` and `takt replay` as people run them, on Takt and on servers that misbehave."""
import json
import re
import signal
import subprocess

import pytest
from hostile_server import answer
from imitation_server import ImitationServer
from takt_process import BINARY, TaktServer, run, wait_until


def bench(*arguments, timeout=120):
    result = run("bench", *arguments, "--quiet", "--json", "-", timeout=timeout)
    return result, json.loads(result.stdout) if result.stdout else None


def test_a_bench_of_takt_is_complete_and_exact(server):
    result, report = bench(server.url, "--rate", "20", "--requests", "60", "--warm-up", "0.5", "--prompt", "uniform:200-400",
                           "--output", "uniform:5-30", "--ttft", "2", "--itl", "1")
    assert result.returncode == 0, result.stderr
    assert report["schema"] == "takt-bench/1" and report["valid"] and not report["partial"]
    everything = report["verdict"]["all"]
    assert everything["offered"] == 60 and everything["failures"] == {}
    assert everything["ttft_seconds"]["samples"] == 60
    # The server's tokenizer is asked, so that every length is exact.
    assert everything["answers_with_counts"] == 60
    assert everything["prompts_of_asked_length"] == 60
    assert everything["outputs_of_asked_length"] == 60
    assert everything["queue_seconds"]["samples"] == 60
    assert len(report["requests"]["scheduled_ns"]) >= 60
    names = [fact["name"] for fact in report["server"]]
    for wanted in ("maximum sequences", "step budget", "KV allocation", "preemption"):
        assert wanted in names
    assert any(fact["name"] == "maximum sequences" and "scheduler.max_sequences" in fact["value"] for fact in report["server"])


def test_a_closed_load_with_conversations(server):
    result, report = bench(server.url, "--users", "3", "--turns", "3", "--requests", "30", "--prompt", "40", "--output", "8",
                           "--think", "exp:0.01")
    assert result.returncode == 0, result.stderr
    assert report["verdict"]["all"]["offered"] == 30
    assert report["verdict"]["all"]["prefix_hit_rate"] is not None
    prompts = [tokens for tokens in report["requests"]["prompt_tokens"] if tokens]  # the last ones were cut by the end of the run
    assert max(prompts) > 2 * min(prompts)


def test_classes_are_judged_apart_and_known_to_the_server(server):
    result, report = bench(server.url, "--class", "name=chat service_class=chat rate=10 output=5 application=app",
                           "--class", "name=background service_class=background rate=10 output=20", "--duration", "2",
                           "--warm-up", "0")
    assert result.returncode == 0, result.stderr
    assert [one["name"] for one in report["verdict"]["classes"]] == ["chat", "background"]
    assert [one["name"] for one in report["verdict"]["applications"]] == ["app", "-"]
    assert report["verdict"]["all"]["failures"] == {}


def test_two_runs_are_compared_and_different_work_is_refused(server, tmp_path):
    for name, length in (("a", 10), ("b", 10), ("c", 20)):
        result = run("bench", server.url, "--rate", "50", "--requests", "60", "--warm-up", "0", "--quiet", "--output", str(length),
                     "--json", str(tmp_path / name), "--html", str(tmp_path / "page.html"), "--records", str(tmp_path / "records"))
        assert result.returncode == 0, result.stderr
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page and "http:" not in page.replace(server.url, "")
    records = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    assert all(len(record["token_arrivals_ns"]) > 1 for record in records[1:] if record["measured"])
    same = run("bench", "compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert same.returncode == 0 and "ttft p50" in same.stdout, same.stderr
    different = run("bench", "compare", str(tmp_path / "a"), str(tmp_path / "c"))
    assert different.returncode == 2 and "different work" in different.stderr
    assert run("bench", "compare", str(tmp_path / "a"), str(tmp_path / "c"), "--force").returncode == 0
    before = (tmp_path / "a").read_bytes()
    over_input = run("bench", "compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json", f"{tmp_path}/../{tmp_path.name}/a")
    assert over_input.returncode == 2 and "write over" in over_input.stderr
    assert (tmp_path / "a").read_bytes() == before
    no_output = run("bench", server.url, "--records", "-")
    assert no_output.returncode == 2 and "--records cannot be '-'" in no_output.stderr
    twice = run("bench", server.url, "--html", str(tmp_path / "x"), "--json", str(tmp_path / "x"))
    assert twice.returncode == 2 and "write over" in twice.stderr


def test_what_would_be_said_in_vain_is_refused_naming_both():
    url = "http://127.0.0.1:9"
    for first, second in ((("--rate", "5"), ("--class", "rate=1")), (("--prompt", "5"), ("--class", "rate=1")),
                          (("--users", "5"), ("--load", "mix.toml")), (("--output", "5"), ("--profile", "home")),
                          (("--profile", "home"), ("--class", "rate=1")), (("--prompt", "5"), ("--lengths", "t.csv")),
                          (("--find-capacity",), ("--profile", "home"))):
        refused = run("bench", url, *first, *second)
        assert refused.returncode == 2 and first[0] in refused.stderr and second[0] in refused.stderr, refused.stderr
    for alone, needed in ((("--people", "3"), "--profile"), (("--length-factor", "2"), "--profile"),
                          (("--attainment", "0.5"), "--find-capacity"), (("--tries", "3"), "--find-capacity")):
        refused = run("bench", url, *alone)
        assert refused.returncode == 2 and needed in refused.stderr, refused.stderr


def test_no_number_is_no_number_of_any_option():
    for option in ("--rate", "--duration", "--warm-up", "--drain", "--timeout", "--ttft", "--itl", "--tpot", "--end-to-end",
                   "--cancel-share", "--cancel-after", "--temperature"):
        refused = run("bench", "http://127.0.0.1:9", option, "nan")
        assert refused.returncode == 2 and option in refused.stderr and "must be a number" in refused.stderr, refused.stderr


def test_an_interrupted_run_writes_a_partial_report(server, tmp_path):
    path = tmp_path / "report.json"
    process = subprocess.Popen([BINARY, "bench", server.url, "--rate", "50", "--duration", "600", "--warm-up", "0", "--output", "5",
                                "--json", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: re.search(r"done [1-9]", process.stderr.readline()), "answers")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    report = json.loads(path.read_text())
    assert report["partial"] and report["valid"]
    assert report["verdict"]["all"]["failures"] == {}
    assert "PARTIAL" in output


def test_a_capacity_is_found(start):
    server = start("--max-sequences", "2", model="fake:length=16,step_ms=10")
    result, report = bench(server.url, "--rate", "4", "--find-capacity", "--duration", "3", "--warm-up", "0.5", "--ttft", "0.3",
                           "--itl", "1", "--output", "10", "--tries", "5", "--drain", "5")
    assert report["capacity"]["trials"], result.stderr
    assert 2 <= report["capacity"]["requests_per_second"] <= 30  # two seats, 100 ms each
    assert report["verdict"]["all"]["attainment"] >= 0.9


def whole(body, status="200 OK"):
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def error(message):
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": None}})


# 4: the server; 2: what was said to it. The table of docs/bench.md.
UNUSABLE = {
    "another protocol": (b"SSH-2.0-server\r\n\r\n", 4, "not_http"), "nothing at all": (b"", 4, "reset"),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-", 4, "half_answer"),
    "a page": (whole("<html>hello</html>"), 4, "no server of the OpenAI API"),
    "a page that is not found": (whole("<html>", "404 Not Found"), 4, "no server of the OpenAI API"),
    "another method": (whole("{}", "405 Method Not Allowed"), 4, "no server of the OpenAI API"),
    "another place": (whole("", "302 Found"), 4, "no server of the OpenAI API"),
    "other JSON": (whole("[]"), 4, "no server of the OpenAI API"), "an empty stream": (answer([]), 4, "no server of the OpenAI API"),
    "too much": (whole(error("slow down"), "429 Too Many Requests"), 4, "slow down"),
    "a fault": (whole("oops", "500 Internal Server Error"), 4, "500: oops"),
    "a start": (whole(error("loading"), "503 Service Unavailable"), 4, "loading"),
    "a wrong key": (whole(error("who are you"), "401 Unauthorized"), 2, "the server answers 401: who are you"),
    "a key without the right": (whole("no", "403 Forbidden"), 2, "the server answers 403: no"),
    "no such model": (whole(error("no model nope"), "404 Not Found"), 2, "no model nope"),
    "a refusal": (whole(error("temperature is out of range"), "400 Bad Request"), 2, "temperature is out of range"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_server_that_cannot_be_used_has_one_exit_code_whatever_the_command(kind, hostile, tmp_path):
    said, code, words = UNUSABLE[kind]
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,1,2\n")
    url = f"http://127.0.0.1:{hostile(said).port}"
    for command in (("bench", url), ("replay", str(trace), url)):
        result = run(*command, "--quiet", "--timeout", "5")
        assert result.returncode == code and words in result.stderr and not result.stdout, (command, result)


def test_a_server_that_is_not_there_and_one_that_is_none():
    nobody = run("bench", "http://127.0.0.1:9", "--quiet")
    assert nobody.returncode == 4 and "no_connection" in nobody.stderr
    for url in ("ftp://x", "http://", "http://a:0"):
        assert run("bench", url).returncode == 2


def test_what_no_request_of_the_load_could_be_is_refused_before_the_run(start):
    server = start(model="fake:length=16,context=1000")
    url = server.url
    for arguments, word in ((("--rate", "0"), "--rate"), (("--users", "0"), "--users"), (("--turns", "2"), "users"), (("--think", "1"), "users"),
                            (("--prompt", "99", "--shared-prefix", "100"), "shared prefix of 100 tokens is longer"),
                            (("--prompt", "990", "--output", "11"), "the server takes 1000 together"),
                            (("--prompt", "uniform:1-5000"), "the server takes 1000 together"),
                            (("--class", "name=fits rate=1", "--class", "name=long rate=1 prompt=5000"), "class long")):
        result = run("bench", url, "--quiet", *arguments)
        assert result.returncode == 2 and word in result.stderr and not result.stdout, (arguments, result)
    kept, report = bench(url, "--rate", "50", "--requests", "5", "--warm-up", "0", "--prompt", "5000", "--keep-long")
    assert report["verdict"]["all"]["failures"] == {"http_status": 5}, kept


def test_a_search_for_the_capacity_ends_where_two_runs_say_nothing():
    server = ImitationServer("vllm", ends_after=40)
    try:
        result, report = bench(server.url, "--rate", "20", "--find-capacity", "--duration", "1", "--warm-up", "0", "--output", "2",
                               "--prompt", "20", "--ttft", "5", "--itl", "5", "--tries", "9", "--drain", "5")
    finally:
        server.close()
    assert result.returncode == 1, result.stderr
    capacity = report["capacity"]
    last, once_more = capacity["trials"][-2:]
    assert not last["valid"] and not once_more["valid"] and last["requests_per_second"] == once_more["requests_per_second"]
    assert all(trial["valid"] for trial in capacity["trials"][:-2])
    assert capacity["stopped_at"] == last["requests_per_second"]
    assert any("no request reached the server" in warning for warning in report["warnings"])


def test_a_server_that_never_answers_is_given_up_by_the_timeout_before_the_run_too(hostile):
    for silent in (hostile(b"", hold=True), hostile(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", hold=True)):
        given_up = run("bench", f"http://127.0.0.1:{silent.port}", "--quiet", "--timeout", "0.3", timeout=10)
        assert given_up.returncode == 4 and "no complete answer within 0.3 s" in given_up.stderr


def test_a_trace_is_replayed_with_its_prefixes(server, tmp_path):
    trace = tmp_path / "trace.jsonl"
    rows = [{"timestamp": i * 20, "input_length": 1200, "output_length": 4 + i % 3, "hash_ids": [1, 2, 100 + i]} for i in range(30)]
    rows.append({"timestamp": 700, "input_length": 900_000, "output_length": 4, "hash_ids": list(range(1758))})
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("replay", str(trace), server.url, "--quiet", "--json", "-", "--ttft", "5", timeout=120)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    everything = report["verdict"]["all"]
    assert everything["offered"] == 30 and everything["failures"] == {}
    assert everything["prompts_of_asked_length"] == 30 and everything["outputs_of_asked_length"] == 30
    assert everything["prefix_hit_rate"] > 0.7  # 1,024 of 1,200 tokens, but for the first
    kept = next(fact["value"] for fact in report["load"] if fact["name"] == "kept")
    assert kept == "30 of 31 records; dropped 1: longer than the server's context"


def test_a_comparison_of_settings_with_a_run_that_is_not_valid_says_so_and_ends_with_its_code(server, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,input_tokens,output_tokens\n0,20,2\n0.01,20,2\n")
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text("[scheduler]\nmax_sequences = 64\n")
    result = run("replay", str(trace), server.url, "--quiet", "--warm-up", "5", "--configs", f"{tmp_path}/one.toml,{tmp_path}/two.toml",
                 "--rounds", "1", "--json", str(tmp_path / "comparison"))
    assert result.returncode == 1 and "NOT VALID: no request was measured" in result.stdout, result.stderr
    assert json.loads((tmp_path / "comparison").read_text())["comparisons"][0]["valid"] is False


def test_settings_are_compared_in_turns_and_taken_back(server, tmp_path):
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(json.dumps({"timestamp": i * 20, "input_length": 600, "output_length": 8, "hash_ids": [i, i + 1000]}) + "\n"
                             for i in range(30)))
    (tmp_path / "one.toml").write_text("[scheduler]\nmax_sequences = 64\n")
    (tmp_path / "two.toml").write_text("[scheduler]\nmax_sequences = 1\n")
    result = run("replay", str(trace), server.url, "--quiet", "--json", "-", "--configs",
                 f"{tmp_path}/one.toml,{tmp_path}/two.toml", "--rounds", "2", timeout=120)
    assert result.returncode == 0, result.stderr
    comparison = json.loads(result.stdout)["comparisons"][0]
    assert any("maximum sequences" in warning for warning in comparison["warnings"])
    assert {one["figure"] for one in comparison["differences"]} >= {"ttft p50", "attainment"}
    options = json.loads(server.get("/admin/config")[1])["options"]
    assert options["scheduler.max_sequences"] == {"value": 64, "origin": "default", "run_time": True}
