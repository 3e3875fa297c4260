"""A server that says what a test tells it to, whatever HTTP allows."""
import socket
import threading


def answer(events, head="HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"):
    """A stream of events, each given as its data."""
    return (head + "".join(f"data: {event}\n\n" for event in events)).encode()


class HostileServer:
    """Sends `first` to every client after its request, then each of `pieces` in a packet of its own, then `again` for as
    long as the client listens. With `hold` it then says nothing until the client goes."""

    def __init__(self, first, again=b"", pieces=(), hold=False):
        self.first, self.again, self.pieces, self.hold = first, again, pieces, hold
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                try:
                    self.requests.append(self._read_request(client))
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    client.sendall(self.first)
                    for piece in self.pieces:
                        client.sendall(piece)
                    while self.again:
                        client.sendall(self.again)
                    while self.hold and client.recv(65536):
                        pass
                except OSError:
                    pass

    @staticmethod
    def _read_request(client):
        request = b""
        while b"\r\n\r\n" not in request:
            piece = client.recv(65536)
            if not piece:
                return request
            request += piece
        head, body = request.split(b"\r\n\r\n", 1)
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            piece = client.recv(65536)
            if not piece:
                break
            body += piece
        return head + b"\r\n\r\n" + body

    def close(self):
        self.listener.close()
