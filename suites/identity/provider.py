"""The OpenID Connect provider as a process, and a browser that logs in there."""

import re
import subprocess
import urllib.parse

import httpx

import rig

AUDIENCE = "urn:gateway"


def installed():
    """The directory of the provider, which is installed on first use."""
    script = subprocess.run([rig.ROOT / "scripts" / "oidc-provider.sh"], stdout=subprocess.PIPE, text=True)
    if script.returncode:
        raise SystemExit("identity: the provider is not installed (see above)")
    return script.stdout.strip()


class Provider:
    """A provider on a fixed port: a restart has another key and no memory of earlier logins."""

    def __init__(self, directory, redirect_uri):
        self.directory, self.redirect_uri = directory, redirect_uri
        self.port = rig.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts = 0
        self.process = None

    def start(self):
        self.starts += 1
        command = ["node", "provider.mjs", str(self.port), self.redirect_uri, str(self.starts)]
        self.process = subprocess.Popen(
            command, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        rig.eventually(self.is_ready, timeout=30, what="the OpenID Connect provider")

    def is_ready(self):
        try:
            return httpx.get(f"{self.url}/.well-known/openid-configuration", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def token(self, audience=AUDIENCE):
        """A token of the client `service` for this audience."""
        form = {"grant_type": "client_credentials", "resource": audience, "scope": "inference"}
        credentials = ("service", "secret-of-service")
        answer = httpx.post(f"{self.url}/token", data=form, auth=credentials, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()["access_token"]


class Browser:
    """A browser with its cookies. It does not follow redirects by itself, so that a test can stop between them."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.http = httpx.Client(trust_env=False, timeout=30)

    @property
    def base(self):
        return f"http://127.0.0.1:{self.gateway.port}"

    def start_login(self):
        answer = self.http.get(f"{self.base}/admin/api/v1/auth/oidc/corp")
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    def at_provider(self, address, account):
        """Logs in and consents at the provider; returns the address that it leads back to."""
        for _ in range(12):
            if address.startswith(self.base):
                return address
            answer = self.http.get(address)
            if "location" not in answer.headers:
                prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
                assert prompt, answer.text[:2000]
                form = {"prompt": prompt[1], "login": account, "password": "any"}
                answer = self.http.post(address, data=form)
            address = urllib.parse.urljoin(address, answer.headers["location"])
        raise AssertionError(f"no way back from {address}")

    def log_in(self, account):
        return self.http.get(self.at_provider(self.start_login(), account))

    def me(self):
        return self.http.get(f"{self.base}/admin/api/v1/auth/me")
