"""The scripted endpoint speaks real HTTP, seen here by the standard library's client."""

import http.client
import json
import urllib.error
import urllib.request

import pytest

from models.fake_llm import (
    FakeEndpoint,
    Reply,
    count_words,
    cut_connection,
    in_prose,
    in_turn,
    refused,
    unescaped_quotes,
)


def post(fake, body, path="/chat/completions", key=""):
    request = urllib.request.Request(fake.url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def chat(text, **more):
    return {"messages": [{"role": "user", "content": text}], **more}


def test_it_answers_both_apis_and_counts_requests_and_prompts():
    with FakeEndpoint(lambda prompt: prompt.text.upper()) as fake:
        assert post(fake, chat("hello"))["choices"][0]["message"]["content"] == "HELLO"
        assert post(fake, chat("hello"))["usage"]["completion_tokens"] == 1
        assert post(fake, {"prompt": "one two"}, "/completions")["choices"][0]["text"] == "ONE TWO"
        assert (fake.n_requests, fake.n_distinct) == (3, 2)


def test_it_says_what_it_serves():
    with FakeEndpoint(model="m", context_tokens=99) as fake, urllib.request.urlopen(fake.url + "/models") as response:
        assert json.load(response)["data"] == [{"id": "m", "root": "m", "max_model_len": 99}]


def test_it_keeps_to_max_tokens_and_counts_the_same_tokens_beforehand():
    with FakeEndpoint("one, two, three") as fake:
        choice = post(fake, chat("a b c", max_tokens=3))["choices"][0]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("one, two", "length")
        root = fake.url.removesuffix("/v1")
        with urllib.request.urlopen(root + "/tokenize", json.dumps(chat("a b c")).encode()) as response:
            assert json.load(response) == {"count": 3}


def test_faults_come_in_turn():
    with FakeEndpoint(in_turn([refused(429, retry_after="3"), cut_connection(), cut_connection(10)], "fine")) as fake:
        with pytest.raises(urllib.error.HTTPError) as error:
            post(fake, chat("?"))
        assert error.value.code == 429 and error.value.headers["Retry-After"] == "3"
        error.value.close()
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            post(fake, chat("?"))
        with pytest.raises(http.client.IncompleteRead):
            post(fake, chat("?"))
        assert post(fake, chat("?"))["choices"][0]["message"]["content"] == "fine"


def test_a_wrong_key_is_refused():
    with FakeEndpoint("yes", key="right") as fake:
        with pytest.raises(urllib.error.HTTPError, match="401") as error:
            post(fake, chat("?"), key="wrong")
        error.value.close()
        assert post(fake, chat("?"), key="right") and fake.n_requests == 1


def test_it_can_die_and_come_back_at_its_address():
    with FakeEndpoint(Reply("slow", delay_seconds=0)) as fake:
        url = fake.url
        fake.stop()
        with pytest.raises(urllib.error.URLError):
            post(fake, chat("?"))
        fake.start()
        assert fake.url == url and post(fake, chat("?"))


def test_words_around_json_and_quotes_in_it():
    assert in_prose("[1]").startswith("Sure!") and "```json\n[1]\n```" in in_prose("[1]")
    assert unescaped_quotes('["the mill"]', "mill") == '["the "mill""]'
    assert count_words("Well, yes.") == 4
