"""Programs that believe they talk to a person."""
import os
import pty
import subprocess

from takt_process import BINARY, wait_until


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
