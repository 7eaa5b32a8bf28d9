"""Two ceilings, characters and tokens, and what a text costs against them."""

from __future__ import annotations

from dataclasses import dataclass

from config.tokens import cost


@dataclass(frozen=True)
class Budget:
    """A ceiling in characters (code points) and in estimated tokens; both hold."""

    chars: float
    tokens: float

    def fits(self, text: str) -> bool:
        return len(text) <= self.chars and cost(text) <= self.tokens

    def minus(self, text: str) -> Budget:
        """What is left beside `text`, never below nothing."""
        return Budget(max(0, self.chars - len(text)), max(0.0, self.tokens - cost(text)))

    def scaled(self, share: float) -> Budget:
        return Budget(self.chars * share, self.tokens * share)

    def capped(self, other: Budget) -> Budget:
        """The tighter ceiling of the two, each way."""
        return Budget(min(self.chars, other.chars), min(self.tokens, other.tokens))

    @classmethod
    def of(cls, text: str) -> Budget:
        """Exactly what `text` takes."""
        return cls(len(text), cost(text))
