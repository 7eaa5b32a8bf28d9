"""OAuth for upstream servers behind HTTP: the SDK's flow over a token file of ours.

A file per server, 0600, in a private directory. It is written by whoever logs in or refreshes: the upstream actor.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, TokenStorage
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from msgspec import UNSET, UnsetType
from pydantic import AnyUrl, ValidationError

from config.place import private_directory
from config.schema_upstream import UpstreamSettings

SCHEMA_VERSION = 1
CALLBACK_PATH = "/callback"
UNUSED_REDIRECT = f"http://127.0.0.1{CALLBACK_PATH}"

OnRedirect = Callable[[str], Awaitable[None]]
OnCallback = Callable[[], Awaitable[AuthorizationCodeResult]]


class LoginNeeded(OAuthFlowError):
    """The tokens are no longer good and nobody is there to log in again."""


class Kept(msgspec.Struct):
    """What a token file holds; the SDK's own JSON in `tokens`, `client` and `metadata`.

    Attributes:
        url: the server the tokens are for; another address never gets them.
        expires_at: UTC seconds at which the access token ends, 0 if it does not say.
        metadata: the authorization server's, so that a refresh finds its token endpoint.
    """

    url: str
    schema_version: int = SCHEMA_VERSION
    tokens: msgspec.Raw | UnsetType = UNSET
    client: msgspec.Raw | UnsetType = UNSET
    metadata: msgspec.Raw | UnsetType = UNSET
    expires_at: float = 0.0


def token_file(directory: Path, server: str) -> Path:
    return directory / f"{quote(server, safe='')}.json"


def load(path: Path, url: str) -> Kept | None:
    """The tokens kept for this address; `None` if there are none that this version can use."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError):
        return None
    return kept if kept.url == url and kept.schema_version == SCHEMA_VERSION else None


def save(path: Path, kept: Kept) -> None:
    """Writes atomically, 0600. Raises OSError, ConfigError."""
    private_directory(path.parent)
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(kept))
    temporary.replace(path)


class _Storage(TokenStorage):
    """The SDK's view of a token file."""

    def __init__(self, path: Path, kept: Kept) -> None:
        self.path = path
        self.kept = kept

    async def save(self) -> None:
        await asyncio.to_thread(save, self.path, self.kept)

    async def get_tokens(self) -> OAuthToken | None:
        if self.kept.tokens is UNSET:
            return None
        with contextlib.suppress(ValidationError):
            return OAuthToken.model_validate_json(bytes(self.kept.tokens))
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.kept.tokens = _raw(tokens.model_dump_json(exclude_none=True))
        self.kept.expires_at = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        await self.save()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self.kept.client is UNSET:
            return None
        with contextlib.suppress(ValidationError):
            return OAuthClientInformationFull.model_validate_json(bytes(self.kept.client))
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.kept.client = _raw(client_info.model_dump_json(exclude_none=True))


class Login(httpx2.Auth):
    """Signs requests. While the token is good it is put on without the SDK's flow, which lets one request through at a
    time until its headers have come, so that a slow call would hold up all others."""

    def __init__(self, provider: OAuthClientProvider, storage: _Storage) -> None:
        self._provider = provider
        self._storage = storage

    @property
    def is_good(self) -> bool:
        """Whether there is an access token that has not ended."""
        return self._provider.context.is_token_valid()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        context = self._provider.context
        tokens = context.current_tokens
        if tokens is not None and context.is_token_valid():
            request.headers["authorization"] = f"Bearer {tokens.access_token}"
            response = yield request
            if response.status_code != 401:
                return
            if context.current_tokens is tokens:
                context.token_expiry_time = time.time() - 1  # it was taken back early; a refresh may do
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                outgoing = await flow.asend((yield outgoing))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def keep_metadata(self) -> None:
        """Writes down where the authorization server refreshes tokens."""
        metadata = self._provider.context.oauth_metadata
        if metadata is not None:
            self._storage.kept.metadata = _raw(metadata.model_dump_json(exclude_none=True))
            await self._storage.save()


def stored_login(server: str, settings: UpstreamSettings, path: Path, kept: Kept) -> Login:
    """Signs with kept tokens and refreshes them; raises `LoginNeeded` from a request when that no longer works."""

    async def nobody(_: str) -> None:
        raise LoginNeeded(f"the login at {server} is no longer good; log in with `mms login {server}`")

    async def never() -> AuthorizationCodeResult:
        raise LoginNeeded(f"log in with `mms login {server}`")

    return _login(settings, _Storage(path, kept), UNUSED_REDIRECT, nobody, never)


def new_login(settings: UpstreamSettings, path: Path, redirect_uri: str, show: OnRedirect, wait: OnCallback) -> Login:
    """Logs in with the first request: registers, shows the authorization address, waits for the code."""
    return _login(settings, _Storage(path, Kept(url=settings.url)), redirect_uri, show, wait)


def _login(
    settings: UpstreamSettings, storage: _Storage, redirect_uri: str, show: OnRedirect, wait: OnCallback
) -> Login:
    metadata = OAuthClientMetadata(
        client_name="memtomem-bus",
        redirect_uris=[AnyUrl(redirect_uri)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106 (a public client; no secret)
    )
    provider = OAuthClientProvider(settings.url, metadata, storage, show, wait)
    kept = storage.kept
    provider.context.token_expiry_time = kept.expires_at or None  # the SDK forgets it when it loads tokens
    if kept.metadata is not UNSET:
        with contextlib.suppress(ValidationError):
            provider.context.oauth_metadata = OAuthMetadata.model_validate_json(bytes(kept.metadata))
    return Login(provider, storage)


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())
