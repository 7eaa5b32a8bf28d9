"""Context windows of known models, and what follows from a window."""

from __future__ import annotations

from typing import NamedTuple

SMALL_WINDOW = 32_768
LARGE_WINDOW = 200_000

# Longest matching prefix wins. Windows in tokens, as published by the makers.
WINDOWS: dict[str, int] = {
    "claude-": 200_000,
    "claude-opus-4": 200_000,
    "claude-sonnet-4": 200_000,
    "claude-haiku-4": 200_000,
    "claude-2.0": 100_000,
    "claude-instant": 100_000,
    "gpt-3.5": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-0125": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_048_576,
    "gpt-4.5": 128_000,
    "gpt-5": 400_000,
    "gpt-oss": 131_072,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4": 200_000,
    "codex-mini": 200_000,
    "gemini-1.0": 32_768,
    "gemini-1.5-flash": 1_048_576,
    "gemini-1.5-pro": 2_097_152,
    "gemini-2": 1_048_576,
    "gemini-3": 1_048_576,
    "gemma-2": 8_192,
    "gemma-3": 131_072,
    "llama-2": 4_096,
    "llama-3": 8_192,
    "llama-3.1": 131_072,
    "llama-3.2": 131_072,
    "llama-3.3": 131_072,
    "llama-4": 1_048_576,
    "mistral-large": 131_072,
    "mistral-medium": 131_072,
    "mistral-small": 32_768,
    "codestral": 262_144,
    "qwen2.5": 131_072,
    "qwen3": 131_072,
    "qwen3-coder": 262_144,
    "deepseek": 131_072,
    "kimi-k2": 262_144,
    "grok-3": 131_072,
    "grok-4": 262_144,
    "glm-4": 131_072,
    "command-r": 131_072,
}


class Budget(NamedTuple):
    """What a reader with a given window gets by default.

    Attributes:
        max_chars / max_tokens: ceilings of one response, code points and estimated tokens.
        max_injection_chars / max_results: ceilings of one memory block.
    """

    max_chars: int
    max_tokens: int
    max_injection_chars: int
    max_results: int


SMALL = Budget(5_600, 1_600, 1_500, 2)
MEDIUM = Budget(16_000, 4_000, 3_000, 3)
LARGE = Budget(48_000, 12_000, 6_000, 5)


def context_window(model: str) -> int | None:
    """The context window in tokens of a model named as its maker or a router names it; `None` when unknown.

    `anthropic/claude-sonnet-4-5`, `us.anthropic.claude-…` and `models/gemini-2.5-pro` mean what follows the vendor.
    """
    name = model.strip().lower().rpartition("/")[2]
    name = name.rpartition("anthropic.")[2]
    known = max((prefix for prefix in WINDOWS if name.startswith(prefix)), key=len, default=None)
    return WINDOWS[known] if known else None


def budget_for(model: str) -> Budget:
    """The defaults for a consumer model; those of the middle class when it is empty or unknown."""
    window = context_window(model)
    if window is None or SMALL_WINDOW < window <= LARGE_WINDOW:
        return MEDIUM
    return SMALL if window <= SMALL_WINDOW else LARGE
