"""Writes entries.py and entries.json from the schema of the log's entries, which `npm run build` creates.

With `--check`, it writes nothing and fails if a file is out of date.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCHEMA = HERE.parent.parent / "dist/schema/entries.schema.json"
TYPES = HERE / "src/stopgate/entries.py"
SCHEMAS = HERE / "src/stopgate/entries.json"
# The operator entries that a client may publish. The service's own entries are not included.
OPERATORS = {
    "escalation.acknowledged",
    "escalation.resolved",
    "input.answered",
    "worker.paused",
    "worker.retired",
    "worker.unpaused",
}
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
# Objects that several entries share.
NAMED = {"steps": "Step", "plan": "Step", "validation": "RuleReport", "promises": "PromiseReport"}

HEADER = '''"""The entries of the log: the fields of every entry that a client publishes (docs/protocol.md §3).

Written by generate_entries.py from the service's own schema; do not edit.
"""

# ruff: noqa: D101, E501

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

'''

# Keywords that validation.py supports. The generator fails for others, so that none is silently ignored.
KNOWN = {"type", "enum", "required", "properties", "items", "additionalProperties", "pattern", "minLength", "maxLength"}
KNOWN |= {"minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "$ref"}
IGNORED = {"description", "propertyNames"}

STORED = '''
@dataclass(frozen=True)
class Stored:
    """`seq` is the sequence in the log; with `duplicate`, that of an earlier entry with this message id."""

    seq: int
    duplicate: bool

'''


class Generator:
    """Collects classes in dependency order."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions
        self.classes: dict[str, str] = {}

    def type_of(self, schema: dict[str, Any], name: str) -> str:
        """Returns the annotation of a value. `name` is the name of its class if it is an object."""
        if "$ref" in schema:
            return self.class_for("HookForm", self.definitions["hook"])
        kind: Any = schema.get("type")
        if "enum" in schema or isinstance(kind, list):
            known = ", ".join(json.dumps(value) for value in schema.get("enum", []))
            return f"Literal[{known}]" if known else " | ".join(SCALARS[name] for name in kind)
        if kind == "array":
            return f"Sequence[{self.type_of(schema['items'], name)}]"
        if kind == "object":
            if "properties" in schema:
                return self.class_for(name, schema)
            values = schema.get("additionalProperties") or {}
            return f"Mapping[str, {SCALARS.get(values.get('type', ''), 'Any')}]"
        return SCALARS.get(str(kind), "Any")

    def class_for(self, name: str, schema: dict[str, Any]) -> str:
        """Adds the class of an object once, after the classes that it uses."""
        if name in self.classes:
            return name
        self.classes[name] = ""  # because it may refer to itself
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        typed = {
            key: self.type_of(
                value, NAMED.get(key, {"when": "When", "draft": "Draft"}.get(key, f"{name}{key.title()}"))
            )
            for key, value in properties.items()
        }
        parts = [{key: typed[key] for key in required}, {k: t for k, t in typed.items() if k not in required}]
        del self.classes[name]
        if all(parts):
            self.add(f"_{name}", "TypedDict", parts[0])
            self.add(name, f"_{name}, total=False", parts[1])
        else:
            self.add(name, "TypedDict" if parts[0] else "TypedDict, total=False", parts[0] or parts[1])
        return name

    def add(self, name: str, base: str, fields: dict[str, str]) -> None:
        """Adds one class."""
        lines = "".join(f"    {key}: {annotation}\n" for key, annotation in fields.items())
        self.classes[name] = f"class {name}({base}):\n{lines or '    pass' + chr(10)}\n"


def class_name(entity: str, kind: str) -> str:
    """Turns `tool.used` into `ToolUsed`. Names of operator entries start with `Operator`."""
    return ("Operator" if entity.startswith("own") else "") + "".join(part.title() for part in kind.split("."))


def overloads(rows: list[tuple[str, str, str, bool]], *, of_worker: bool) -> str:
    """Returns one signature of `publish` for each type of entry."""
    signatures = []
    for entity, kind, name, needs_data in rows:
        address = "" if of_worker else f'entity: Literal["{entity}"], entity_id: str, '
        default = "" if needs_data else " | None = None"
        signatures.append(
            "    @overload\n"
            f'    async def publish(self, {address}kind: Literal["{kind}"], '
            f"data: {name}{default}, *, message_id: str | None = None) -> Stored: ...\n"
        )
    return "    # fmt: off\n" + "".join(signatures) + "    # fmt: on\n"


IMPLEMENTATION = '''
    async def publish(
        self, entity: str, entity_id: str, kind: str, data: Any = None, *, message_id: str | None = None
    ) -> Stored:
        """Stores an entry, and returns when the stream has acknowledged it.

        `data` has the fields of the entry, under their names on the wire. Entries with the same `message_id` within 2
        minutes are stored once. `own.worker`, `own.task` and `own.queue` need an operator's credentials.

        Raises `InputError` if it is not a valid entry, `UnavailableError` if it may not have been stored.
        """
        return await self._store(entity, entity_id, kind, data or {}, message_id)

    @abstractmethod
    async def _store(
        self, entity: str, entity_id: str, kind: str, data: Mapping[str, Any], message_id: str | None
    ) -> Stored: ...
'''

WORKER_IMPLEMENTATION = '''
    async def publish(self, kind: str, data: Any = None, *, message_id: str | None = None) -> Stored:
        """Stores an entry about this worker; see `StopgateClient.publish`."""
        return await self._store(kind, data or {}, message_id)

    @abstractmethod
    async def _store(self, kind: str, data: Mapping[str, Any], message_id: str | None) -> Stored: ...
'''


def lean(schema: Any) -> Any:
    """Returns a schema without keywords that do not restrict values. Fails for an unknown keyword."""
    if not isinstance(schema, dict):
        return schema
    if unknown := schema.keys() - KNOWN - IGNORED:
        raise ValueError(f"validation.py does not know {', '.join(unknown)} of JSON Schema")
    kept = {key: value for key, value in schema.items() if key not in IGNORED and value != {}}
    if "properties" in kept:
        kept["properties"] = {name: lean(each) for name, each in kept["properties"].items()}
    return kept | {key: lean(kept[key]) for key in ("items", "additionalProperties") if key in kept}


def published(definitions: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Returns entity, type and schema of each entry that a client may publish."""
    parts = [(address.split("."), schema) for address, schema in definitions.items()]
    entries = [(".".join(words[:-2]), ".".join(words[-2:]), schema) for words, schema in parts]
    return [
        (entity, kind, schema)
        for entity, kind, schema in entries
        if entity in {"worker", "task", "queue"}
        or (entity in {"own.worker", "own.task", "own.queue"} and kind in OPERATORS)
    ]


def write_schemas(definitions: dict[str, Any]) -> str:
    """Returns entries.json: the definition of $ref, then the schema of each entry, one per line."""
    lines = {"hook": lean(definitions["hook"])}
    lines |= {f"{entity} {kind}": lean(schema) for entity, kind, schema in published(definitions)}
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in lines.items()) + "\n}\n"


def write_types(definitions: dict[str, Any]) -> str:
    """Returns entries.py."""
    generator = Generator(definitions)
    rows: list[tuple[str, str, str, bool]] = []
    for entity, kind, schema in published(definitions):
        name = generator.class_for(class_name(entity, kind), schema)
        rows.append((entity, kind, name, bool(schema.get("required"))))
    return (
        HEADER
        + STORED
        + "\n".join(generator.classes.values())
        + '\nclass EntryPublisher(ABC):\n    """Publishes entries, with typed fields."""\n\n'
        + overloads(rows, of_worker=False)
        + IMPLEMENTATION
        + '\nclass WorkerPublisher(ABC):\n    """Publishes entries about one worker."""\n\n'
        + overloads([row for row in rows if row[0] == "worker"], of_worker=True)
        + WORKER_IMPLEMENTATION
    )


def formatted(text: str, file: Path) -> str:
    """Returns the text as ruff formats it."""
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(file), "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603


if __name__ == "__main__":
    schema = json.loads(SCHEMA.read_text())["$defs"]
    for target, text in ((TYPES, formatted(write_types(schema), TYPES)), (SCHEMAS, write_schemas(schema))):
        if "--check" not in sys.argv:
            target.write_text(text)
        elif target.read_text() != text:
            sys.exit(f"{target} is out of date: run generate_entries.py")
