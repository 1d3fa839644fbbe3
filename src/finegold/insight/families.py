"""Find LLM judges whose names belong to one family, such as gpt-4o and openai/gpt-4o-mini.

Models of one family are trained on similar text and can make the same errors. Similar names are only a reason to test
for correlation; the votes decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["families"]

MODELS = {
    *("claude", "command", "deepseek", "falcon", "gemini", "gemma", "glm", "gpt", "grok", "jamba", "kimi", "llama"),
    *("mistral", "mixtral", "nova", "o", "phi", "prometheus", "qwen", "vicuna", "yi"),
}
# Other names count as models if they contain a size or a variant: acme-7b, acme-instruct.
SIZES_AND_VARIANTS = re.compile(
    r"(?<![a-z0-9])(\d+(\.\d+)?b|chat|instruct|large|mini|nano|preview|small|turbo)(?![a-z0-9])"
)
STEM = re.compile(r"(?:chat)?([a-z]+)")


def families(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of the members of each family with two or more members.

    >>> families(["gpt-4o", "openai/gpt-4o-mini", "claude-3-haiku", "worker-1", "worker-2"])
    {'gpt': [0, 1]}
    """
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        if stem := _stem(name):
            found.setdefault(stem, []).append(place)
    return {stem: places for stem, places in found.items() if len(places) > 1}


def _stem(name: str) -> str | None:
    """Return the first letters of a model's name, without its provider; None if it does not look like a model."""
    model = re.split(r"[/:]", name.strip().lower().removesuffix(":latest"))[-1]
    begins = STEM.match(model)
    return begins[1] if begins and (begins[1] in MODELS or SIZES_AND_VARIANTS.search(model)) else None
