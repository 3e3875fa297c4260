"""F14: who waits for what is in the log when a model stops making progress, and whenever SIGUSR1 asks for it."""
import json
import signal
import socket

from scrape import scrape
from takt_process import wait_until

HELLO = [{"role": "user", "content": "a secret question"}]


def has_line(server, *parts):
    return any(all(part in line for part in parts) for line in list(server.lines))


def test_a_stalled_model_logs_who_waits_for_what_and_that_it_goes_on(start, connect):
    server = start("--set", "engine.stall_after_ms=300", model="fake:fail=stall,fail_step=3,stall_ms=4000")
    stream = connect(server).chat.completions.create(model="fake", messages=HELLO, stream=True)
    name = next(stream).id.removeprefix("chatcmpl-")
    wait_until(lambda: has_line(server, "fake: not ready: Work waits"), "the reason in the log")
    wait_until(lambda: has_line(server, "fake: step ", "is with the executor"), "the step in the log")
    wait_until(lambda: has_line(server, f"request {name} choice 0, realtime, decode, in the step under way"), "the request in the log")
    list(stream)
    wait_until(lambda: has_line(server, "fake: ready again"), "recovery in the log")
    assert not has_line(server, "secret")


def test_sigusr1_logs_what_everybody_waits_for(start, connect):
    server = start("--max-sequences", "1", model="fake:length=100000,context=200000,blocks=20000,step_ms=5")
    client = connect(server)
    running = client.chat.completions.create(model="fake", messages=HELLO, stream=True)
    next(running)
    # A second one waits for the seat: its answer has not begun, so nobody can wait for it here.
    with socket.create_connection(("127.0.0.1", server.port)) as waiting:
        body = json.dumps({"messages": HELLO})
        waiting.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_until(lambda: scrape(server).total("takt_requests_waiting") == 1, "the second one in the queue")
        server.signal(signal.SIGUSR1)
        wait_until(lambda: has_line(server, "choice 0, realtime, queued, waits: seat"), "the reason in the log")
    running.close()
    assert server.get("/health")[0] == 200
