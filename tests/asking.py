"""Requests and clients for tests of the language model, which do not wait long for anything."""

from models.fake_llm import Reply, count_words, cut_connection, refused
from models.llm.client import LlmClient
from models.llm.patience import Pace
from models.llm.records import Message, Request
from models.llm.settings import LlmSettings
from models.llm.wire import Endpoint

HASTY = Pace(backoff_seconds=0.001, failures_in_a_row=1000, probe_seconds=0.01)
QUICK = {"llm_outage_seconds": 5.0, "llm_timeout_seconds": 20.0, "llm_requests_in_flight": 8}
FAULTS = [
    refused(429),
    refused(500),
    refused(503),
    cut_connection(),
    cut_connection(40),
    Reply(raw=b"{"),
    Reply(raw=b"[]"),
    Reply("half", finish_reason="abort"),
]
"""Attempts that come to nothing, and that another may make good."""


def ask_for(text, max_answer_tokens=100, schema=None, **more):
    return Request((Message("system", "Be brief."), Message("user", text)), max_answer_tokens, schema, **more)


def client_of(fake, *, budget=None, pace=HASTY, count_tokens=count_words, **settings):
    made = LlmSettings(llm_url=fake.url, llm_revision="1", **(QUICK | settings))
    endpoint = Endpoint(fake.url, fake.model, fake.model, fake.context_tokens, fake.key)
    return LlmClient(endpoint, made, count_tokens=count_tokens, budget=budget, pace=pace)
