"""G10: `takt top`, a live view of the requests that are there, for administrators, without their text."""
import json
import signal
import socket

from takt_process import PATIENCE_SECONDS, run, wait_until

ENDLESS = "fake:length=100000,step_ms=5,context=8192,blocks=2000"


def rows(server, *arguments):
    told = run("top", "--url", server.url, *arguments)
    assert told.returncode == 0, told.stderr
    return told.stdout.splitlines()


def test_one_look_shows_who_is_computed_and_who_waits(start, connect):
    server = start("--max-sequences", "1", model=ENDLESS)
    client = connect(server)
    assert rows(server)[0] == "0 alive"
    first = client.completions.create(model="fake", prompt="xylophone", stream=True, extra_headers={"x-takt-app": "reader"})
    next(first)
    second = client.completions.with_raw_response.create(model="fake", prompt="y", stream=True, extra_headers={"x-takt-early-status": "1"})
    table = wait_until(lambda: (lines := rows(server))[0] == "2 alive: 1 decode, 1 queued" and lines, "both to be shown")
    assert table[1].split()[:6] == ["id", "class", "state", "age", "first", "in"]
    assert len(table) == 4 and " decode " in table[2] and " queued #1 " in table[3], "the oldest first"
    assert "reader" in table[2] and "chat" in table[2]
    assert "xylophone" not in "\n".join(table)
    decode_rate = float(table[2].split()[9])
    assert 0 < decode_rate < 1000, "some 200 tokens a second"
    assert rows(server, "--rows", "1")[0] == "2 alive, the oldest 1: 1 decode"
    first.close()
    second.http_response.close()
    wait_until(lambda: rows(server)[0] == "0 alive", "both to be gone")


def test_in_a_terminal_it_goes_on_until_it_is_stopped(start, connect, terminal):
    server = start(model=ENDLESS)
    top = terminal("top", "--url", server.url, "--interval", "0.1")
    at = top.expect("0 alive")
    stream = connect(server).completions.create(model="fake", prompt="x", stream=True)
    next(stream)
    at = top.expect("1 alive: 1 decode", at)
    stream.close()
    top.expect("0 alive", at)
    top.process.send_signal(signal.SIGINT)
    assert top.process.wait(PATIENCE_SECONDS) == 0


def test_a_server_that_goes_away_is_waited_for(start, terminal):
    server = start()
    top = terminal("top", "--url", server.url, "--interval", "0.1")
    at = top.expect("0 alive")
    server.signal()
    server.wait()
    at = top.expect("no server at", at)
    start(port=server.port)
    top.expect("0 alive", at)
    assert run("top", "--url", "http://127.0.0.1:1").returncode == 1, "one that never was there is not"


def test_a_server_that_hangs_does_not_keep_anybody(hostile, terminal):
    server = hostile(b"", hold=True)
    for end in (signal.SIGINT, signal.SIGTERM):
        top = terminal("top", "--url", f"http://127.0.0.1:{server.port}")
        wait_until(lambda: not_default(top.process.pid, end), "the signals to be its own")
        top.process.send_signal(end)
        assert top.process.wait(5) == 0


def not_default(pid, number):
    """Whether the process catches the signal."""
    with open(f"/proc/{pid}/status") as status:
        caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt"))
    return caught >> (number - 1) & 1


def test_who_leaves_before_the_engine_has_come_to_him_leaves_nothing_behind(start):
    server = start(model="fake:step_ms=300,length=5")
    for stream in (True, False):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                body = json.dumps({"prompt": "x", "stream": stream}).encode()
                connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    wait_until(lambda: rows(server)[0] == "0 alive", "all to be gone")


def test_where_there_are_keys_it_needs_an_admins(start):
    server = start("--api-key", "sk-plain-12", "--admin-key", "sk-admin-12")
    for key, code in (("sk-admin-12", 0), ("sk-plain-12", 1), ("sk-wrong-12", 1)):
        told = run("top", "--url", server.url, "--api-key", key)
        assert told.returncode == code, (key, told.stderr)


def test_any_answer_is_borne(hostile):
    for body in (b"[]", b"{}", b"not json", b'{"alive":"x","requests":[1,{"spans":{}}]}', b'{"requests":[{"id":"\\u001b[31mred","state":7}]}'):
        server = hostile(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        told = run("top", "--url", f"http://127.0.0.1:{server.port}")
        assert told.returncode in (0, 1), told
        assert "\x1b" not in told.stdout + told.stderr


def test_what_makes_no_sense_is_refused():
    for arguments in (["--rows", "0"], ["--rows", "1001"], ["--interval", "0"], ["--interval", "x"], ["--interval", "nan"], ["--url", "https://127.0.0.1"]):
        told = run("top", *arguments)
        assert told.returncode == 2 and told.stderr.count("\n") == 1, (arguments, told)
