# SPDX-License-Identifier: Apache-2.0
"""A client of an OTG server that checks each answer against the published model, and counts what it checked."""
import http.client
import json
import ssl
import urllib.parse


class Wrong(Exception):
    pass


class Client:
    def __init__(self, location, model, token=""):
        self.url, self.model, self.token = urllib.parse.urlsplit(location), model, token
        self.checked = 0

    def connection(self, seconds=60):
        host, port = self.url.hostname, self.url.port
        if self.url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl._create_unverified_context())
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def raw(self, method, path, body=b"", headers=None, seconds=60):
        """Status, type and body, which the model's schema of that answer must allow."""
        connection = self.connection(seconds)
        sent = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {}), **(headers or {})}
        try:
            connection.request(method, path, body or None, sent)
            answer = connection.getresponse()
            status, kind, text = answer.status, answer.getheader("Content-Type"), answer.read()
        finally:
            connection.close()
        self.check(method, path, status, kind, text)
        return status, kind, text

    def check(self, method, path, status, kind, text):
        self.checked += 1
        where = f"{method} {path}, status {status}"
        wanted, schema = self.model.of_answer(method, path, status)
        if kind != wanted:
            raise Wrong(f"{where}: the type is {kind}, not {wanted}")
        if schema is None:
            return
        value = json.loads(text)
        errors = self.model.errors(schema, value)
        if errors:
            raise Wrong(f"{where}: not a {schema}: {errors[:3]} in {text[:300]}")
        if status >= 400 and (value["code"] != status or not value["errors"] or not all(value["errors"])):
            raise Wrong(f"{where}: {text[:300]}")

    def call(self, method, path, value=None):
        """Status and value. A value that is sent must be right by the model, too: use `raw` for wrong ones."""
        schema = self.model.of_request(method, path)
        errors = self.model.errors(schema, value) if schema else []
        if errors:
            raise Wrong(f"{method} {path}: this test sends what is not a {schema}: {errors[:3]}")
        status, _, text = self.raw(method, path, b"" if value is None else json.dumps(value).encode())
        return status, json.loads(text)

    def right(self, method, path, value=None):
        status, answer = self.call(method, path, value)
        if status != 200:
            raise Wrong(f"{method} {path}: status {status}: {answer}")
        if (method, path) in (("POST", "/config"), ("POST", "/control/state")) and not isinstance(answer.get("warnings"), list):
            raise Wrong(f"{method} {path}: no list of warnings, whose length clients ask for: {answer}")
        return answer

    def traffic(self, state, names=()):
        flows = {"state": state, **({"flow_names": list(names)} if names else {})}
        return self.right("POST", "/control/state", {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": flows}})

    def metrics(self, kind, **members):
        return self.right("POST", "/monitor/metrics", {"choice": kind, kind: members})
