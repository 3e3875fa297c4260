"""Start, drain, stop, exit codes: what a service manager and a person at a terminal see."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import openai
import pytest

from scrape import scrape
from takt_process import run, wait_until

LONG = "fake:length=100,step_ms=10"
ENDLESS = "fake:length=100000,step_ms=10,context=200000,blocks=20000"
HELLO = [{"role": "user", "content": "Say hello."}]


def begin_stream(client):
    stream = client.chat.completions.create(model="fake", messages=HELLO, stream=True)
    next(stream)
    return stream


def test_the_start_says_where_its_time_went(start, tiny_model):
    server = start(model=tiny_model)
    times = next(line for line in server.lines if line.startswith("started in "))
    assert re.match(r"started in \d+\.\d\d s; tiny: metadata \d+\.\d\d s, machine's limits \d+\.\d\d s, weights \d+\.\d\d s, time of steps ", times)


# F17: running answers finish, new work is refused, /ready says so at once, exit 0.
def test_sigterm_drains(start, connect):
    server = start(model=LONG)
    stream = begin_stream(connect(server))
    server.signal()
    wait_until(lambda: server.get("/ready")[0] == 503, "not ready")
    assert "drain" in server.get("/ready")[1]
    assert server.get("/health")[0] == 200
    status, answer = server.post("/v1/chat/completions", {"messages": HELLO})
    assert status == 503 and answer["error"]["code"] == "draining"
    chunks = list(stream)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert server.wait() == 0


@pytest.mark.parametrize("connection,tokens", [("close", 300), ("keep-alive", 8000)])
def test_sigterm_loses_no_byte_of_an_answer_that_is_still_being_read(start, connection, tokens):
    server = start("--drain-seconds", "60", model="fake:length=8000,step_us=20,context=20000,blocks=5000")
    body = json.dumps({"prompt": "x", "max_tokens": tokens, "seed": 1, "logprobs": 5})
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        reader.connect(("127.0.0.1", server.port))
        reader.sendall((f"POST /v1/completions HTTP/1.1\r\nHost: h\r\nConnection: {connection}\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        wait_until(lambda: scrape(server).total("takt_requests_ended_total", outcome="finished") == 1, "the answer's last token")
        server.signal()
        received = b""
        while piece := reader.recv(65536):
            received += piece
    head, answer = received.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200")
    assert json.loads(answer)["usage"]["completion_tokens"] == tokens
    assert server.wait() == 0


def test_an_answer_that_outlives_the_drain_ends_with_an_error(start, connect):
    server = start("--drain-seconds", "0", model=ENDLESS)
    stream = begin_stream(connect(server))
    server.signal()
    with pytest.raises(openai.APIError):
        list(stream)
    assert server.wait() == 0


# The server ended them, and says so: no client has gone.
def test_a_second_signal_ends_at_once(start, connect, tmp_path):
    server = start("--drain-seconds", "3600", "--capture", str(tmp_path / "capture"), model=ENDLESS)
    stream = begin_stream(connect(server))
    answers = []
    body = {"messages": HELLO}
    whole = threading.Thread(target=lambda: answers.append(server.post("/v1/chat/completions", body)))
    whole.start()
    wait_until(lambda: scrape(server).total("takt_requests_running") == 2, "both to run")
    server.signal(signal.SIGINT)
    wait_until(lambda: server.get("/ready")[0] == 503, "not ready")
    server.signal(signal.SIGINT)
    assert server.wait(10) == 0
    with pytest.raises(openai.APIError):
        list(stream)
    whole.join()
    assert [(status, answer["error"]["code"]) for status, answer in answers] == [(503, "draining")]
    access = [line for line in server.lines if " access id=" in line]
    assert len(access) == 2 and all(" code=draining " in line and "client_gone" not in line for line in access), access
    segment, = (tmp_path / "capture").glob("capture-*.jsonl")
    records = [json.loads(line) for line in segment.read_text().splitlines()[1:]]
    assert [(r["outcome"], r["error"], r["cancelled_ns"]) for r in records] == [("failed", "unavailable", None)] * 2
    assert all(r["ended_ns"] > 0 for r in records)


def test_an_idle_server_stops_on_sigterm(start):
    server = start()
    server.signal()
    assert server.wait(10) == 0


def test_sighup_is_logged_and_ends_nothing(start, connect):
    server = start(model=LONG)
    stream = begin_stream(connect(server))
    for _ in range(2):
        lines = len(server.lines)
        server.signal(signal.SIGHUP)
        wait_until(lambda: any("configuration reloaded" in line for line in list(server.lines)[lines:]), "the log line")
    chunks = list(stream)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert server.get("/ready")[0] == 200
    server.signal()
    assert server.wait() == 0


def one_line_of_error(result, code):
    assert result.returncode == code, result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("takt: ")
    return lines[0]


def test_a_taken_port_is_one_clear_line(start):
    server = start()
    line = one_line_of_error(run("serve", "--model", "fake:", "--port", str(server.port)), 4)
    assert str(server.port) in line


def test_a_missing_model_is_one_clear_line():
    assert "/nonexistent/model.gguf" in one_line_of_error(run("serve", "--port", "0", "--model", "/nonexistent/model.gguf"), 3)


@pytest.mark.parametrize("bytes_kept", [0, 3, 100, 5000])
def test_a_truncated_model_is_one_clear_line(tmp_path, tiny_model, bytes_kept):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(open(tiny_model, "rb").read()[:bytes_kept])
    assert "broken" in one_line_of_error(run("serve", "--port", "0", "--model", str(broken)), 3)
    one_line_of_error(run("inspect", str(broken)), 3)


def test_a_full_disk_is_one_clear_line():
    if not os.path.exists("/dev/full"):
        pytest.skip("missing: /dev/full")
    line = one_line_of_error(run("serve", "--port", "0", "--model", "fake:", "--step-log", "/dev/full"), 5)
    assert "No space left" in line


@pytest.mark.parametrize("arguments", [
    ["serve", "--port", "70000"],
    ["serve", "--port", "x"],
    ["serve", "--no-such-flag"],
    ["serve", "--config", "/nonexistent.toml"],
    ["serve", "--set", "scheduler.step_taget_ms=3"],
    ["serve", "--set", "scheduler.max_sequences=100", "--set", "scheduler.max_step_tokens=10"],
    ["serve", "--kv-bytes", "1000", "--kv-blocks", "3"],
    ["serve", "--host", "0.0.0.0"],
    ["serve", "--api-key", "short"],
    ["serve", "--api-key", "sk-long-enough", "--no-auth"],
    ["dance"],
    [],
])
def test_a_wrong_command_line_is_one_clear_line(arguments):
    one_line_of_error(run(*arguments), 2)


def test_a_wrong_script_is_one_clear_line():
    assert "no_such_key" in one_line_of_error(run("serve", "--port", "0", "--model", "fake:no_such_key=1"), 3)


# A19: limits that contradict the model are refused at start.
def test_seats_that_a_step_cannot_serve_are_refused_at_start():
    line = one_line_of_error(run("serve", "--port", "0", "--model", "fake:", "--set", "scheduler.max_sequences=100", "--set",
                                 "scheduler.max_step_tokens=50"), 2)
    assert "scheduler.max_sequences" in line


def test_the_configuration_says_where_every_value_came_from(tmp_path):
    file = tmp_path / "takt.toml"
    file.write_text("[http]\nport = 9000\n[scheduler]\nstep_target_ms = 30\n")
    shown = run("serve", "--config", str(file), "--step-target-ms", "40", "--api-key", "sk-never-shown", "--print-config")
    assert shown.returncode == 0
    assert f"port = 9000  # {file}:2" in shown.stdout
    assert "step_target_ms = 40  # flag" in shown.stdout
    assert 'host = "127.0.0.1"  # default' in shown.stdout
    assert "never-shown" not in shown.stdout
    again = tmp_path / "again.toml"
    again.write_text(shown.stdout)
    assert "step_target_ms = 40" in run("serve", "--config", str(again), "--print-config").stdout


def test_a_key_file_lets_its_keys_in(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# the team\nsk-first-key\nsk-second-key tenant=b\n")
    server = start("--api-key-file", str(keys), "--host", "0.0.0.0")
    server.url = f"http://127.0.0.1:{server.port}"
    for key, status in (("sk-first-key", 200), ("sk-second-key", 200), ("sk-third-key", 401)):
        assert server.get("/v1/models", {"Authorization": f"Bearer {key}"})[0] == status


# E5: the log states how many threads there are and why.
def test_the_start_says_threads_and_why(start):
    server = start("--threads", "1")
    assert any(line.startswith("threads: 1 for compute (as told; ") for line in server.lines)
    automatic = start()
    assert any(line.startswith("threads: ") and ("physical cores" in line or "quota" in line) for line in automatic.lines)


def thread_count(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


# E5: on one CPU of many there is one compute thread, and few others, whatever the machine has.
def test_one_allowed_cpu_means_one_compute_thread(start, tiny_model):
    cpu = min(os.sched_getaffinity(0))
    server = start(model=tiny_model, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    assert any(line.startswith("threads: 1 for compute (1 physical cores among 1 allowed CPUs), 1 for HTTP, 2 for text")
               for line in server.lines), server.lines
    alone = thread_count(server)
    more = start("--threads", "5", model=tiny_model, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    assert any("5 compute threads are more than the 1 that this process can run" in line for line in more.lines)
    # The engine's thread is one of those that compute.
    assert alone == thread_count(more) - 4
    assert alone <= 12


# F12: the file is read once; whatever happens to it afterwards, answers stay the same.
@pytest.mark.parametrize("change", ["truncated", "overwritten", "replaced", "removed"])
def test_a_model_file_that_changes_under_a_running_server_changes_no_answer(start, tmp_path, tiny_model, change):
    model = tmp_path / "model.gguf"
    shutil.copyfile(tiny_model, model)
    server = start(model=str(model))
    ask = {"prompt": "Once upon a time", "max_tokens": 40, "temperature": 0, "logprobs": 3, "ignore_eos": True, "cache_prompt": False}

    def answer(**more):
        status, body = server.post("/v1/completions", {**ask, **more})
        assert status == 200, body
        return body["choices"][0]["text"], body["choices"][0]["logprobs"]

    before = answer()
    if change == "truncated":
        os.truncate(model, 100)
    elif change == "overwritten":
        with open(model, "r+b") as file:
            file.write(b"\xff" * model.stat().st_size)
    elif change == "replaced":
        other = tmp_path / "other"
        other.write_bytes(b"not a model")
        other.replace(model)
    else:
        model.unlink()
    assert answer() == before
    # Nor through work that was not done before: another prompt, prompt logprobs.
    assert answer(prompt="A prompt that was never seen " * 20, echo=True)[0]
    assert server.get("/ready")[0] == 200
    with open(f"/proc/{server.process.pid}/maps") as maps:
        assert "model.gguf" not in maps.read()


def test_several_models_are_served_by_name(start):
    server = start("--model", "fake:text=two", model="fake:text=one")
    names = [model["id"] for model in json.loads(server.get("/v1/models")[1])["data"]]
    assert names == ["fake", "fake-2"]
    for name, text in zip(names, ("one", "two")):
        assert server.post("/v1/chat/completions", {"model": name, "messages": HELLO})[1]["choices"][0]["message"]["content"] == text
    assert any("engine each" in line for line in server.lines)


def test_the_version_names_numerics_and_instruction_set():
    shown = run("--version")
    assert shown.returncode == 0
    words = shown.stdout.split()
    assert words[0] == "takt" and "numerics" in words and words[-1] in ("scalar", "avx2", "avx512", "amx")


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_server_costs_next_to_nothing(start):
    server = start()
    server.get("/health")
    before = cpu_seconds(server.process.pid)
    threading.Event().wait(3)
    assert cpu_seconds(server.process.pid) - before <= 0.03


# F1 and the like: whatever comes in, a neighbour's stream does not change.
def test_a_neighbour_streams_on_unchanged_through_bad_input(start, connect):
    server = start(model="fake:length=60,step_ms=5")
    ask = dict(model="fake", prompt="The neighbour", temperature=0)
    alone = connect(server).completions.create(**ask).choices[0].text
    stream = connect(server).completions.create(stream=True, **ask)
    text = next(stream).choices[0].text
    bodies = [b"", b"{", b"[" * 100000, b'{"prompt": 1e400}', b'{"prompt": "\\ud800"}', b'{"prompt": "\xff\xfe"}', b"null", b"[]",
              b'{"prompt": "x", "max_tokens": -1}', b'{"prompt": "x", "max_tokens": 99999999999999999999}',
              b'{"prompt": "x", "temperature": "hot"}', b'{"prompt": "x", "n": 1000000}', b'{"prompt": [[[1]]]}',
              b'{"prompt": [-1]}', b'{"prompt": [999999999]}', b'{"prompt": "x", "stop": 5}', b'{"prompt": ""}']
    for body in bodies:
        status, answer = server.post("/v1/completions", body)
        assert 400 <= status < 500, (body[:40], status)
        assert answer["error"]["message"]
    for raw in (b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 100, b"POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(raw)
    text += "".join(chunk.choices[0].text for chunk in stream if chunk.choices)
    assert text == alone


def test_readiness_is_false_with_the_reason_while_a_step_hangs(start, connect):
    server = start("--set", "engine.stall_after_ms=300", model="fake:fail=stall,fail_step=3,stall_ms=3000")
    stream = begin_stream(connect(server))
    wait_until(lambda: server.get("/ready")[0] == 503, "not ready")
    assert server.get("/health")[0] == 200
    list(stream)
    wait_until(lambda: server.get("/ready")[0] == 200, "ready again")


def test_curl_gets_whole_answers_and_streams(start):
    server = start(model="fake:text=Hello there.")
    body = json.dumps({"messages": HELLO})

    def curl(*arguments):
        return subprocess.run(["curl", "-sS", "--fail-with-body", "-H", "Content-Type: application/json", *arguments,
                               server.url + "/v1/chat/completions"], capture_output=True, text=True, timeout=60)

    whole = curl("-d", body)
    assert json.loads(whole.stdout)["choices"][0]["message"]["content"] == "Hello there."
    stream = curl("-N", "-d", json.dumps({"messages": HELLO, "stream": True}))
    events = [line[6:] for line in stream.stdout.split("\n") if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    assert "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events[:-1]) == "Hello there."
    chunked = curl("-H", "Transfer-Encoding: chunked", "-d", body)
    assert chunked.returncode == 0
    wrong = curl("-d", "{")
    assert wrong.returncode != 0 and "error" in json.loads(wrong.stdout)
