"""`takt chat` in a terminal."""
from takt_process import PATIENCE_SECONDS, wait_until


def test_a_conversation_in_this_process(terminal):
    chat = terminal("chat", "--model", "fake:text=Hello there.,step_ms=5")
    at = chat.expect("> ")
    chat.type("Good morning\n")
    at = chat.expect("Hello there.", at)
    at = chat.expect("tokens/s]", at)
    assert "first after" in chat.shown
    at = chat.expect("> ", at)
    chat.type("/reset\n")
    at = chat.expect("> ", at)
    chat.type("/exit\n")
    assert chat.process.wait(PATIENCE_SECONDS) == 0


def test_ctrl_c_stops_the_answer_only(terminal):
    chat = terminal("chat", "--model", "fake:length=100000,step_ms=20,context=200000,blocks=20000")
    at = chat.expect("> ")
    chat.type("Talk\n")
    at = chat.expect("Talk", at)
    wait_until(lambda: (chat.expect("", at), len(chat.shown) > at + 10)[1], "some of the answer")
    chat.type("\x03")
    at = chat.expect("[fake: stopped, ", at)
    at = chat.expect("> ", at)
    assert chat.process.poll() is None
    chat.type("\x03")
    at = chat.expect("> ", at)
    chat.type("\x04")
    assert chat.process.wait(PATIENCE_SECONDS) == 0


def test_a_conversation_with_a_server(terminal, start):
    server = start("--api-key", "sk-long-enough", model="fake:text=Hello there.")
    chat = terminal("chat", "--port", str(server.port), "--api-key", "sk-long-enough")
    at = chat.expect("> ")
    chat.type("Good morning\n")
    chat.expect("Hello there.", at)


def test_no_server_is_said_clearly(terminal):
    chat = terminal("chat", "--port", "1")
    at = chat.expect("> ")
    chat.type("Good morning\n")
    at = chat.expect("no server at 127.0.0.1:1", at)
    chat.expect("> ", at)


def test_a_word_behind_a_slash_is_no_message(terminal):
    chat = terminal("chat", "--model", "fake:text=Hello there.,step_ms=1")
    at = chat.expect("> ")
    chat.type("/bogus\n")
    at = chat.expect("There is no command /bogus; /help", at)
    chat.type("/usr/bin is a folder\n")
    chat.expect("Hello there.", at)
