"""Reads JSON that may come from another version, or from something other than stopgate."""

from __future__ import annotations

from typing import Any, TypeVar

from .errors import UnreachableError

T = TypeVar("T")


class Fields:
    """Reads fields of an object. A missing field, or one of another type, raises `UnreachableError` with its name."""

    def __init__(self, what: str, value: object) -> None:
        self.what = what
        if not isinstance(value, dict):
            raise UnreachableError("service.unreachable", f"the reply is not a {what}: expected an object")
        self.raw: dict[str, Any] = value

    def take(self, key: str, kind: type[T]) -> T:
        """A required value."""
        value = self.raw.get(key)
        # JSON does not distinguish int from float, and in Python a bool is an int.
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return value  # type: ignore[return-value]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UnreachableError(
                "service.unreachable", f"the reply is not a {self.what}: {key}: expected {kind.__name__}"
            )
        return value

    def maybe(self, key: str, kind: type[T]) -> T | None:
        """A value that may be null or missing."""
        return None if self.raw.get(key) is None else self.take(key, kind)

    def choice(self, key: str, known: tuple[str, ...]) -> str:
        """One of these strings. An unknown word is not an answer."""
        value = self.take(key, str)
        if value not in known:
            expected = " or ".join(known)
            raise UnreachableError("service.unreachable", f"the reply is not a {self.what}: {key}: expected {expected}")
        return value

    def inner(self, key: str) -> Fields:
        """A nested object."""
        return Fields(f"{self.what} ({key})", self.raw.get(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.take(key, list)
        if not all(isinstance(value, str) for value in values):
            raise UnreachableError("service.unreachable", f"the reply is not a {self.what}: {key}: expected strings")
        return tuple(values)

    def each(self, key: str) -> list[Fields]:
        """A list of nested objects."""
        return [Fields(f"{self.what} ({key})", item) for item in self.take(key, list)]
