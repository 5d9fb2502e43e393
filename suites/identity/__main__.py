"""Logs in at a real OpenID Connect provider (the npm package oidc-provider), calls models with its tokens, and tries bad
tokens and callbacks, which must all be refused."""

import json
import sys
import time

import httpx

import rig
from harness import Suite
from identity import bad_tokens
from identity.provider import AUDIENCE, Browser, Provider, installed

ROLES = {"claim": "groups", "values": {"platform": "admin", "oncall": "operator"}}


def main():
    suite = Suite("identity", __doc__)
    suite.parse()
    directory = installed()
    suite.run("", lambda app: run(app, directory))
    return suite.finish()


def run(app, directory):
    upstream = app.upstream()
    gateway = app.gateway(upstream)
    provider = app.add(Provider(directory, f"http://127.0.0.1:{gateway.port}/admin/api/v1/auth/oidc/callback"))
    provider.start()
    login = {
        "name": "corp", "issuer": provider.url, "client_id": "gatehouse", "client_secret": "secret-of-gatehouse",
        "roles": ROLES, "user_path": "/staff/{sub}",
    }
    issuer = {
        "issuer": provider.url, "audience": [AUDIENCE], "algorithms": ["RS256"],
        "claims": {"user_path": "/services/{sub}", "scopes": "{scope}"},
    }
    gateway.settings |= {
        "GATEWAY_CAPABILITIES": "identity",
        "OIDC_PROVIDERS": json.dumps([login]),
        "TOKEN_ISSUERS": json.dumps([issuer]),
    }
    gateway.start(models=["openai/text"])
    logins(app, gateway)
    callbacks(app, gateway)
    tokens(app, gateway, provider)
    rotation(app, gateway, provider)


def expect(answer, status):
    return answer.status_code != status and f"{answer.status_code} instead of {status}: {answer.text[:300]}"


def logins(app, gateway):
    for account, role in (("alice", "admin"), ("bob", "operator")):
        browser = Browser(gateway)
        answer = browser.log_in(account)
        me = browser.me()
        facts = me.json() if me.status_code == 200 else {}
        app.check(
            f"{account} logs in as {role}",
            expect(answer, 302),
            expect(me, 200),
            facts.get("roles") != [role] and f"roles {facts.get('roles')}",
            facts.get("user_path") != f"/staff/{account}" and f"user path {facts.get('user_path')}",
        )
        out = browser.http.post(f"{browser.base}/admin/api/v1/auth/logout", headers={"sec-fetch-site": "same-origin"})
        app.check(f"{account} logs out", expect(out, 204), expect(browser.me(), 401))


def callbacks(app, gateway):
    def refused(what, answer, status=401):
        app.check(f"refused: {what}", expect(answer, status))

    refused("an account without a role", Browser(gateway).log_in("carol"), 403)
    browser = Browser(gateway)
    address = browser.at_provider(browser.start_login(), "alice")
    refused("a callback in another browser", Browser(gateway).http.get(address))
    other = Browser(gateway)
    foreign = other.at_provider(other.start_login(), "bob")
    refused("a callback of another login", browser.http.get(foreign))
    own, theirs = httpx.URL(address), httpx.URL(foreign)
    injected = own.copy_merge_params({"code": theirs.params["code"]})
    refused("a code of another login under the own state", browser.http.get(injected))
    refused("another state", browser.http.get(own.copy_merge_params({"state": "guessed"})))
    refused("another issuer", browser.http.get(own.copy_merge_params({"iss": "https://evil.example"})))
    refused("a made-up code", browser.http.get(own.copy_merge_params({"code": "made-up"})))
    browser = Browser(gateway)
    address = browser.at_provider(browser.start_login(), "alice")
    kept = [cookie for cookie in browser.http.cookies.jar if cookie.name == "gatehouse_oidc"]
    app.check("the callback succeeds once", expect(browser.http.get(address), 302))
    again = Browser(gateway)
    for cookie in kept:
        again.http.cookies.jar.set_cookie(cookie)
    refused("the same callback a second time", again.http.get(address))


def chat(gateway, token):
    body = {"model": "openai/text", "messages": [{"role": "user", "content": "hello"}]}
    return gateway.http.post("/v1/chat/completions", headers=rig.bearer(token), json=body)


def tokens(app, gateway, provider):
    token = provider.token()
    answer = chat(gateway, token)
    row = gateway.usage_row(answer.headers["x-request-id"])
    app.check(
        "a token of the provider calls a model",
        expect(answer, 200),
        row["user_path"] != "/services/service" and f"user path {row['user_path']}",
        row.get("subject") != "service" and f"subject {row.get('subject')}",
    )
    keys = httpx.get(f"{provider.url}/jwks", trust_env=False).json()["keys"]
    accepted, count = [], 0
    for name, bad in bad_tokens.variants(token, keys[0]):
        count += 1
        answer = chat(gateway, bad)
        if answer.status_code != 401:
            accepted.append(f"{name}: {answer.status_code}")
    app.check(f"{count} bad tokens are refused", *accepted, count < 30 and "too few")
    app.check("a token for another service is refused", expect(chat(gateway, provider.token("urn:other")), 401))
    revoked = gateway.admin("POST", "/auth/tokens/revoke", json={"subject": "service", "issuer": provider.url})
    app.check("a revoked subject is refused", expect(revoked, 200), expect(chat(gateway, token), 401))
    time.sleep(1.1)
    app.check("a later token is accepted", expect(chat(gateway, provider.token()), 200))


def rotation(app, gateway, provider):
    before = provider.token()
    chat(gateway, before)
    provider.stop()
    app.check("a verified token is accepted while its issuer is down", expect(chat(gateway, before), 200))
    provider.start()
    token = provider.token()
    accepted = rig.eventually(lambda: chat(gateway, token).status_code == 200, timeout=15, what="the new key")
    app.check("a token with a new key is accepted", not accepted and "refused")


if __name__ == "__main__":
    sys.exit(main())
