"""`takt chat` in scripts, and with servers that mean harm."""
import json
import resource
import signal
import subprocess
import unicodedata

import pytest
from hostile_server import answer
from scrape import scrape
from takt_process import BINARY, run, wait_until

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def content(text, **more):
    return json.dumps({"choices": [{"delta": {"content": text}}], **more})


def controls(text):
    return sorted({f"U+{ord(c):04X}" for c in text if unicodedata.category(c) == "Cc" and c not in "\n\t"})


def one_line_of_error(result, code):
    assert result.returncode == code, result
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("takt: "), result.stderr
    return lines[0]


def chat(server, *arguments, stdin="Hi\n", **options):
    return run("chat", "--port", str(server.port), *arguments, stdin=stdin, **options)


def test_a_pipe_gets_the_answers_alone(start):
    server = start(model="fake:text=Hello there.,step_ms=5")
    result = chat(server, stdin="Good morning\nAnd good night")
    assert result.returncode == 0
    assert result.stdout == "Hello there.\nHello there.\n"
    figures = result.stderr.splitlines()
    assert len(figures) == 2
    for line in figures:
        assert line.startswith("[fake: ") and "first after" in line and line.endswith("tokens/s]")


def test_a_pipe_into_a_model_of_this_process_gets_the_answers_alone():
    result = run("chat", "--model", "fake:text=Hello there.", stdin="Good morning\n")
    assert (result.returncode, result.stdout) == (0, "Hello there.\n")


def test_settings_go_along_and_are_checked(hostile):
    server = hostile(answer([content("Aye"), "[DONE]"]))
    assert chat(server, "--temperature", "0.25", "--max-tokens", "7").returncode == 0
    assert chat(server).returncode == 0
    given, default = (json.loads(request.split(b"\r\n\r\n", 1)[1]) for request in server.requests)
    assert (given["temperature"], given["max_tokens"]) == (0.25, 7)
    assert "temperature" not in default and "max_tokens" not in default
    for wrong in (["--temperature", "-1"], ["--temperature", "nan"], ["--temperature", "inf"], ["--temperature", "3"], ["--temperature", ""],
                  ["--max-tokens", "0"], ["--max-tokens", "-1"], ["--max-tokens", "x"], ["--max-tokens", "99999999999"]):
        assert wrong[0] in one_line_of_error(chat(server, *wrong), 2)


def test_the_conversation_so_far_is_sent_again_and_reset_forgets_it(hostile):
    server = hostile(answer([content("Aye"), "[DONE]"]))
    assert chat(server, "--system", "Be brief.", stdin="one\ntwo \\\nlines\n\n/reset\nthree\n").returncode == 0
    sent = [json.loads(request.split(b"\r\n\r\n", 1)[1])["messages"] for request in server.requests]
    system, aye = {"role": "system", "content": "Be brief."}, {"role": "assistant", "content": "Aye"}
    assert sent == [[system, {"role": "user", "content": "one"}],
                    [system, {"role": "user", "content": "one"}, aye, {"role": "user", "content": "two \nlines"}],
                    [system, {"role": "user", "content": "three"}]]


# Every control character of C0 and C1, and the sequences that set titles, answer back, or paint over what was there.
EVIL = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)])) + "\x1b]0;title\x07\x1b]52;c;aGk=\x1b\\\x1b[2J\x1b[c\x9b31m\x90q\x9c\r"


@pytest.mark.parametrize("reply", [
    answer([content("evil: " + EVIL, model="evil " + EVIL), "[DONE]"]),
    answer([content(c) for c in EVIL] + [content("evil"), "[DONE]"]),
    answer([json.dumps({"error": {"message": "evil " + EVIL}})]),
    answer([json.dumps({"error": {"message": "evil " + EVIL}})]).replace(b"200 OK", b"500 Evil \x1b[2J").replace(b"data: ", b""),
    b"HTTP/1.1 200 evil \x1b]0;x\x07\r\n\x1b[2J: evil\r\n\r\n",
], ids=["content", "pieces", "event", "refusal", "head"])
def test_nothing_of_a_server_commands_the_terminal(hostile, reply):
    result = chat(hostile(reply))
    assert controls(result.stdout + result.stderr) == []
    assert "evil" in result.stdout + result.stderr or result.returncode != 0


def test_a_models_own_controls_do_not_command_the_terminal():
    result = run("chat", "--model", "fake:text=evil \x1b]0;title\x07 \x1b[2J", stdin="Hi\n")
    assert result.returncode == 0 and "evil" in result.stdout
    assert controls(result.stdout + result.stderr) == []


def test_names_of_files_and_hosts_do_not_command_the_terminal():
    for arguments in (["inspect", "/nonexistent/\x1b[2J\x9b.gguf"], ["serve", "--model", "/nonexistent/\x1b[2J\x9b.gguf"],
                      ["chat", "--host", "\x1b[2J\x9b"], ["serve", "--set", "\x1b[2J\x9b=1"], ["\x1b[2J\x9b"]):
        result = run(*arguments, stdin="Hi\n")
        assert result.returncode != 0
        assert controls(result.stdout + result.stderr) == []


def little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))


HUGE = {
    "length": (HEAD.encode() + b"Content-Length: 9223372036854775807\r\n\r\n", b""),
    "length-and-bytes": (HEAD.encode() + b"Content-Length: 9223372036854775807\r\n\r\n", b"x" * 65536),
    "refusal": (b"HTTP/1.1 500 No\r\nContent-Length: 9223372036854775807\r\n\r\n", b"x" * 65536),
    "line": (answer([]) + b"data: ", b"x" * 65536),
    "lines-of-one-event": (answer([]), b"data: x\n" * 8192),
    "comment": (answer([]) + b":", b"x" * 65536),
    "answer": (answer([]), f"data: {content('x' * 65536)}\n\n".encode()),
    "status-line": (b"HTTP/1.1 200 ", b"x" * 65536),
    "header": (HEAD.encode() + b"X: ", b"x" * 65536),
    "headers": (HEAD.encode(), b"X: y\r\n" * 8192),
    "interim-answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "chunk-size": (HEAD.encode() + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 65536),
    "chunk-extension": (HEAD.encode() + b"Transfer-Encoding: chunked\r\n\r\n5;", b"x" * 65536),
    "huge-chunk": (HEAD.encode() + b"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", b"x" * 65536),
    "trailers": (HEAD.encode() + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 8192),
    "nothing-http": (b"", b"\x00\xff\x1b" * 20000),
    "deep": (answer(["[" * 500000]), b""),
    "no-end": (answer([content("x")]), b""),
    "no-answer": (b"", b""),
}


# F10: what a server claims or sends without end is refused, and costs no memory.
@pytest.mark.parametrize("name", HUGE)
def test_a_server_without_measure_is_one_clear_line(hostile, name):
    result = chat(hostile(*HUGE[name]), preexec_fn=little_memory)
    assert "memory" not in one_line_of_error(result, 1) and "bad_alloc" not in result.stderr


@pytest.mark.parametrize("size", range(1, 8))
def test_an_answer_may_come_in_any_pieces(hostile, size):
    chunks = "".join(f"{len(event):x}\r\n{event}\r\n" for event in answer([content("A"), content("ye"), "[DONE]"], head="").decode().splitlines(True))
    whole = (HEAD + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\nX-Trailer: y\r\n\r\n").encode()
    server = hostile(b"", pieces=[whole[at:at + size] for at in range(0, len(whole), size)])
    result = chat(server)
    assert (result.returncode, result.stdout) == (0, "Aye\n"), result.stderr


def test_an_endless_message_is_refused():
    process = subprocess.Popen([BINARY, "chat", "--port", "1"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=little_memory)
    _, errors = process.communicate(b"x" * (64 << 20) + b"\n", timeout=60)
    assert process.returncode == 1 and b"a message has at most" in errors


def test_no_server_is_one_clear_line_and_its_own_code():
    line = one_line_of_error(run("chat", "--port", "1", stdin="Hi\n"), 4)
    assert "no server at 127.0.0.1:1" in line


def test_a_refusal_ends_a_script_with_an_error(start):
    server = start("--api-key", "sk-long-enough", model="fake:text=Hello there.")
    assert "key" in one_line_of_error(chat(server, "--api-key", "sk-another-one", stdin="Hi\nAgain\n"), 1)
    assert "key" in one_line_of_error(chat(server), 1)
    assert chat(server, "--api-key", "sk-long-enough").returncode == 0


def test_the_key_may_come_from_the_environment(start, monkeypatch):
    server = start("--api-key", "sk-long-enough", model="fake:text=Hello there.")
    monkeypatch.setenv("TAKT_API_KEY", "sk-long-enough")
    assert chat(server).returncode == 0


def test_a_failure_in_the_middle_of_an_answer_ends_a_script_with_an_error(start):
    result = chat(start(model="fake:length=50,fail=always,fail_step=5"))
    assert result.returncode == 1 and result.stderr.startswith("takt: ")


@pytest.mark.parametrize("arguments", [
    ["--api-key", "sk-long\r\nX-Injected: yes"], ["--api-key", "sk-long\nX: y"], ["--api-key", "sk-long\ry"], ["--api-key", "sk long"],
    ["--api-key", "sk-lo\x7fng"], ["--api-key", "sk-l\u00f6ng"], ["--host", "127.0.0.1\r\nX-Injected: yes"], ["--host", ""],
    ["--host", "two words"]])
def test_nothing_can_be_smuggled_into_the_head_of_a_request(hostile, arguments):
    server = hostile(answer([content("Aye"), "[DONE]"]))
    line = one_line_of_error(run("chat", "--port", str(server.port), *arguments, stdin="Hi\n"), 2)
    assert arguments[0].strip("-").replace("-", "_") in line
    assert "sk-l" not in line
    assert server.requests == []


@pytest.mark.parametrize("port", ["0", "70000", "-1", "x", "", "1e3"])
def test_a_port_that_is_none_is_one_clear_line(port):
    assert "--port" in one_line_of_error(run("chat", "--port", port, stdin="Hi\n"), 2)


def test_an_answer_that_cannot_be_written_is_one_clear_line(start):
    server = start(model="fake:length=2000,step_ms=1")
    with open("/dev/full", "w") as full:
        assert "written" in one_line_of_error(chat(server, stdout=full), 5)


def test_ctrl_c_ends_a_script(start):
    server = start(model="fake:length=100000,step_ms=10,context=200000,blocks=20000")
    # A test run in the background inherits an ignored SIGINT.
    process = subprocess.Popen([BINARY, "chat", "--port", str(server.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    process.stdin.write(b"Talk\n")
    process.stdin.flush()
    process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT
    process.stdin.close()
    process.stdout.close()
    wait_until(lambda: scrape(server).total("takt_requests_running") == 0, "the request to be cancelled")
