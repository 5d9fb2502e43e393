"""An issuer of tokens: a key of its own, and a server for its key set."""

import base64
import http.server
import json
import threading
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

AUDIENCE = "gateway"
LIFETIME = 24 * 3600


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encode_json(value):
    return encode(json.dumps(value).encode())


class Issuer:
    """Registered with the app of a suite, which stops it."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        numbers = self.key.public_key().public_numbers()
        coordinates = {name: encode(value.to_bytes(32, "big")) for name, value in (("x", numbers.x), ("y", numbers.y))}
        document = json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k1", **coordinates}]}).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(document)))
                self.end_headers()
                self.wfile.write(document)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def settings(self):
        """The settings of a gateway that accepts the tokens of this issuer."""
        issuer = {"issuer": self.url, "audience": [AUDIENCE], "algorithms": ["ES256"], "jwks_url": f"{self.url}/jwks"}
        return {"GATEWAY_CAPABILITIES": "identity", "TOKEN_ISSUERS": json.dumps([issuer])}

    def token(self, subject):
        now = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": subject, "iat": now - 5, "exp": now + LIFETIME, "jti": "token-1"}
        signed = f"{encode_json({'alg': 'ES256', 'typ': 'JWT', 'kid': 'k1'})}.{encode_json(claims)}"
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
