# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest. POST /run: a bash script in the body, its output as it comes, then a line with
its exit status. PUT and GET: files. POST /poweroff."""
import http.server
import os
import socketserver
import subprocess


class Agent(http.server.BaseHTTPRequestHandler):
    def log_message(self, format, *args):
        pass

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status=200, data=b""):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        script = self.body()
        self.answer()
        if self.path == "/poweroff":
            with open("/proc/sysrq-trigger", "w", encoding="ascii") as trigger:
                trigger.write("o")
            return
        path = f"/tmp/script.{self.client_address[1]}"
        with open(path, "wb") as file:
            file.write(script)
        with subprocess.Popen(["bash", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd="/root", start_new_session=True) as process:
            while data := os.read(process.stdout.fileno(), 65536):
                self.wfile.write(data)
                self.wfile.flush()
            self.wfile.write(b"\n[exit status %d]\n" % process.wait())
        os.unlink(path)

    def do_PUT(self):
        data = self.body()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "wb") as file:
            file.write(data)
        self.answer()

    def do_GET(self):
        try:
            with open(self.path, "rb") as file:
                self.answer(200, file.read())
        except OSError as error:
            self.answer(404, str(error).encode())


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True


Server(("0.0.0.0", 8000), Agent).serve_forever()
