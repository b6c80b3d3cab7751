#!/usr/bin/env python3
"""Measures `ringfence mcp` beside other servers, in pairs, and prints medians.

- the start: from exec to the answer to `initialize`, beside an empty server on the same SDK
- a small write, beside @modelcontextprotocol/server-filesystem, which is held by nothing

usage: measure.py RINGFENCE EMPTY FILESYSTEM... [--rounds N] [--dir DIR]
RINGFENCE and EMPTY (the example mcp-empty) are release builds, FILESYSTEM is the command of that
server, DIR is where is written, on the file system that is to be measured [default: .].
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time

GOAL_START_MS = 30
GOAL_WRITE = 5
VERSION = "2025-06-18"


class Server:
    def __init__(self, *command):
        pipe = subprocess.PIPE
        begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        client = {"name": "measure", "version": "1"}
        params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
        self.id = 0
        self.ask("initialize", params)
        self.start = time.perf_counter() - begun
        self.tell({"method": "notifications/initialized"})

    def tell(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.tell({"id": self.id, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.id and "method" not in answer:
                assert "error" not in answer, answer
                return answer["result"]

    def call(self, name, **arguments):
        begun = time.perf_counter()
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        took = time.perf_counter() - begun
        assert not result.get("isError"), result
        return took

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def started(*command):
    server = Server(*command)
    server.close()
    return server.start


def median_ms(seconds):
    return statistics.median(seconds) * 1000


def main():
    args = argparse.ArgumentParser()
    args.add_argument("ringfence")
    args.add_argument("empty")
    args.add_argument("filesystem", nargs="+")
    args.add_argument("--rounds", type=int, default=200)
    args.add_argument("--dir", default=".")
    args = args.parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as workspace:
        mcp = [args.ringfence, "mcp", "--mode", "workspace-write", "--workspace", workspace]
        # One of each in turn, so that what else the machine does befalls both.
        starts = [(started(*mcp), started(args.empty)) for _ in range(args.rounds // 4)]
        ours, empty = (median_ms(column) for column in zip(*starts))
        more = median_ms([one - other for one, other in starts])
        print(f"start: {ours:.2f} ms, empty {empty:.2f} ms, more by {more:.2f} ms "
              f"(goal: less than {GOAL_START_MS})")

        synced, plain = Server(*mcp), Server(*mcp, "--durability", "none")
        other = Server(*args.filesystem, workspace)
        content = "a small text\n"
        writes = []
        for number in range(args.rounds):
            name = f"{workspace}/{number}"
            row = {}
            # Each is first as often as the others: what comes after a pause finds cold caches.
            for column in ((number + offset) % 3 for offset in range(3)):
                server, tool, key = (
                    (plain, "write", "file_path"),
                    (synced, "write", "file_path"),
                    (other, "write_file", "path"),
                )[column]
                arguments = {key: f"{name}-{column}", "content": content}
                row[column] = server.call(tool, **arguments)
            writes.append(row)
        for server in (synced, plain, other):
            server.close()
        for column, what in enumerate(("not synced", "synced")):
            ratio = statistics.median(row[2] / row[column] for row in writes)
            ours = median_ms([row[column] for row in writes])
            theirs = median_ms([row[2] for row in writes])
            print(f"write, {what}: {ours:.3f} ms, server-filesystem {theirs:.3f} ms, "
                  f"{ratio:.1f} times as fast (goal: {GOAL_WRITE})")


main()
