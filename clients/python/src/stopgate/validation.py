"""Validates an entry before it is sent, with the part of JSON Schema that the schemas of entries use."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .errors import InputError, Issue

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMAS: Mapping[str, Mapping[str, Any]] = json.loads(files(__package__).joinpath("entries.json").read_bytes())
"""Schemas by entity and type, as generate_entries.py writes them. `hook` is the target of $ref."""
_ISSUES_MAX = 20
_SHOWN_MAX = 40
_TYPES: Mapping[str, tuple[str, type | tuple[type, ...]]] = {
    "string": ("a str", str),
    "boolean": ("a bool", bool),
    "integer": ("an int", int),
    "number": ("a number", (int, float)),
    "array": ("a list", (list, tuple)),
    "object": ("a dict", Mapping),
}


def check_entry(entity: str, kind: str, data: object) -> None:
    """Raises `InputError` with the name of each missing or invalid field. Unknown fields are not an error."""
    schema = _SCHEMAS.get(f"{entity} {kind}")
    if schema is None:
        kinds = ", ".join(sorted(name.partition(" ")[2] for name in _SCHEMAS if name.startswith(f"{entity} ")))
        if not kinds:
            raise InputError("input.bad", f"there are no entries about a {entity}: use worker, task or queue")
        raise InputError("input.bad", f"'{kind}' is not an entry about a {entity}; there are: {kinds}")
    check_fields(f"valid {kind}", schema, data)


def check_attempt(body: object) -> None:
    """Validates the fields of an attempt."""
    check_fields("stop attempt", _SCHEMAS["worker stop.attempted"], body)


def check_fields(what: str, schema: Mapping[str, Any], value: object) -> None:
    """Raises `InputError` if the value does not match the schema."""
    issues = [issue for _, issue in zip(range(_ISSUES_MAX), _find_issues(schema, value, ""), strict=False)]
    if issues:
        words = "; ".join(f"{issue.path} {issue.message}".lstrip() for issue in issues)
        raise InputError("input.bad", f"this is not a {what}: {words}", issues=issues)


def _find_issues(schema: Mapping[str, Any], value: object, path: str) -> Iterator[Issue]:
    if "$ref" in schema:
        schema = _SCHEMAS["hook"]
    message = _type_problem(schema, value) or _value_problem(schema, value)
    if message is not None:
        yield Issue(path, message)
    elif isinstance(value, Mapping):
        prefix = f"{path}." if path else ""
        for name in schema.get("required", ()):
            if name not in value:
                yield Issue(f"{prefix}{name}", "is missing")
        properties = schema.get("properties", {})
        for name, each in value.items():
            fields = properties.get(name, schema.get("additionalProperties", {}))
            yield from _find_issues(fields, each, f"{prefix}{name}")
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            yield from _find_issues(schema.get("items", {}), each, f"{path}.{index}")


def _type_problem(schema: Mapping[str, Any], value: object) -> str | None:
    given = schema.get("type", [])
    names: list[str] = given if isinstance(given, list) else [given]
    if not names or any(_is_of(name, value) for name in names):
        return None
    return f"must be {' or '.join(_TYPES[name][0] for name in names)}, not {_shown(value)}"


def _is_of(name: str, value: object) -> bool:
    if name == "integer" and isinstance(value, float):
        return value.is_integer()  # 1500.0 is an integer in JSON
    return isinstance(value, _TYPES[name][1]) and (not isinstance(value, bool) or name == "boolean")


def _value_problem(schema: Mapping[str, Any], value: object) -> str | None:
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(schema['enum'])}, not {_shown(value)}"
    if isinstance(value, str) and "pattern" in schema and re.fullmatch(schema["pattern"], value) is None:
        return f"must match {schema['pattern']}, not {_shown(value)}"
    if isinstance(value, (str, list, tuple)):
        unit = "Length" if isinstance(value, str) else "Items"
        return _bound_problem(schema.get(f"min{unit}"), schema.get(f"max{unit}"), _length(value), unit)
    if isinstance(value, (int, float)):
        above = schema.get("exclusiveMinimum")
        if above is not None and value <= above:
            return f"must be more than {above}, not {value}"
        return _bound_problem(schema.get("minimum"), schema.get("maximum"), value, "")
    return None


def _length(value: str | list[Any] | tuple[Any, ...]) -> int:
    """Length as the service counts it: a string in UTF-16 code units."""
    return len(value.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(value, str) else len(value)


def _bound_problem(least: float | None, most: float | None, value: float, unit: str) -> str | None:
    have, units = {"Length": ("have", " characters"), "Items": ("have", " items")}.get(unit, ("be", ""))
    if least == 1 and value == 0 and units:
        return "must not be empty"
    if least is not None and value < least:
        return f"must {have} at least {least}{units}, not {value}"
    if most is not None and value > most:
        return f"must {have} at most {most}{units}, not {value}"
    return None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
