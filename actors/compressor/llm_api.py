"""The three APIs that can write a summary: what is sent, and how their replies are read. Pure.

OpenAI's Chat Completions (which many local servers speak too), Anthropic's Messages, Ollama's chat.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from config.llm import HOMES, Endpoint

LONGEST_CHARS = 100_000
"""No budget has room for a longer summary, so it is not kept either."""
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_CUT_OFF = ("length", "max_tokens")
_DECLINED = ("content_filter", "refusal")
_OLLAMA_STEP = 1_024
_OPENAI = urlsplit(HOMES["openai"]).hostname


class NoSummary(Exception):
    """Why there is no summary.

    Args:
        reason: a word or two for the strategy's path; from a small set.
        detail: the rest of it for logs; without keys, without anything of the text or the reply.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail or reason


def body(where: Endpoint, system: str, user: str, max_tokens: int, input_tokens: int) -> bytes:
    """The JSON of one request.

    Args:
        input_tokens: estimate of what is sent; Ollama is told how large a window that needs.
    """
    asked: dict[str, Any] = {"role": "user", "content": user}
    instructed = [{"role": "system", "content": system}, asked]
    document: dict[str, Any] = {"model": where.model}
    if where.provider == "anthropic":
        document |= {"max_tokens": max_tokens, "system": system, "messages": [asked]}
    elif where.provider == "ollama":
        window = -(-(input_tokens + max_tokens) // _OLLAMA_STEP) * _OLLAMA_STEP
        options = {"num_predict": max_tokens, "num_ctx": window, "temperature": 0}
        # Thoughts would use up the tokens of the summary; models that have none take no notice.
        document |= {"stream": False, "think": False, "messages": instructed, "options": options}
    else:
        # The newer models of OpenAI refuse `max_tokens`; servers that imitate its API often know nothing else.
        limit = "max_completion_tokens" if where.host == _OPENAI else "max_tokens"
        document |= {limit: max_tokens, "messages": instructed}
    return msgspec.json.encode(document)


class _OpenAiMessage(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _OpenAiChoice(msgspec.Struct):
    message: _OpenAiMessage
    finish_reason: str | None = None


class _OpenAiReply(msgspec.Struct):
    choices: list[_OpenAiChoice]


class _AnthropicBlock(msgspec.Struct):
    type: str
    text: str = ""


class _AnthropicReply(msgspec.Struct):
    content: list[_AnthropicBlock]
    stop_reason: str | None = None


class _OllamaMessage(msgspec.Struct):
    content: str


class _OllamaReply(msgspec.Struct):
    message: _OllamaMessage
    done: bool
    done_reason: str = ""


def answer(provider: str, data: bytes) -> str:
    """The summary in a reply of status 200.

    Raises:
        NoSummary: it is no reply of this API, it is empty, the model declined, or it was cut off at its token limit.
    """
    try:
        text, ending = _read(provider, data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NoSummary("malformed", f"the reply is none of the {provider} API") from None
    if ending in _DECLINED:
        raise NoSummary("declined", "the model declined to summarise the text")
    text = _THOUGHTS.sub("", text).strip()
    if ending in _CUT_OFF:
        raise NoSummary("over-long", "the summary did not end within llm.max_tokens")
    if not text:
        raise NoSummary("empty", "the summary is empty")
    if len(text) > LONGEST_CHARS:
        raise NoSummary("over-long", f"the summary has {len(text)} characters")
    return text


def _read(provider: str, data: bytes) -> tuple[str, str]:
    """The text of a reply, and why it ended there."""
    if provider == "anthropic":
        message = msgspec.json.decode(data, type=_AnthropicReply)
        text = "".join(block.text for block in message.content if block.type == "text")
        return text, message.stop_reason or ""
    if provider == "ollama":
        chat = msgspec.json.decode(data, type=_OllamaReply)
        if not chat.done:
            raise msgspec.ValidationError("unfinished")
        return chat.message.content, chat.done_reason
    completion = msgspec.json.decode(data, type=_OpenAiReply)
    if not completion.choices:
        raise msgspec.ValidationError("no choice")
    choice = completion.choices[0]
    return choice.message.content or "", "refusal" if choice.message.refusal else choice.finish_reason or ""
