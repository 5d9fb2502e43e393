"""A small HTTP/2 client with prior knowledge that sees every frame and controls what it reads."""

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW_SIZE = 4


class Connection:
    """A connection. `window` is the flow-control window of each stream, which this client never extends."""

    def __init__(self, port, window, timeout=15.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.buffer = b""
        self.next_stream = 1
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def request(self, method, path, headers, body=b""):
        """Sends a request and returns its stream id."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        fields = {":method": method, ":path": path, ":scheme": "http", ":authority": "gateway"} | headers
        block = b"".join(literal(name, value) for name, value in fields.items())
        self.socket.sendall(frame(HEADERS, END_HEADERS | (0 if body else END_STREAM), stream, block))
        if body:
            self.socket.sendall(frame(DATA, END_STREAM, stream, body))
        return stream

    def frames(self):
        """Yields (type, flags, stream, payload) of each frame until the server closes the connection. Answers pings and
        settings."""
        while True:
            head = self._take(9)
            if head is None:
                return
            length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            payload = self._take(length)
            if payload is None:
                return
            if kind in (SETTINGS, PING) and not flags & ACK:
                self.socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
            yield kind, flags, stream, payload

    def _take(self, count):
        while len(self.buffer) < count:
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not data:
                return None
            self.buffer += data
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A header field without indexing and without compression (RFC 7541, section 6.2.2)."""
    return b"\0" + text(name) + text(value)


def text(value):
    data = value.encode()
    if len(data) < 127:
        return bytes([len(data)]) + data
    length, rest = b"\x7f", len(data) - 127
    while rest >= 128:
        length += bytes([rest % 128 + 128])
        rest //= 128
    return length + bytes([rest]) + data
