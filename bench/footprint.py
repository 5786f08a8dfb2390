#!/usr/bin/env python3
"""Start time, idle memory, memory for each runspace, and reload time of a large site.

    bench/footprint.py MOONDOCK
"""
import http.client
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running site; ends with the block."""

    def __init__(self, binary: str, site: pathlib.Path, port: int) -> None:
        self.port, self.began = port, time.perf_counter()
        self.process = subprocess.Popen(
            [binary, "run", str(site)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[tuple[float, str]] = []
        threading.Thread(target=self.follow, daemon=True).start()
        self.first_answer = self.wait()

    def follow(self) -> None:
        for line in self.process.stdout:
            self.lines.append((time.perf_counter(), line))

    def wait(self) -> float:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port)) as client:
                    client.sendall(b"GET /hello HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
                    if client.recv(64).startswith(b"HTTP/1.1 "):
                        return time.perf_counter() - self.began
            except OSError:
                time.sleep(0.0005)

    def memory(self) -> float:
        """Resident memory, MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"Rss:\s+(\d+)", status)[1]) / 1024

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def start_of_the_root_site(binary: str, folder: pathlib.Path) -> None:
    port = free_port()
    site = ROOT / "site-footprint.kdl"
    site.write_text(f'server {{ bind "127.0.0.1:{port}"; }}\n' + (ROOT / "site.kdl").read_text())
    try:
        times, idle = [], []
        for _ in range(11):
            with Server(binary, site, port) as server:
                times.append(server.first_answer * 1000)
                time.sleep(0.3)
                idle.append(server.memory())
        print(f"root site, start to first answer: median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms")
        print(f"root site, idle: {statistics.median(idle):.1f} MiB resident")
    finally:
        site.unlink()


def hold(port: int, count: int) -> list[http.client.HTTPConnection]:
    """Opens `count` connections that each wait in a handler, so that as many runspaces are in use."""
    clients = []
    for _ in range(count):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.request("GET", "/hold")
        clients.append(client)
    for client in clients:
        answer = client.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"/hold answered {answer.status}")
    return clients


def each_runspace(binary: str, folder: pathlib.Path) -> None:
    for kind in ("#false", "#true"):
        used = []
        for runspaces in (1, 1001):
            port, site = free_port(), folder / "many.kdl"
            site.write_text(
                f'server {{ bind "127.0.0.1:{port}"; }}\n'
                f"environment integrated {{\n    max-runspaces {runspaces}\n    persistent-runspaces {kind}\n}}\n"
                'endpoint GET "/hello" { lua "return 1"; }\n'
                'endpoint GET "/hold" { lua "sleep(2) return 1"; }\n'
            )
            with Server(binary, site, port) as server:
                for client in hold(port, runspaces):
                    client.close()
                time.sleep(0.5)
                used.append(server.memory())
        name = "persistent" if kind == "#true" else "clean"
        print(f"{name} runspace: {(used[1] - used[0]) * 1024 / 1000:.1f} KiB each ({used[0]:.1f} MiB with 1, {used[1]:.1f} MiB with 1,001)")


def big_site(port: int, count: int, changed: str) -> str:
    blocks = [f'server {{ bind "127.0.0.1:{port}"; }}\n']
    for number in range(count):
        word = changed if number == count // 2 else "a"
        blocks.append(
            f'endpoint GET "/part{number % 97}/item{number}/{{id}}" {{\n'
            f'    lua #"return {{ id = req.params.id, part = "{word}{number}" }}"#\n}}\n'
        )
    blocks.append('endpoint GET "/hello" { lua "return 1"; }\n')
    return "".join(blocks)


def large_reload(binary: str, folder: pathlib.Path) -> None:
    for count in (100, 1_000, 10_000):
        port, site = free_port(), folder / "large.kdl"
        site.write_text(big_site(port, count, "b"))
        with Server(binary, site, port) as server:
            own, whole = [], []
            for turn in range(7):
                before = len(server.lines)
                site.write_text(big_site(port, count, f"c{turn}x"))
                saved = time.perf_counter()
                while not (found := [at for at in server.lines[before:] if "reload" in at[1] and " ms" in at[1] or "_ms" in at[1]]):
                    if time.perf_counter() - saved > 20:
                        raise RuntimeError("".join(line for _, line in server.lines))
                    time.sleep(0.0005)
                whole.append((found[0][0] - saved) * 1000)
                own.append(found[0][1].strip())
            print(f"{count} endpoints: start {server.first_answer * 1000:.0f} ms, save to live median {statistics.median(whole):.0f} ms, {server.memory():.0f} MiB")
            print("   ", own[-1])


def main() -> None:
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        start_of_the_root_site(binary, pathlib.Path(folder))
        each_runspace(binary, pathlib.Path(folder))
        large_reload(binary, pathlib.Path(folder))


if __name__ == "__main__":
    main()
