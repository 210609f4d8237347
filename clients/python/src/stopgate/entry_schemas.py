"""The schema of every entry that a client publishes, by entity and type.

Written by generate_entries.py from the service's own schema; do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# What $ref means.
HOOK: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "type": {
            "type": "string",
            "enum": ["default", "validation", "promise", "remote", "all", "any", "tdd", "security", "checkpoint"],
        },
        "of": {"minItems": 1, "type": "array", "items": {"$ref": "#/$defs/hook"}},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
        "when": {
            "type": "object",
            "properties": {
                "iterationAtLeast": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
                "phase": {"type": "string"},
                "filesMatch": {"type": "string", "minLength": 1, "maxLength": 256},
                "filesModified": {"type": "boolean"},
                "label": {"type": "string", "minLength": 1},
            },
        },
        "onError": {"type": "string", "enum": ["escalate", "skip"]},
        "metadata": {"type": "object"},
    },
    "required": ["type"],
}

ENTRIES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("worker", "worker.registered"): {
        "type": "object",
        "properties": {
            "agent": {"type": "string", "minLength": 1},
            "profile": {"type": "string", "minLength": 1},
            "policy": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "queue": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "parent": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "cwd": {"type": "string", "minLength": 1},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    ("worker", "heartbeat.sent"): {"type": "object"},
    ("worker", "prompt.submitted"): {"type": "object", "properties": {"text": {"type": "string"}}},
    ("worker", "tool.started"): {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "minLength": 1, "maxLength": 1024},
            "call": {"type": "string", "maxLength": 1024},
        },
        "required": ["tool"],
    },
    ("worker", "tool.used"): {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "minLength": 1},
            "ok": {"type": "boolean"},
            "files": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 1024},
                "maxItems": 5000,
            },
            "call": {"type": "string"},
        },
        "required": ["tool"],
    },
    ("worker", "plan.updated"): {
        "type": "object",
        "properties": {
            "steps": {
                "maxItems": 500,
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "maxLength": 2000},
                        "status": {"type": "string"},
                        "step": {
                            "type": "string",
                            "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\\/[A-Za-z0-9][A-Za-z0-9_-]{0,127})?$",
                        },
                    },
                    "required": ["title", "status"],
                },
            }
        },
        "required": ["steps"],
    },
    ("worker", "step.updated"): {
        "type": "object",
        "properties": {
            "step": {
                "type": "string",
                "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\\/[A-Za-z0-9][A-Za-z0-9_-]{0,127})?$",
            },
            "title": {"type": "string", "maxLength": 2000},
            "status": {"type": "string"},
        },
        "required": ["step"],
    },
    ("worker", "task.claimed"): {
        "type": "object",
        "properties": {
            "task": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "request": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
        },
        "required": ["task"],
    },
    ("worker", "task.completed"): {
        "type": "object",
        "properties": {"task": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"}, "result": {}},
        "required": ["task"],
    },
    ("worker", "task.failed"): {
        "type": "object",
        "properties": {
            "task": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "reason": {"type": "string", "maxLength": 2000},
        },
        "required": ["task"],
    },
    ("worker", "task.released"): {
        "type": "object",
        "properties": {"task": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"}},
        "required": ["task"],
    },
    ("worker", "background.started"): {
        "type": "object",
        "properties": {"id": {"type": "string", "minLength": 1, "maxLength": 1024}, "kind": {"type": "string"}},
        "required": ["id"],
    },
    ("worker", "background.finished"): {
        "type": "object",
        "properties": {"id": {"type": "string", "minLength": 1, "maxLength": 1024}, "kind": {"type": "string"}},
        "required": ["id"],
    },
    ("worker", "input.requested"): {
        "type": "object",
        "properties": {
            "kind": {"type": "string"},
            "message": {"type": "string"},
            "request": {"type": "string", "minLength": 1, "maxLength": 128},
            "tool": {"type": "string"},
            "detail": {},
        },
    },
    ("worker", "input.received"): {
        "type": "object",
        "properties": {
            "kind": {"type": "string"},
            "message": {"type": "string"},
            "request": {"type": "string", "minLength": 1, "maxLength": 128},
            "tool": {"type": "string"},
            "detail": {},
        },
    },
    ("worker", "limit.reached"): {
        "type": "object",
        "properties": {"scope": {"type": "string", "minLength": 1}, "until": {"type": "string"}},
    },
    ("worker", "limit.cleared"): {
        "type": "object",
        "properties": {"scope": {"type": "string", "minLength": 1}, "until": {"type": "string"}},
    },
    ("worker", "budget.exhausted"): {"type": "object", "properties": {"kind": {"type": "string"}}},
    ("worker", "usage.reported"): {
        "type": "object",
        "properties": {
            "input": {"type": "number", "minimum": 0},
            "output": {"type": "number", "minimum": 0},
            "cacheRead": {"type": "number", "minimum": 0},
            "cacheWrite": {"type": "number", "minimum": 0},
            "usd": {"type": "number", "minimum": 0},
            "model": {"type": "string", "minLength": 1, "maxLength": 1024},
        },
    },
    ("worker", "stop.attempted"): {
        "type": "object",
        "properties": {
            "attempt": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "stopReason": {"type": "string"},
            "output": {"type": "string"},
            "toolCount": {"type": "integer", "minimum": 0, "maximum": 9007199254740991},
            "files": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 1024},
                "maxItems": 5000,
            },
            "validation": {
                "maxItems": 256,
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "rule": {"type": "string", "minLength": 1, "maxLength": 128},
                        "passed": {"type": "boolean"},
                        "message": {"type": "string"},
                    },
                    "required": ["rule", "passed"],
                },
            },
            "promises": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["COMPLETE", "BLOCKED", "ESCALATE"]},
                        "detected": {"type": "boolean"},
                        "content": {"type": "string"},
                    },
                    "required": ["type", "detected", "content"],
                },
            },
            "draft": {"type": "object", "properties": {"content": {"type": "string"}, "type": {"type": "string"}}},
            "holdMs": {"type": "integer", "minimum": 0, "maximum": 3155760000000},
        },
    },
    ("worker", "session.ended"): {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 2000}}},
    ("task", "task.created"): {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 2000},
            "queue": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "plan": {
                "maxItems": 500,
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "title": {"type": "string", "maxLength": 2000},
                        "status": {"type": "string"},
                        "step": {
                            "type": "string",
                            "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\\/[A-Za-z0-9][A-Za-z0-9_-]{0,127})?$",
                        },
                    },
                    "required": ["title", "status"],
                },
            },
            "policy": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "after": {
                "maxItems": 1000,
                "type": "array",
                "items": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            },
            "priority": {"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
        },
    },
    ("task", "task.cancelled"): {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 2000}}},
    ("task", "hook.registered"): {
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "enum": ["default", "validation", "promise", "remote", "all", "any", "tdd", "security", "checkpoint"],
            },
            "of": {"minItems": 1, "type": "array", "items": {"$ref": "#/$defs/hook"}},
            "name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "when": {
                "type": "object",
                "properties": {
                    "iterationAtLeast": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
                    "phase": {"type": "string"},
                    "filesMatch": {"type": "string", "minLength": 1, "maxLength": 256},
                    "filesModified": {"type": "boolean"},
                    "label": {"type": "string", "minLength": 1},
                },
            },
            "onError": {"type": "string", "enum": ["escalate", "skip"]},
            "metadata": {"type": "object"},
            "hook": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "enabled": {"type": "boolean"},
        },
        "required": ["type"],
    },
    ("task", "hook.enabled"): {
        "type": "object",
        "properties": {"hook": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"}},
        "required": ["hook"],
    },
    ("task", "hook.disabled"): {
        "type": "object",
        "properties": {"hook": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"}},
        "required": ["hook"],
    },
    ("task", "hook.unregistered"): {
        "type": "object",
        "properties": {"hook": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"}},
        "required": ["hook"],
    },
    ("task", "hooks.cleared"): {"type": "object"},
    ("task", "iteration.started"): {
        "type": "object",
        "properties": {
            "iteration": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
            "maxIterations": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
            "completionPromises": {
                "type": "array",
                "items": {"type": "string", "enum": ["COMPLETE", "BLOCKED", "ESCALATE"]},
            },
            "rules": {"maxItems": 256, "type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 128}},
            "breakers": {
                "type": "object",
                "properties": {"failures": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991}},
            },
        },
        "required": ["iteration", "maxIterations"],
    },
    ("task", "iteration.validated"): {
        "type": "object",
        "properties": {
            "attempt": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "stopReason": {"type": "string"},
            "output": {"type": "string"},
            "toolCount": {"type": "integer", "minimum": 0, "maximum": 9007199254740991},
            "files": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 1024},
                "maxItems": 5000,
            },
            "validation": {
                "maxItems": 256,
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "rule": {"type": "string", "minLength": 1, "maxLength": 128},
                        "passed": {"type": "boolean"},
                        "message": {"type": "string"},
                    },
                    "required": ["rule", "passed"],
                },
            },
            "promises": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string", "enum": ["COMPLETE", "BLOCKED", "ESCALATE"]},
                        "detected": {"type": "boolean"},
                        "content": {"type": "string"},
                    },
                    "required": ["type", "detected", "content"],
                },
            },
            "draft": {"type": "object", "properties": {"content": {"type": "string"}, "type": {"type": "string"}}},
            "holdMs": {"type": "integer", "minimum": 0, "maximum": 3155760000000},
            "iteration": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
        },
        "required": ["iteration"],
    },
    ("task", "iteration.advanced"): {"type": "object"},
    ("task", "iteration.completed"): {
        "type": "object",
        "properties": {
            "iteration": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
            "promise": {"type": "string", "enum": ["COMPLETE", "BLOCKED", "ESCALATE"]},
        },
        "required": ["iteration", "promise"],
    },
    ("task", "checkpoint.saved"): {
        "type": "object",
        "properties": {
            "checkpoint": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$"},
            "phase": {"type": "string"},
            "step": {"type": ["string", "number"]},
            "context": {},
        },
        "required": ["checkpoint"],
    },
    ("queue", "depth.reported"): {
        "type": "object",
        "properties": {"pending": {"type": "integer", "minimum": 0, "maximum": 9007199254740991}},
        "required": ["pending"],
    },
    ("own.worker", "escalation.acknowledged"): {
        "type": "object",
        "properties": {"by": {"type": "string", "minLength": 1}},
        "required": ["by"],
    },
    ("own.worker", "escalation.resolved"): {
        "type": "object",
        "properties": {
            "by": {"type": "string", "minLength": 1},
            "verdict": {"type": "string", "enum": ["resume", "stop"]},
            "prompt": {"type": "string"},
        },
        "required": ["by", "verdict"],
    },
    ("own.worker", "input.answered"): {
        "type": "object",
        "properties": {
            "by": {"type": "string", "minLength": 1},
            "request": {"type": "string", "minLength": 1, "maxLength": 128},
            "verdict": {"type": "string", "enum": ["allow", "deny"]},
            "message": {"type": "string"},
        },
        "required": ["by", "request", "verdict"],
    },
    ("own.worker", "worker.retired"): {
        "type": "object",
        "properties": {"by": {"type": "string", "minLength": 1}},
        "required": ["by"],
    },
    ("own.task", "escalation.acknowledged"): {
        "type": "object",
        "properties": {"by": {"type": "string", "minLength": 1}},
        "required": ["by"],
    },
    ("own.task", "escalation.resolved"): {
        "type": "object",
        "properties": {
            "by": {"type": "string", "minLength": 1},
            "verdict": {"type": "string", "enum": ["resume", "stop"]},
            "prompt": {"type": "string"},
        },
        "required": ["by", "verdict"],
    },
    ("own.queue", "escalation.acknowledged"): {
        "type": "object",
        "properties": {"by": {"type": "string", "minLength": 1}},
        "required": ["by"],
    },
}
