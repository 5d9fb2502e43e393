"""Tokens made from a real one, each wrong in one way."""

import base64
import hashlib
import hmac
import json


def encode(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def variants(token, jwk):
    """Yields the name and the text of each bad token; `jwk` is the issuer's public key."""
    head, body, signature = token.split(".")
    header, claims = decode(head), decode(body)

    def with_header(**changes):
        return encode({**header, **changes})

    def with_claims(**changes):
        return encode({**claims, **changes})

    def symmetric(algorithm, key):
        message = f"{with_header(alg=algorithm)}.{body}"
        return f"{message}.{encode(hmac.new(key, message.encode(), getattr(hashlib, algorithm.replace('HS', 'sha'))).digest())}"

    yield "no signature", f"{head}.{body}."
    yield "two parts", f"{head}.{body}"
    yield "a cut signature", token[:-10]
    yield "a changed signature", f"{head}.{body}.{('B' if signature[0] == 'A' else 'A') + signature[1:]}"
    for algorithm in ("none", "None", "nOnE", ""):
        yield f"algorithm {algorithm!r} without signature", f"{with_header(alg=algorithm)}.{body}."
        yield f"algorithm {algorithm!r} with signature", f"{with_header(alg=algorithm)}.{body}.{signature}"
    for algorithm in ("HS256", "HS384", "HS512"):
        yield f"{algorithm} with the modulus as secret", symmetric(algorithm, jwk["n"].encode())
        yield f"{algorithm} with the key as secret", symmetric(algorithm, json.dumps(jwk).encode())
        yield f"{algorithm} with an empty secret", symmetric(algorithm, b"")
    for algorithm in ("RS512", "PS256", "ES256", "EdDSA"):
        yield f"relabelled as {algorithm}", f"{with_header(alg=algorithm)}.{body}.{signature}"
    for name, value in (("sub", "admin"), ("aud", "urn:other"), ("iss", "https://evil.example"), ("exp", 1), ("scope", "admin:write")):
        yield f"another {name}", f"{head}.{with_claims(**{name: value})}.{signature}"
    yield "another key id", f"{with_header(kid='other')}.{body}.{signature}"
    yield "an embedded key", f"{with_header(jwk=jwk)}.{body}.{signature}"
    yield "a critical header", f"{with_header(crit=['exp'])}.{body}.{signature}"
    yield "another type", f"{with_header(typ='logout+jwt')}.{body}.{signature}"
    yield "padding", f"{head}=.{body}.{signature}"
    yield "five parts", f"{token}.x.y"
    yield "claims that are a list", f"{head}.{encode([])}.{signature}"
