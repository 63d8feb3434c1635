#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""client.py PORT run FILE|- | put FILE PATH | get PATH FILE | poweroff: speaks to the agent of a guest (guest/agent.py).
run's exit status is the script's; 255: the guest did not answer, or went away."""
import http.client
import re
import sys

port, verb, *arguments = sys.argv[1:]


def ask(method, path, body=None, seconds=None):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=seconds)
    connection.request(method, path, body)
    return connection.getresponse()


def run(script):
    answer = ask("POST", "/run", script)
    held = b""
    while data := answer.read1(65536):
        held += data
        # The last line may be the exit status.
        show, held = held[:-64], held[-64:]
        sys.stdout.buffer.write(show)
        sys.stdout.buffer.flush()
    end = re.search(rb"\n\[exit status (-?\d+)\]\n$", held)
    sys.stdout.buffer.write(held[: end.start()] if end else held)
    sys.stdout.flush()
    return int(end[1]) % 256 if end else 255


try:
    if verb == "run":
        source = sys.stdin.buffer if arguments[0] == "-" else open(arguments[0], "rb")
        sys.exit(run(source.read()))
    elif verb == "put":
        with open(arguments[0], "rb") as file:
            ask("PUT", arguments[1], file.read(), 60)
    elif verb == "get":
        answer = ask("GET", arguments[0], None, 60)
        data = answer.read()
        if answer.status != 200:
            sys.exit(data.decode())
        with open(arguments[1], "wb") as file:
            file.write(data)
    else:
        ask("POST", "/" + verb, b"", 5)
except (OSError, http.client.HTTPException) as error:
    print(f"guest: {error}", file=sys.stderr)
    sys.exit(255)
