"""A small HTTP/1.1 client with access to every byte, which libraries would repair or hide."""

import json
import socket


class Broken(Exception):
    """The connection ended before the answer was complete."""


class Response:
    def __init__(self, status, headers):
        self.status = status
        self.headers = headers
        self.body = b""

    def json(self):
        return json.loads(self.body)

    @property
    def closes(self):
        return self.headers.get("connection", "").lower() == "close"


class Connection:
    def __init__(self, port, timeout=15.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as fault:
            raise Broken(str(fault)) from fault

    def request(self, method, path, headers=None, body=b""):
        lines = [f"{method} {path} HTTP/1.1", "host: gateway"]
        headers = dict(headers or {})
        if body and "transfer-encoding" not in headers:
            headers.setdefault("content-length", str(len(body)))
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def ask(self, method, path, headers=None, body=b""):
        self.request(method, path, headers, body)
        return self.response(method)

    def response(self, method="GET"):
        response = self.head()
        if method == "HEAD" or response.status in (204, 304):
            return response
        for piece in self.pieces(response):
            response.body += piece
        return response

    def head(self):
        """Reads the status line and headers; interim responses are skipped."""
        while True:
            status_line, *lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            headers = {}
            for line in filter(None, lines):
                name, _, value = line.partition(":")
                headers[name.strip().lower()] = value.strip()
            status = int(status_line.split(" ")[1])
            if status >= 200:
                return Response(status, headers)

    def pieces(self, response):
        """Yields the body as it arrives. Raises Broken if it is incomplete."""
        if response.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self._until(b"\r\n").split(b";")[0], 16):
                yield self._exactly(size)
                self._exactly(2)
            while self._until(b"\r\n") != b"\r\n":
                pass
        elif "content-length" in response.headers:
            if length := int(response.headers["content-length"]):
                yield self._exactly(length)
        else:
            while piece := self._more():
                yield piece

    def at_end(self):
        """Whether the other side has closed, with a short wait."""
        try:
            self.socket.settimeout(2)
            return not self.buffer and self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def _more(self):
        if self.buffer:
            data, self.buffer = self.buffer, b""
            return data
        try:
            return self.socket.recv(65536)
        except OSError as fault:
            raise Broken(str(fault)) from fault

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except OSError as fault:
            raise Broken(str(fault)) from fault
        if not data:
            raise Broken("the connection was closed")
        self.buffer += data

    def _until(self, mark):
        while (at := self.buffer.find(mark)) < 0:
            self._fill()
        data, self.buffer = self.buffer[: at + len(mark)], self.buffer[at + len(mark) :]
        return data

    def _exactly(self, size):
        while len(self.buffer) < size:
            self._fill()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data
