"""Identity hashing: the one place that turns content into an id.

An id is a UUID made of the first 128 bits of ``sha256(kind + ":" + canonical text)``. For bulk rows the same is done
by the SQL macro ``content_id`` (``sql/macros/content_id.sql``); a test holds both to the same results.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any


def content_id(kind: str, content: str | Mapping[str, Any] | Sequence[Any]) -> str:
    """Return the id of some content.

    Args:
        kind: what it is ("problem", "protocol", "job", ...); part of what is hashed.
        content: canonical text as it is, or a mapping or list whose canonical JSON is taken.

    Returns:
        UUID in its usual text form.
    """
    text = content if isinstance(content, str) else canonical_json(content)
    digest = hashlib.sha256(f"{kind}:{text}".encode()).hexdigest()
    return str(uuid.UUID(digest[:32]))


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no blanks; types are taken as they are.

    Raises:
        ValueError: for NaN and infinity, which have no JSON form.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def normalise(value: Any) -> Any:
    """Fold spellings of the same value, for mappings whose types no schema fixes (solution parameters).

    ``true``, ``"true"``, ``1.0`` and ``"1"`` all become ``1``; ``"2.50"`` becomes ``2.5``; other text stays. Lists and
    mappings are folded element by element.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value) and value == int(value):
            return int(value)
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _normalise_text(value)
    if isinstance(value, Mapping):
        return {str(key): normalise(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [normalise(item) for item in value]
    return value


def _normalise_text(text: str) -> Any:
    lowered = text.lower()
    if lowered in ("true", "yes"):
        return 1
    if lowered in ("false", "no"):
        return 0
    body = text[1:] if text[:1] in "+-" else text
    # Digits with a leading zero are codes, not numbers ("007"), apart from zero itself.
    if body.isascii() and body.isdigit() and (body == "0" or body[0] != "0"):
        return int(text)
    head, dot, tail = body.partition(".")
    if dot and head.isascii() and head.isdigit() and tail.isascii() and tail.isdigit():
        return normalise(float(text))
    return text
