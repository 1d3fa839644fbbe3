"""The studio: a local web application around Annotations and Result; it has no logic of its own."""

from __future__ import annotations

__all__: list[str] = []
