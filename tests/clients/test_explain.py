"""Why a request took as long as it did: what an answer says itself, `takt explain`, and who may ask."""
import json
import re
import threading

from takt_process import run, wait_until

TIMING_FIELDS = ["request", "preparing", "queue", "prefill", "decode", "ttft", "total", "cached_tokens", "preemptions"]


def ask(client, **options):
    return client.chat.completions.with_raw_response.create(model="fake", messages=[{"role": "user", "content": "Say hello."}],
                                                            **options)


def test_a_whole_answer_says_where_its_time_went(server, client):
    answer = ask(client)
    timing = dict(part.split("=") for part in answer.headers["x-takt-timing"].split(", "))
    assert [name for name in timing if not name.startswith("waited.")] == TIMING_FIELDS
    assert timing["request"] == answer.headers["x-request-id"]
    times = answer.parse().takt
    assert times["request"] == timing["request"]
    assert times["total_seconds"] >= times["ttft_seconds"] >= times["queue_seconds"] >= 0


def test_a_streams_usage_chunk_has_the_same(server, client):
    chunks = list(client.completions.create(model="fake", prompt="x", stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].takt["decode_seconds"] > 0
    assert not hasattr(chunks[0], "takt")


def test_explain_tells_the_story_of_one_request(server, client):
    answer = ask(client)
    for name in (answer.headers["x-request-id"], answer.parse().id):
        told = run("explain", name, "--url", server.url)
        assert told.returncode == 0, told.stderr
        assert answer.headers["x-request-id"] in told.stdout
        assert re.search(r"decode for .*: 16 tokens", told.stdout), told.stdout
        assert "Where the time went:" in told.stdout and "ended: stop" in told.stdout
    raw = json.loads(run("explain", answer.headers["x-request-id"], "--url", server.url, "--json").stdout)
    assert raw["state"] == "ended"
    assert abs(sum(raw["seconds_by_state"].values()) - raw["total_seconds"]) < 0.001


def test_explain_lists_the_slowest(start, connect):
    server = start(model="fake:length=200,step_ms=1")
    client = connect(server)
    for tokens in (2, 60, 5):
        client.completions.create(model="fake", prompt="x", max_tokens=tokens)
    told = run("explain", "--slowest", "2", "--url", server.url)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert len(lines) == 3 and "mostly" in lines[0]
    assert " 60 " in lines[1] and "decode" in lines[1]


# H10
def test_who_waits_is_told_its_place_and_what_it_waits_for(start, connect):
    server = start("--max-sequences", "1", model="fake:length=100000,step_ms=5,context=8192,blocks=600")
    client = connect(server)
    first = client.completions.create(model="fake", prompt="x", stream=True)
    next(first)
    second = threading.Thread(target=lambda: client.completions.create(model="fake", prompt="y", max_tokens=1), daemon=True)
    second.start()

    def waiting():
        told = run("explain", "--slowest", "5", "--url", server.url, "--json")
        return next((r for r in json.loads(told.stdout)["requests"] if "queue" in r and r["queue"].get("reason") == "seat"), None)

    request = wait_until(waiting, "the second request to wait for a seat")
    told = run("explain", request["id"], "--url", server.url)
    assert "place in the queue: 1" in told.stdout and "waits for a seat" in told.stdout
    first.close()
    second.join()
    assert re.search(r"queued for .* for a seat", run("explain", request["id"], "--url", server.url).stdout)


def test_explain_needs_an_admin_key_where_there_are_keys(start):
    server = start("--api-key", "sk-plain-12", "--admin-key", "sk-admin-12")
    for key, code in (("sk-admin-12", 0), ("sk-plain-12", 1), ("sk-wrong-12", 1)):
        told = run("explain", "--slowest", "1", "--url", server.url, "--api-key", key)
        assert told.returncode == code, (key, told.stderr)
        assert code == 0 or "key" in told.stderr


def test_explain_refuses_what_makes_no_sense(server):
    for arguments in ([], ["--slowest", "0"], ["abc", "--slowest", "1"], ["xyz"], ["abc", "--url", "https://127.0.0.1"],
                      ["abc", "--url", "http://:80"], ["abc", "--url", "http://host:x"]):
        told = run("explain", *arguments)
        assert told.returncode == 2 and told.stderr.count("\n") == 1, (arguments, told)
    told = run("explain", "abc", "--url", server.url)
    assert told.returncode == 1 and "no such request" in told.stderr
    told = run("explain", "abc", "--url", "http://127.0.0.1:1")
    assert told.returncode == 1 and "no server at 127.0.0.1:1" in told.stderr


def test_explain_bears_any_answer(hostile):
    for body in (b"[]", b"{}", b"not json", b'{"spans":[1,{"state":7}],"requests":{},"queue":[1]}', b'{"requests":[null,{"spans":{}}]}',
                 b'{"id":"\\u001b[31mred","spans":[{"state":"queued","waited_seconds":{"\\u001b]0;x":1}}]}'):
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        server = hostile(head + body)
        for arguments in (["abc"], ["--slowest", "3"]):
            told = run("explain", *arguments, "--url", f"http://127.0.0.1:{server.port}")
            assert told.returncode in (0, 1), told
            assert "\x1b" not in told.stdout + told.stderr


def test_the_access_log_can_be_turned_off(start, connect):
    for arguments, lines in (([], 1), (["--set", "server.access_log=false"], 0)):
        server = start(*arguments)
        connect(server).completions.create(model="fake", prompt="x")
        server.signal()
        server.wait()
        assert len([line for line in server.lines if " access id=" in line]) == lines
