"""Settings, classes and keys that change while the server works: SIGHUP and POST /admin/config."""
import json
import signal
import threading

import openai
import pytest
from takt_process import run, wait_until

HELLO = [{"role": "user", "content": "Hello"}]


def options(server, headers=None):
    status, body = server.get("/admin/config", headers)
    assert status == 200, body
    return json.loads(body)


def value(server, key):
    return options(server)["options"][key]["value"]


def test_a_change_holds_at_once_and_the_answer_says_what_changed(start):
    server = start()
    status, answer = server.post("/admin/config", {"scheduler": {"step_target_ms": 30, "preset": "throughput"}})
    assert status == 200, answer
    assert answer["generation"] == 2
    assert answer["changed"]["scheduler.step_target_ms"] == {"before": "50", "after": "30"}
    assert answer["changed"]["scheduler.max_step_ms"] == {"before": "200", "after": "400"}, "by the preset"
    assert value(server, "scheduler.step_target_ms") == 30
    wait_until(lambda: any("configuration: scheduler.step_target_ms: 50 -> 30" in line for line in list(server.lines)), "the log")


@pytest.mark.parametrize("change, param, said", [
    ({"scheduler": {"watermark": 0.3, "step_target_ms": 500}}, "scheduler.max_step_ms", "at least"),
    ({"scheduler": {"watermark": 0.3}, "http": {"port": 1}}, "http.port", "restart"),
    ({"scheduler": {"watermark": 0.3, "max_sequences": 4000}}, "scheduler.max_step_tokens", "max_sequences"),
    ({"scheduler": {"watermark": 0.3, "wotermark": 0.3}}, "scheduler.wotermark", "the closest is scheduler.watermark"),
    ({"class": {"chat": {"window_ms": 5000}}, "scheduler": {"watermark": 0.3}}, "class.chat.window_ms", "ttft_ms"),
    ({"route": [{"class": "nothing"}], "scheduler": {"watermark": 0.3}}, "route.1.class", "there are voice"),
    (b"scheduler.watermark = 0.3\nscheduler.join = 'never'", "scheduler.join", "every_step"),
    (b"{", None, "JSON"),
])
def test_a_change_that_cannot_be_is_refused_whole_and_by_name(server, change, param, said):
    before = options(server)
    status, answer = server.post("/admin/config", change)
    assert status == 400, answer
    assert answer["error"]["param"] == param and said in answer["error"]["message"], answer
    assert options(server) == before


def test_streams_go_on_while_every_mode_of_batching_is_tried_on_them(start):
    server = start(model="fake:length=300,step_ms=2")
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="unused", max_retries=0)
    texts = {}

    def talk(number):
        stream = client.chat.completions.create(model="fake", messages=HELLO, stream=True, seed=7)
        texts[number] = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for preset in ["static", "lowest-latency", "request-level", "no-evict", "served-ratio", "static-tight", "orca", "continuous-chunked"]:
        status, answer = server.post("/admin/config", {"scheduler.preset": preset})
        assert status == 200, answer
    for thread in threads:
        thread.join(60)
    assert len(texts) == 6 and len(set(texts.values())) == 1 and len(texts[0]) >= 299
    client.close()


def test_sighup_reads_file_and_keys_again_and_a_wrong_file_changes_nothing(start, tmp_path):
    keys, config = tmp_path / "keys.txt", tmp_path / "takt.toml"
    keys.write_text("sk-admin-12 admin\n")
    config.write_text(f'[auth]\napi_key_file = "{keys}"\n[scheduler]\nstep_target_ms = 40\n')
    server = start("--config", str(config))
    admin = {"x-api-key": "sk-admin-12"}
    assert server.post("/admin/config", {"scheduler.watermark": 0.2}, admin)[0] == 200

    keys.write_text("sk-admin-12 admin\nsk-fresh-12\n")
    config.write_text(config.read_text().replace("40", "45"))
    server.signal(signal.SIGHUP)
    wait_until(lambda: server.get("/v1/models", {"x-api-key": "sk-fresh-12"})[0] == 200, "the new key")
    after = options(server, admin)["options"]
    assert after["scheduler.step_target_ms"]["value"] == 45 and after["scheduler.watermark"]["value"] == 0.01, "what was posted is gone"

    keys.write_text("sk-admin-12 admin\nsk-other-12 tier=gold\n")
    server.signal(signal.SIGHUP)
    wait_until(lambda: any("not reloaded" in line and "line 2" in line for line in list(server.lines)), "the log")
    assert server.get("/v1/models", {"x-api-key": "sk-fresh-12"})[0] == 200, "the old keys hold"
    keys.write_text("sk-admin-12 admin\n")
    server.signal(signal.SIGHUP)
    wait_until(lambda: server.get("/v1/models", {"x-api-key": "sk-fresh-12"})[0] == 401, "the key to be gone")
    assert not any("sk-" in line for line in list(server.lines)), "keys in the log"


def test_a_stream_of_a_key_that_goes_is_finished(start, tmp_path):
    keys = tmp_path / "keys.txt"
    keys.write_text("sk-first-12\nsk-second-1\n")
    server = start("--api-key-file", str(keys), model="fake:length=200,step_ms=5")
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="sk-second-1", max_retries=0)
    stream = client.chat.completions.create(model="fake", messages=HELLO, stream=True)
    first = next(stream)
    keys.write_text("sk-first-12\n")
    server.signal(signal.SIGHUP)
    wait_until(lambda: server.get("/v1/models", {"x-api-key": "sk-second-1"})[0] == 401, "the key to be gone")
    rest = [chunk.choices[0] for chunk in stream if chunk.choices]
    assert rest[-1].finish_reason in ("stop", "length") and first is not None
    client.close()


def test_a_class_of_ones_own_serves_and_can_be_limited_while_it_runs(start, connect):
    server = start()
    assert server.post("/v1/chat/completions", {"messages": HELLO}, {"x-takt-class": "night"})[0] == 400
    assert server.post("/admin/config", b'[class.night]\ntier = "batch"\nmax_queue_wait_ms = 60000\n')[0] == 200
    assert server.post("/v1/chat/completions", {"messages": HELLO}, {"x-takt-class": "night"})[0] == 200
    assert server.post("/admin/config", {"route": [{"class": "night", "application": "tickets*"}]})[0] == 200
    assert server.post("/v1/chat/completions", {"messages": HELLO}, {"x-takt-app": "tickets-7"})[0] == 200
    text = server.get("/metrics")[1]
    assert 'takt_requests_started_total{service_class="night",tier="batch"} 2' in text
    assert server.post("/admin/config", {"class": None, "route": None})[0] == 200
    assert server.post("/v1/chat/completions", {"messages": HELLO}, {"x-takt-class": "night"})[0] == 400


def test_quotas_are_429_with_the_time_to_come_back(start, tmp_path):
    keys = tmp_path / "keys.txt"
    keys.write_text("sk-twelve-1 requests_per_minute=12\nsk-eight-11 requests_per_minute=8\n")
    server = start("--api-key-file", str(keys), model="fake:length=2,step_ms=1")
    for key, most in [("sk-twelve-1", 12), ("sk-eight-11", 8)]:
        answers = [server.post("/v1/chat/completions", {"messages": HELLO}, {"x-api-key": key}) for _ in range(15)]
        assert [status for status, _ in answers] == [200] * most + [429] * (15 - most)
        assert answers[-1][1]["error"]["code"] == "request_quota_exceeded"


def test_of_ten_key_presses_the_last_is_answered(start):
    server = start(model="fake:length=2000,step_ms=5")
    results = {}

    def press(number):
        results[number] = server.post("/v1/completions", {"prompt": "x" * (number + 1), "max_tokens": 3 if number == 9 else 2000},
                                      {"x-takt-supersede": "editor"})

    threads = []
    for number in range(10):
        threads.append(threading.Thread(target=press, args=(number,)))
        threads[-1].start()
        seen = number + 1
        wait_until(lambda: sum(int(float(line.rsplit(" ", 1)[1])) for line in server.get("/metrics")[1].splitlines()
                               if line.startswith("takt_requests_started_total")) >= seen, "the request")
    for thread in threads:
        thread.join(60)
    assert [results[number][0] for number in range(10)] == [409] * 9 + [200]
    assert results[0][1]["error"]["code"] == "superseded"


def test_an_unknown_time_zone_is_refused_at_the_start():
    ended = run("serve", "--port", "0", "--model", "fake:", "--set", "server.time_zone=Europe/Atlantis")
    assert ended.returncode == 2 and "server.time_zone" in ended.stderr
