"""Stands for the Python that has vLLM: takes vLLM's arguments, serves the obedient model, and has a child of its own.

The checkout and its folder of tests are on PYTHONPATH.
"""

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path

from obedient import answers

from models.fake_llm import FakeEndpoint, Reply

parser = argparse.ArgumentParser()
parser.add_argument("-m", dest="module")
parser.add_argument("--port", type=int)
parser.add_argument("--served-model-name")
parser.add_argument("--folder")
parser.add_argument("--requests-until-death", type=int, default=-1)
chosen, _ = parser.parse_known_args()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with Path(chosen.folder, "starts").open("a") as starts:
    starts.write("started\n")
over = threading.Event()


def script(prompt):
    if prompt.number == chosen.requests_until_death:
        over.set()
        time.sleep(600)
    Path(chosen.folder, "asked").touch()
    return Reply(answers(prompt), delay_seconds=0.2)


fake = FakeEndpoint(script, model=chosen.served_model_name)
fake._port = chosen.port
fake.start()
over.wait()
