"""Whole answers over HTTP: bounded in time and in size, also unpacked, and no proxy for what stays on this machine."""

import asyncio
import ipaddress
import os
import ssl
import threading
from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeVar

import httpx2

from models.errors import SettingsError
from models.llm import wire

T = TypeVar("T")

CONNECT_SECONDS = 10.0


class Fetched(NamedTuple):
    """A whole answer. `connection` is the same object for all answers of one connection, None where that is unknown."""

    status: int
    headers: httpx2.Headers
    data: bytes
    connection: object = None


def open_http(url: str, key: str, n_connections: int, timeout_seconds: float) -> httpx2.AsyncClient:
    """A client of the server at `url`, for one event loop. It follows no redirect: the key is for this server alone.

    :raises SettingsError: the environment names a proxy, or a file of certificates, that cannot be used.
    """
    # Proxies of the environment are for the wide web; a model on this machine is asked directly.
    is_here = _is_loopback(httpx2.URL(url).host)
    authorities = os.environ.get("SSL_CERT_FILE") if is_here else None  # elsewhere it is read with the environment
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        return httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(timeout_seconds, connect=CONNECT_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=n_connections, max_keepalive_connections=n_connections),
            trust_env=not is_here,
            verify=ssl.create_default_context(cafile=authorities) if authorities else True,
            follow_redirects=False,
        )
    except OSError as error:  # ssl.SSLError too
        raise SettingsError(f"SSL_CERT_FILE cannot be read: {error}; name a file of certificates") from error
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        words = " ".join(str(error).split())[:200]
        why = "" if "@" in words else f": {words}"  # an address may hold a password
        raise SettingsError(
            f"the proxy that the environment names for {url} cannot be used{why}; "
            "set HTTPS_PROXY or ALL_PROXY to an http:// address, or NO_PROXY to this host"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def fetch(
    http: httpx2.AsyncClient, method: str, url: str, timeout_seconds: float, body: object = None
) -> Fetched:
    """One answer, whole.

    :raises TimeoutError: it did not come in time. :raises httpx2.HTTPError: it did not come.
    :raises wire.UnreadableError: it is too large, or packed in a way that nobody asked for.
    """
    packed = bytearray()
    async with asyncio.timeout(timeout_seconds), http.stream(method, url, json=body) as response:
        async for part in response.aiter_raw():
            packed += part
            if len(packed) > wire.MAX_RESPONSE_BYTES:
                raise wire.UnreadableError(f"over {wire.MAX_RESPONSE_BYTES} bytes")
    data = wire.decoded(bytes(packed), response.headers.get("content-encoding", ""))
    return Fetched(response.status_code, response.headers, data, response.extensions.get("network_stream"))


def run_alone(work: Coroutine[Any, Any, T], patience_seconds: float) -> T:
    """What `work` returns or raises, on an event loop of its own: the caller may be on one already.

    :raises TimeoutError: it goes on after `patience_seconds`; a name that is being looked up cannot be cancelled.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="llm endpoint", daemon=True)
    thread.start()
    thread.join(patience_seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError
    return results[0]
