"""`takt chat` in a terminal."""
import os
import pty
import subprocess

import pytest
from takt_process import BINARY, PATIENCE_SECONDS, wait_until


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([BINARY, *arguments], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))
        os.close(slave)
        os.set_blocking(self.master, False)
        self.shown = ""

    def expect(self, text, after=0):
        """Waits for a text and returns the place behind it."""
        def found():
            try:
                self.shown += os.read(self.master, 65536).decode(errors="replace")
            except (BlockingIOError, OSError):
                pass
            return text in self.shown[after:]

        try:
            wait_until(found, repr(text))
        except AssertionError as error:
            raise AssertionError(f"{error}; shown: {self.shown!r}") from None
        return self.shown.index(text, after) + len(text)

    def type(self, text):
        os.write(self.master, text.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal():
    terminals = []

    def open_terminal(*arguments):
        terminals.append(Terminal(*arguments))
        return terminals[-1]

    yield open_terminal
    for one in terminals:
        one.close()


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
