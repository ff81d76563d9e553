"""A server of a few lines in place of vLLM: /health, one child that would outlive it, and ways to misbehave."""

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

port, folder, *manners = sys.argv[1:]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


if "fails" in manners:
    sys.exit("no such model")
if "stubborn" in manners:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
detached = "detached" in manners
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=detached)
with Path(folder, "starts").open("a") as starts:
    starts.write(f"{os.getpid()} {child.pid}\n")
if "dies" in manners:
    sys.exit(3)
if "talks" in manners:

    def talk():
        for number in range(1, 10_000):
            os.write(1, f"{number} {'of the things that a server has to say ' * 20}\n".encode())
            time.sleep(0.01)

    threading.Thread(target=talk, daemon=True).start()
if "hangs" in manners:
    signal.pause()
ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
