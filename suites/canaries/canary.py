"""Canary secrets, the encodings in which one could leak, and the search for them."""

import base64
import re
import secrets
import urllib.parse


def make(name):
    """A unique secret with characters that change when encoded."""
    return f"canary-{name}-{secrets.token_hex(12)}+/=~{secrets.token_hex(4)}"


def plain(name):
    """A unique secret for places that do not allow such characters."""
    return f"canary{name}{secrets.token_hex(16)}"


def forms(value):
    """The encodings of a value: plain, quoted for URLs and JSON, hex, and base64 at every alignment."""
    raw = value.encode()
    found = {
        "plain": raw,
        "url": urllib.parse.quote(value, safe="").encode(),
        "url, slashes kept": urllib.parse.quote(value).encode(),
        "form": urllib.parse.quote_plus(value).encode(),
        "json": value.replace("/", "\\/").encode(),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "backwards": raw[::-1],
    }
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw)
        # Outer groups of four characters depend on neighbouring bytes and are excluded.
        inner = coded[4 if shift else 0 : len(coded) // 4 * 4 - 4]
        found[f"base64+{shift}"] = inner
        found[f"base64url+{shift}"] = inner.translate(bytes.maketrans(b"+/", b"-_"))
    return found


class SecretScanner:
    """All canaries, and one pattern that matches any of them."""

    def __init__(self):
        self.values = {}
        self.pattern = None

    def add(self, name, value):
        self.values[name] = value
        self.pattern = None
        return value

    def compiled(self):
        if self.pattern is None:
            self.meaning = {}
            for name, value in self.values.items():
                for form, written in forms(value).items():
                    self.meaning.setdefault(written, (name, form))
            longest_first = sorted(self.meaning, key=len, reverse=True)
            self.pattern = re.compile(b"|".join(map(re.escape, longest_first)))
        return self.pattern

    def search(self, location, data, allowed=()):
        """Returns (location, name, form, context) of every match that is not allowed there."""
        found = []
        for hit in self.compiled().finditer(data):
            name, form = self.meaning[hit.group()]
            if name not in allowed:
                around = data[max(0, hit.start() - 60) : hit.end() + 20]
                found.append((location, name, form, around.decode(errors="replace")))
        return found
