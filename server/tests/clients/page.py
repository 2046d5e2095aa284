"""Follows docs/serving.md as a newcomer would: runs its commands and its scripts, and compares what they print.

usage: page.py ROOT PROGRAM FOLDER

ROOT is the repository, PROGRAM the built example of the page, FOLDER one with the installed clients.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT, PROGRAM, FOLDER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
CLIENTS = ROOT / "server/tests/clients"
PAGE = (ROOT / "docs/serving.md").read_text()
SERVE = "cargo run --bin review -- serve"
URL = "http://127.0.0.1:2024"
SOONEST = 0.3  # seconds from the start of the program to its address


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def output(command, url, **options):
    """Runs a command, and returns its standard output with the page's address."""
    print("$", command if isinstance(command, str) else " ".join(map(str, command)), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}"
    return done.stdout.replace(url, URL)


def start(folder):
    """Starts the server on a free port. Returns it, its address, and the seconds until it printed the address."""
    begun = time.monotonic()
    command = [PROGRAM, "serve", "--port", "0"]
    environment = {**os.environ, "TMPDIR": folder}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    line = server.stdout.readline()
    took = time.monotonic() - begun
    address = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert address, f"the server printed {line!r}"
    assert line.replace(address[0], URL) in PAGE, f"the page does not show {line!r}"
    return server, address[0], took


def stop(server):
    server.terminate()
    assert server.wait(timeout=30) == 0, "the server did not end well"


def pinned(command):
    """Adds the pinned version to a command that installs a client from npm."""
    package = command.removeprefix("npm install ")
    versions = json.loads((CLIENTS / "package.json").read_text())["dependencies"]
    return f"{command}@{versions[package]}" if package != command else command


def run_shell(command, url, folder):
    if command == SERVE:
        return  # It is running, as the program that Cargo has built.
    environment = {**os.environ, "PIP_CONSTRAINT": str(CLIENTS / "requirements.txt")}
    environment["PATH"] = f"{FOLDER / 'python/bin'}:{os.environ['PATH']}"
    printed = output(pinned(command).replace(URL, url), url, shell=True, cwd=folder, env=environment)
    if command.startswith("curl "):
        assert printed.strip() in PAGE, f"the page does not show {printed!r}"


def main():
    folder = tempfile.mkdtemp()
    times = []
    for _ in range(3):
        server, url, took = start(folder)
        times.append(took)
        stop(server)
    print(f"the address was printed after {min(times) * 1000:.0f} ms")
    assert min(times) < SOONEST, times

    commands = [line for block in blocks("sh") for line in block.splitlines() if line]
    assert SERVE in commands, "the page does not start the server"
    (python,), (javascript,) = blocks("python"), blocks("js")
    printed, printed_too = [block for block in blocks("text") if block.startswith("metadata")]
    server, url, _ = start(folder)
    try:
        for command in commands:
            run_shell(command, url, folder)
        (pathlib.Path(folder) / "review.py").write_text(python.replace(URL, url))
        (pathlib.Path(folder) / "review.mjs").write_text(javascript.replace(URL, url))
        said = output([FOLDER / "python/bin/python", "review.py"], url, cwd=folder)
        assert said == printed, f"the Python script printed:\n{said}"
        said = output(["node", "review.mjs"], url, cwd=folder)
        assert said == printed_too, f"the JavaScript script printed:\n{said}"
    finally:
        stop(server)
    print("ok docs/serving.md")


main()
