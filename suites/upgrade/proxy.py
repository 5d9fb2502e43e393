"""nginx with the configuration of deploy/nginx in front of the replicas, without TLS."""

import os
import signal
import subprocess

import httpx

import rig
from deploy.programs import DEPLOY, PATH, replace
from deploy.proxies import ADDRESSES, NGINX

# The lines of the file that only concern TLS.
TLS = ["    ssl_certificate /etc/ssl/certs/gateway.crt;\n", "    ssl_certificate_key /etc/ssl/private/gateway.key;\n"]


class Nginx:
    def __init__(self, directory, gateways):
        self.port = rig.free_port()
        servers = {f"server {old}": f"server 127.0.0.1:{gateway.port}" for old, gateway in zip(ADDRESSES, gateways, strict=True)}
        changes = servers | {"listen 443 ssl": f"listen 127.0.0.1:{self.port}"} | dict.fromkeys(TLS, "")
        included, main = directory / "gatehouse.conf", directory / "nginx.conf"
        included.write_text(replace((DEPLOY / "nginx" / "gatehouse.conf").read_text(), changes))
        main.write_text(NGINX.format(file=included, user="" if os.geteuid() else "user root;\n"))
        self.error_log = directory / "nginx-error.log"
        with open(directory / "proxy.log", "wb") as log:
            command = ["nginx", "-p", str(directory), "-c", str(main)]
            self.process = subprocess.Popen(command, cwd=directory, env={"PATH": PATH}, stdout=log, stderr=log, preexec_fn=os.setpgrp)
        rig.eventually(self.answers, 20, what="an answer through nginx")

    def answers(self):
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/health", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def complaints(self):
        """The last lines of its log, which name the replica that broke a call off."""
        return self.error_log.read_text(errors="replace").splitlines()[-3:] if self.error_log.exists() else []

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
