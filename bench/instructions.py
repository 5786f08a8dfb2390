#!/usr/bin/env python3
"""Counts the processor's instructions for each request, by callgrind: figures that do not depend on how busy a machine is.

    bench/instructions.py MOONDOCK [OTHER-SERVER...]

One worker and one connection; 300 requests before the count begins, 500 in it. Requests of `bench/site.kdl`, then one
`respond` endpoint among 10 to 5,000 routes. An OTHER-SERVER is a command that takes BIND, or PORT and WORKERS, from its
environment and answers the same three paths. Needs valgrind.
"""
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARM, COUNTED = 300, 500
BODY = b'{"items":[' + b",".join(b'{"id":%d,"name":"item %d","ok":true,"price":%d.5}' % (n, n, n) for n in range(18)) + b"]}"
REQUESTS = {
    "hello": b"GET /hello HTTP/1.1\r\nHost: bench\r\n\r\n",
    "parameters": b"GET /users/42?q=moon HTTP/1.1\r\nHost: bench\r\nx-tenant: acme\r\n\r\n",
    "JSON echo": b"POST /echo HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    % (len(BODY), BODY),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port: int, process: subprocess.Popen) -> socket.socket:
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server has ended")


def ask(stream, request: bytes, times: int) -> None:
    for _ in range(times):
        stream.write(request)
        stream.flush()
        status, length = stream.readline(), 0
        if b" 200 " not in status:
            raise RuntimeError(f"answered {status!r}")
        while (line := stream.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        stream.read(length)


def instructions(command: list[str], request: bytes) -> float:
    port = free_port()
    environment = os.environ | {"BIND": f"127.0.0.1:{port}", "PORT": str(port), "WORKERS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", f"--callgrind-out-file={out}"]
        process = subprocess.Popen(valgrind + command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connect(port, process) as client:
                stream = client.makefile("rwb")
                ask(stream, request, WARM)
                switch(process, "on")
                ask(stream, request, COUNTED)
                switch(process, "off")
        finally:
            process.terminate()
            process.wait(60)
        totals = [int(count) for file in out.parent.iterdir() for count in re.findall(r"^totals: (\d+)", file.read_text(), re.M)]
        # The worker is the thread that did most.
        return max(totals) / COUNTED


def switch(process: subprocess.Popen, state: str) -> None:
    subprocess.run(["callgrind_control", "-i", state, str(process.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def site_with(routes: int, folder: pathlib.Path) -> pathlib.Path:
    site = folder / f"routes-{routes}.kdl"
    endpoints = (f'endpoint GET "/api/area{n % 37}/thing{n}/{{id}}" {{ respond 200 "x"; }}\n' for n in range(routes))
    site.write_text("server {\n    bind (env)BIND\n    workers 1\n}\n" + "".join(endpoints))
    return site


def main() -> None:
    moondock, others = os.path.abspath(sys.argv[1]), [shlex.split(other) for other in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one = folder / "one.kdl"
        one.write_text((ROOT / "bench" / "site.kdl").read_text().replace("server {", "server {\n    workers 1", 1))
        for title, request in REQUESTS.items():
            counts = [instructions(command, request) for command in [[moondock, "run", str(one)], *others]]
            print(f"{title}: " + ", ".join(f"{count:,.0f}" for count in counts))
        for routes in (10, 100, 1_000, 5_000):
            middle = routes // 2
            request = b"GET /api/area%d/thing%d/7 HTTP/1.1\r\nHost: bench\r\n\r\n" % (middle % 37, middle)
            count = instructions([moondock, "run", str(site_with(routes, folder))], request)
            print(f"one of {routes:,} routes: {count:,.0f}")


if __name__ == "__main__":
    main()
