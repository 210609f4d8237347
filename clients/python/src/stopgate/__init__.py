"""stopgate: may a coding agent stop? A client of its service, over NATS.

from stopgate import StopgateClient

async with await StopgateClient.connect() as client:
    decision = await client.decide("w1", output="I am done")
"""

from .attempt import AttemptFields
from .checks import (
    AgentContext,
    CheckFunction,
    CheckReply,
    CompletionPromise,
    PendingResult,
    PlanStep,
    RuleResult,
    ServedCheck,
    StopHookResult,
    ValidationResult,
)
from .client import StopgateClient, WorkerHandle
from .decision import Count, Decision, Feedback, HookResult, Idle, PolicyUsed, TaskVerification, Verdict, Verification
from .entries import HookForm, RuleReport, Step, Stored, When
from .errors import (
    IncompleteError,
    InputError,
    Issue,
    NotFoundError,
    RefusedError,
    StopgateError,
    UnavailableError,
    UnreachableError,
)
from .hooks import HookState, HookType
from .loop import TurnFields, TurnsExhaustedError
from .views import EscalationFilter, HookView, ListFilter, Page, PersonWait, QueueView, Refused, TaskView, WorkerView

__all__ = [
    "AgentContext",
    "AttemptFields",
    "CheckFunction",
    "CheckReply",
    "CompletionPromise",
    "Count",
    "Decision",
    "EscalationFilter",
    "Feedback",
    "HookForm",
    "HookResult",
    "HookState",
    "HookType",
    "HookView",
    "Idle",
    "IncompleteError",
    "InputError",
    "Issue",
    "ListFilter",
    "NotFoundError",
    "Page",
    "PendingResult",
    "PersonWait",
    "PlanStep",
    "PolicyUsed",
    "QueueView",
    "Refused",
    "RefusedError",
    "RuleReport",
    "RuleResult",
    "ServedCheck",
    "Step",
    "StopHookResult",
    "StopgateClient",
    "StopgateError",
    "Stored",
    "TaskVerification",
    "TaskView",
    "TurnFields",
    "TurnsExhaustedError",
    "UnavailableError",
    "UnreachableError",
    "ValidationResult",
    "Verdict",
    "Verification",
    "When",
    "WorkerHandle",
    "WorkerView",
]
