#!/usr/bin/env python3
"""Asks for a short answer on one worker, alone and while another connection keeps that worker computing.

    bench/fairness.py MOONDOCK [SECONDS]

Prints the 99th percentile of the short answer's latency without and with the loop, in turns, five times each.
"""
import http.client
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SITE = """
server {{
    bind "127.0.0.1:{port}"
    workers 1
}}
logging {{
    system level=error
}}
endpoint GET "/hello" {{
    lua "return 'hello'"
}}
endpoint GET "/fib" {{
    lua #\"\"\"
        local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
        return tostring(fib(32))
        \"\"\"#
}}
"""


def connect(port: int) -> http.client.HTTPConnection:
    for _ in range(500):
        try:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            client.connect()
            client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return client
        except OSError:
            time.sleep(0.01)
    raise RuntimeError("the server did not start")


def ask(client: http.client.HTTPConnection, path: str) -> float:
    start = time.perf_counter()
    client.request("GET", path)
    answer = client.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}")
    return (time.perf_counter() - start) * 1000


def percentile(port: int, seconds: float) -> float:
    client = connect(port)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        times.append(ask(client, "/hello"))
        time.sleep(0.001)  # The client shares the machine; it must not itself be the load.
    client.close()
    return statistics.quantiles(times, n=100)[98]


def beside_the_loop(port: int, seconds: float) -> tuple[float, float]:
    over, runs = threading.Event(), []

    def loop() -> None:
        client = connect(port)
        while not over.is_set():
            runs.append(ask(client, "/fib"))
        client.close()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        return percentile(port, seconds), statistics.median(runs) if runs else float("nan")
    finally:
        over.set()
        thread.join()


def main() -> None:
    binary = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "site.kdl"
        path.write_text(SITE.format(port=port))
        server = subprocess.Popen([binary, "run", str(path)], stdout=subprocess.DEVNULL)
        try:
            alone, beside, fibs = [], [], []
            for _ in range(5):
                alone.append(percentile(port, seconds))
                p99, fib = beside_the_loop(port, seconds)
                beside.append(p99)
                fibs.append(fib)
            print(f"hello p99 alone:          {statistics.median(alone):.2f} ms  {[round(v, 2) for v in alone]}")
            print(f"hello p99 beside fib(32): {statistics.median(beside):.2f} ms  {[round(v, 2) for v in beside]}")
            print(f"fib(32) itself:           {statistics.median(fibs):.0f} ms")
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(15)


if __name__ == "__main__":
    main()
