"""Imitations of the streams of other servers: what a load generator meets in the wild."""
import http.server
import json
import ssl
import threading


def words(text):
    return len(text.split())


class ImitationServer:
    """`style`: "llama.cpp" or "vllm". `line_end` ends the lines of events. `comments`: comment lines between events.
    `error_after`: so many tokens, then an error object. `ends_after`: so many streams, and then nobody listens any more;
    no connection is kept. `tls`: (certificate, key)."""

    def __init__(self, style, line_end="\n", comments=False, error_after=None, tls=None, ends_after=None):
        self.style, self.line_end, self.comments, self.error_after = style, line_end, comments, error_after
        self.ends_after, self.streams, self.lock = ends_after, 0, threading.Lock()
        handler = type("Handler", (_Handler,), {"imitation": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def count_stream(self):
        with self.lock:
            self.streams += 1
            last = self.streams == self.ends_after
        if last:
            self.close()

    # --- what it says ---

    def models(self):
        if self.style == "vllm":
            return {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 4096}]}
        return {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}]}

    def tokenize(self, body):
        count = words(body.get("content", body.get("prompt", "")))
        return {"count": count, "tokens": [7] * count} if self.style == "vllm" else {"tokens": [7] * count}

    def chunk(self, choices, **more):
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}

    def events(self, prompt_tokens, tokens):
        """Data of the events of one answer. No chunk but the first has a role, and that has no text."""
        llama = self.style == "llama.cpp"
        yield self.chunk([{"index": 0, "delta": {"role": "assistant", "content": None if llama else ""}, "finish_reason": None}])
        for i in range(tokens):
            if i == self.error_after:
                yield {"error": {"message": "the slot broke", "type": "server_error", "code": 500}}
                return
            yield self.chunk([{"index": 0, "delta": {"content": " word"}, "logprobs": None, "finish_reason": None}])
        end = {"index": 0, "delta": {}, "finish_reason": "length"}
        timings = {"timings": {"prompt_n": prompt_tokens, "prompt_ms": 1.5, "predicted_n": tokens, "predicted_ms": 9.25}} if llama else {}
        yield self.chunk([end if llama else {**end, "stop_reason": None}])
        yield self.chunk([], usage=self.usage(prompt_tokens, tokens), **timings)

    @staticmethod
    def usage(prompt_tokens, tokens):
        return {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    imitation = None

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_connection()
        self.end_headers()
        self.wfile.write(data)

    def end_connection(self):
        if self.imitation.ends_after is not None:
            self.send_header("Connection", "close")

    def do_GET(self):
        self.answer(*((200, self.imitation.models()) if self.path == "/v1/models" else (404, {"detail": "Not Found"})))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            return self.answer(200, self.imitation.tokenize(body))
        if self.path != "/v1/chat/completions":
            return self.answer(404, {"object": "error", "message": "Not Found", "code": 404})
        prompt_tokens = 4 + sum(words(message["content"]) for message in body["messages"])
        tokens = body["max_tokens"]
        if body.get("stream"):
            return self.stream(prompt_tokens, tokens)
        choice = {"index": 0, "message": {"role": "assistant", "content": " word" * tokens}, "finish_reason": "length"}
        self.answer(200, {"id": "1", "object": "chat.completion", "choices": [choice], "usage": self.imitation.usage(prompt_tokens, tokens)})

    def stream(self, prompt_tokens, tokens):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_connection()
        self.end_headers()
        end = self.imitation.line_end
        for event in self.imitation.events(prompt_tokens, tokens):
            if self.imitation.comments:
                self.write_chunk(f": ping{end}{end}")
            self.write_chunk(f"data: {json.dumps(event)}{end}{end}")
        if self.imitation.error_after is None:
            self.write_chunk(f"data: [DONE]{end}{end}")
        self.wfile.write(b"0\r\n\r\n")
        self.imitation.count_stream()

    def write_chunk(self, text):
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
