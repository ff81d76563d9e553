"""A scripted endpoint and a client of it."""

from contextlib import ExitStack

import pytest
from asking import client_of

from models.fake_llm import FakeEndpoint


@pytest.fixture
def serve():
    """`serve(script, **settings)` is a running endpoint and a client of it, closed after the test."""
    with ExitStack() as stack:

        def start(script="yes", fake=None, **settings):
            fake = stack.enter_context(fake or FakeEndpoint(script))
            return fake, stack.enter_context(client_of(fake, **settings))

        yield start
