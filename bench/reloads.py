#!/usr/bin/env python3
"""Saves a site again and again while 64 connections ask it.

    bench/reloads.py MOONDOCK [RELOADS]

Every save changes the answer's number. Each connection checks that it never gets an error and never an older number than
the one it has already seen; the next save waits until the present one is live. Then 100 saves are made within one second,
and the time until the last one is live is taken. Ends with 1 if anything was wrong.
"""
import asyncio
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

CONNECTIONS = 64
FOLDED = 100


def site(number: int, port: int) -> str:
    return (
        f'server {{ bind "127.0.0.1:{port}"; }}\n'
        "logging { system level=error; }\n"
        f'endpoint GET "/lua" {{ lua "return \'{number}\'"; }}\n'
        f'endpoint GET "/canned" {{ respond 200 "{number}"; }}\n'
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Client:
    """One keep-alive connection; `ask` returns the number that the server answers with."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen = -1

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, path: str) -> int:
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"answered {head.splitlines()[0]!r}")
        length = next(
            int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length:")
        )
        return int(await self.reader.readexactly(length))

    async def check(self, path: str) -> int:
        number = await self.ask(path)
        if number < self.seen:
            raise RuntimeError(f"answered {number} after {self.seen}")
        self.seen = number
        return number


async def keep_asking(client: Client, path: str, state: dict) -> None:
    while not state["over"]:
        try:
            await client.check(path)
            state["requests"] += 1
        except Exception as error:  # Every kind of failure counts, the connection's too.
            state["faults"].append(f"{path}: {error!r}")
            return


async def until_live(client: Client, number: int, limit: float) -> float:
    start = time.monotonic()
    while await client.check("/lua") != number:
        if time.monotonic() - start > limit:
            raise RuntimeError(f"save {number} was not live after {limit} s")
        await asyncio.sleep(0.001)
    return time.monotonic() - start


async def first_answer(port: int) -> Client:
    client = Client(port)
    for _ in range(500):
        try:
            await client.connect()
            return client
        except OSError:
            await asyncio.sleep(0.01)
    raise RuntimeError("the server did not start")


async def drive(path: pathlib.Path, port: int, reloads: int) -> int:
    watcher = await first_answer(port)
    state = {"over": False, "requests": 0, "faults": []}
    clients = [Client(port) for _ in range(CONNECTIONS)]
    for client in clients:
        await client.connect()
    tasks = [asyncio.create_task(keep_asking(c, ("/lua", "/canned")[i % 2], state)) for i, c in enumerate(clients)]
    times = []
    for number in range(1, reloads + 1):
        path.write_text(site(number, port))
        times.append(await until_live(watcher, number, 10))
    print(f"{reloads} reloads, {state['requests']} requests, {len(state['faults'])} faults")
    print(f"save to live: median {statistics.median(times) * 1000:.0f} ms, longest {max(times) * 1000:.0f} ms")
    last = reloads + FOLDED
    start = time.monotonic()
    for number in range(reloads + 1, last + 1):
        path.write_text(site(number, port))
        await asyncio.sleep(max(0, start + (number - reloads) / FOLDED - time.monotonic()))
    took = await until_live(watcher, last, 5)
    state["over"] = True
    await asyncio.gather(*tasks)
    print(f"{FOLDED} saves in {time.monotonic() - start - took:.2f} s: the last was live {took * 1000:.0f} ms later")
    print("\n".join(state["faults"][:10]))
    return 1 if state["faults"] or took > 1 else 0


def main() -> int:
    binary = os.path.abspath(sys.argv[1])
    reloads = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "site.kdl"
        path.write_text(site(0, port))
        server = subprocess.Popen([binary, "run", str(path)], stdout=subprocess.DEVNULL)
        try:
            return asyncio.run(drive(path, port, reloads))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(15)


if __name__ == "__main__":
    sys.exit(main())
