"""HTTP to one endpoint: a whole response within its time and size, or `Trouble`."""

import logging

import httpx2

from models.llm import wire
from models.llm.connections import Fetched, fetch, open_http
from models.llm.records import BAD_RESPONSE, DENIED, TIMED_OUT, UNAVAILABLE, Request
from models.llm.settings import LlmSettings
from models.llm.wire import Endpoint

# It says a line for every request, of which a run sends millions.
logging.getLogger("httpx2").setLevel(logging.WARNING)

_PROBE_SECONDS = 5.0
_TOO_MANY = frozenset({429, 503, 529})
# What a gateway says that lost sight of the server behind it, which may have gone on.
_OF_A_GATEWAY = frozenset({502, 504, 524})
_RETRIED_STATUSES = frozenset({408, 409, 425, 429})
# What one prompt can lead to. All else lies in the key, the address, the model's name or an account without money.
_FAULTS_OF_PROMPTS = frozenset({400, 413, 414, 422, 431})


class Trouble(Exception):
    """An attempt without an answer. `reason` is the failure's if no other attempt does better.

    `is_final`: another attempt would fare no better. `is_lost`: the endpoint may be gone. `may_be_billed`: it may have
    worked on the request. `is_own_fault`: the request is wrong, not the endpoint. `is_too_much`: it is one of too many.
    """

    def __init__(
        self,
        reason: str,
        detail: str,
        *,
        wait_seconds: float = 0.0,
        is_final: bool = False,
        is_lost: bool = False,
        may_be_billed: bool = False,
        is_own_fault: bool = False,
        is_too_much: bool = False,
    ) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.wait_seconds = reason, detail, wait_seconds
        self.is_final, self.is_lost = is_final, is_lost
        self.may_be_billed, self.is_own_fault = may_be_billed, is_own_fault
        self.is_too_much = is_too_much


class Transport:
    """Connections to one endpoint, for one event loop."""

    def __init__(self, endpoint: Endpoint, settings: LlmSettings) -> None:
        self._endpoint, self._settings = endpoint, settings
        n_connections = settings.llm_requests_in_flight + 4
        self._http = open_http(endpoint.url, endpoint.key, n_connections, settings.llm_timeout_seconds)

    async def generate(self, request: Request) -> Fetched:
        """The response of status 200 to `request`; raises Trouble."""
        body = wire.body_of(request, self._settings, self._endpoint.model)
        return await self._post(self._endpoint.url + wire.path_of(self._settings), body)

    async def count_tokens(self, request: Request) -> int:
        """The tokens of the prompt as the endpoint counts them; raises Trouble."""
        body = {"model": self._endpoint.model, **wire.prompt_of(request, self._settings)}
        url = self._endpoint.url.removesuffix("/v1") + "/tokenize"
        try:
            count = wire.parse_object((await self._post(url, body)).data).get("count")
        except Trouble as trouble:
            trouble.may_be_billed = False
            trouble.detail += f"; {url} cannot count tokens: set llm_tokenizer" if trouble.is_final else ""
            raise
        if type(count) is not int or not 0 <= count < wire.MAX_TOKENS:
            raise Trouble(BAD_RESPONSE, f"{url} does not count tokens; set llm_tokenizer", is_final=True)
        return count

    async def list_models(self) -> Fetched:
        """What the endpoint says it serves; raises as `fetch`."""
        return await fetch(self._http, "GET", self._endpoint.url + "/models", _PROBE_SECONDS)

    async def close(self) -> None:
        await self._http.aclose()

    async def _post(self, url: str, body: object) -> Fetched:
        seconds = self._settings.llm_timeout_seconds
        try:
            fetched = await fetch(self._http, "POST", url, seconds, body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise Trouble(UNAVAILABLE, _words(error), is_lost=True) from error
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise Trouble(
                TIMED_OUT, f"no whole answer after {seconds:g} s", is_lost=True, may_be_billed=True
            ) from error
        except httpx2.HTTPError as error:
            raise Trouble(UNAVAILABLE, _words(error), is_lost=True, may_be_billed=True) from error
        except wire.UnreadableError as error:
            raise Trouble(BAD_RESPONSE, f"it answered with {error}", may_be_billed=True) from error
        if fetched.status != 200:
            raise _refusal(fetched, self._endpoint.key)
        return fetched


def _refusal(fetched: Fetched, key: str) -> Trouble:
    """What a status other than 200 means."""
    status = fetched.status
    detail = f"status {status}: {wire.error_detail(fetched.data, key)}"
    if status in _RETRIED_STATUSES or status >= 500:
        wait_seconds = wire.retry_after_seconds(fetched.headers)
        is_lost, is_too_much = status in _OF_A_GATEWAY, status in _TOO_MANY
        return Trouble(
            UNAVAILABLE, detail, wait_seconds=wait_seconds, is_lost=is_lost, may_be_billed=is_lost,
            is_too_much=is_too_much,
        )  # fmt: skip
    if status < 300:
        return Trouble(BAD_RESPONSE, detail, may_be_billed=True)
    if status not in _FAULTS_OF_PROMPTS:
        return Trouble(DENIED, detail, is_final=True)
    return Trouble(wire.refusal_reason(detail), detail, is_final=True, is_own_fault=True)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
