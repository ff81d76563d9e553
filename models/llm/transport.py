"""HTTP to one endpoint: a whole response within its time and size, or `Trouble`."""

import asyncio
import logging

import httpx2

from models.llm import wire
from models.llm.records import BAD_RESPONSE, DENIED, TIMED_OUT, UNAVAILABLE, Request
from models.llm.settings import LlmSettings
from models.llm.wire import Endpoint

# It says a line for every request, of which a run sends millions.
logging.getLogger("httpx2").setLevel(logging.WARNING)

_CONNECT_SECONDS = 10.0
_PROBE_SECONDS = 5.0
_RETRIED_STATUSES = frozenset({408, 409, 425, 429})
# What one prompt can lead to. All else lies in the key, the address, the model's name or an account without money.
_FAULTS_OF_PROMPTS = frozenset({400, 413, 414, 415, 422, 431, 451})


class Trouble(Exception):
    """An attempt without an answer. `reason` is the failure's if no other attempt does better.

    `is_final`: another attempt would fare no better. `is_lost`: the endpoint may be gone. `may_be_billed`: it may have
    worked on the request. `is_own_fault`: the request is wrong, not the endpoint.
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
    ) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.wait_seconds = reason, detail, wait_seconds
        self.is_final, self.is_lost = is_final, is_lost
        self.may_be_billed, self.is_own_fault = may_be_billed, is_own_fault


class Transport:
    """Connections to one endpoint, for one event loop."""

    def __init__(self, endpoint: Endpoint, settings: LlmSettings) -> None:
        self._endpoint, self._settings = endpoint, settings
        n = settings.llm_requests_in_flight + 4
        self._http = httpx2.AsyncClient(
            headers=endpoint.headers,
            timeout=httpx2.Timeout(settings.llm_timeout_seconds, connect=_CONNECT_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=n, max_keepalive_connections=n),
            trust_env=wire.may_have_proxy(endpoint.url),
        )

    async def generate(self, request: Request) -> bytes:
        """The response of status 200 to `request`; raises Trouble."""
        body = wire.body_of(request, self._settings, self._endpoint.model)
        return await self._post(self._endpoint.url + wire.path_of(self._settings), body)

    async def count_tokens(self, request: Request) -> int:
        """The tokens of the prompt as the endpoint counts them; raises Trouble."""
        body = {"model": self._endpoint.model, **wire.prompt_of(request, self._settings)}
        url = self._endpoint.url.removesuffix("/v1") + "/tokenize"
        try:
            count = wire.parse_object(await self._post(url, body)).get("count")
        except Trouble as trouble:
            trouble.may_be_billed = False
            trouble.detail += f"; {url} cannot count tokens: set llm_tokenizer" if trouble.is_final else ""
            raise
        if type(count) is not int or not 0 <= count < wire.MAX_TOKENS:
            raise Trouble(BAD_RESPONSE, f"{url} does not count tokens; set llm_tokenizer", is_final=True)
        return count

    async def answers(self) -> bool:
        """Whether the endpoint answers at all."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                response = await self._http.get(self._endpoint.url + "/models")
            return response.status_code < 500
        except (httpx2.HTTPError, TimeoutError):
            return False

    async def close(self) -> None:
        await self._http.aclose()

    async def _post(self, url: str, body: object) -> bytes:
        try:
            async with (
                asyncio.timeout(self._settings.llm_timeout_seconds),
                self._http.stream("POST", url, json=body) as response,
            ):
                data = await _read(response)
        except httpx2.ConnectError as error:
            raise Trouble(UNAVAILABLE, _words(error), is_lost=True) from error
        except httpx2.ConnectTimeout as error:
            raise Trouble(UNAVAILABLE, _words(error), is_lost=True) from error
        except (TimeoutError, httpx2.TimeoutException) as error:
            detail = f"no whole answer after {self._settings.llm_timeout_seconds:g} s"
            raise Trouble(TIMED_OUT, detail, is_lost=True, may_be_billed=True) from error
        except httpx2.HTTPError as error:
            raise Trouble(UNAVAILABLE, _words(error), is_lost=True, may_be_billed=True) from error
        if response.status_code != 200:
            detail = f"status {response.status_code}: {wire.error_detail(data, self._endpoint.key)}"
            raise _refusal(response.status_code, response.headers, detail)
        return data


def _refusal(status: int, headers: httpx2.Headers, detail: str) -> Trouble:
    """What a status other than 200 means."""
    if status in _RETRIED_STATUSES or status >= 500:
        wait_seconds = wire.retry_after_seconds(headers)
        return Trouble(UNAVAILABLE, detail, wait_seconds=wait_seconds, is_lost=status in (502, 504))
    if status < 300:
        return Trouble(BAD_RESPONSE, detail, may_be_billed=True)
    if status not in _FAULTS_OF_PROMPTS:
        return Trouble(DENIED, detail, is_final=True)
    return Trouble(wire.refusal_reason(detail), detail, is_final=True, is_own_fault=True)


async def _read(response: httpx2.Response) -> bytes:
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > wire.MAX_RESPONSE_BYTES:
            raise Trouble(BAD_RESPONSE, f"a response of over {wire.MAX_RESPONSE_BYTES} bytes", may_be_billed=True)
    return bytes(data)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
