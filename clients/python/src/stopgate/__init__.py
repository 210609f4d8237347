"""stopgate: may a coding agent stop? A client of its service, over NATS.

from stopgate import StopgateClient

async with await StopgateClient.connect() as client:
    decision = await client.decide("w1", output="I am done")
"""

from .attempt import AttemptFields
from .checkers import (
    CompositeChecker,
    FileExistsChecker,
    FileSystem,
    PlanBasedChecker,
    Session,
    TaskCompletionChecker,
    TaskCompletionContext,
    Validator,
    composite_validator,
    todo_validator,
)
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
    TaskCompletionResult,
    ValidationResult,
)
from .client import StopgateClient, WorkerHandle
from .decision import (
    Count,
    Decision,
    Feedback,
    HookResult,
    Idle,
    IncompleteError,
    PolicyUsed,
    TaskVerification,
    Verdict,
    Verification,
)
from .entries import HookForm, RuleReport, Step, Stored, When
from .errors import (
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
    "CompositeChecker",
    "Count",
    "Decision",
    "EscalationFilter",
    "Feedback",
    "FileExistsChecker",
    "FileSystem",
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
    "PlanBasedChecker",
    "PlanStep",
    "PolicyUsed",
    "QueueView",
    "Refused",
    "RefusedError",
    "RuleReport",
    "RuleResult",
    "ServedCheck",
    "Session",
    "Step",
    "StopHookResult",
    "StopgateClient",
    "StopgateError",
    "Stored",
    "TaskCompletionChecker",
    "TaskCompletionContext",
    "TaskCompletionResult",
    "TaskVerification",
    "TaskView",
    "TurnFields",
    "TurnsExhaustedError",
    "UnavailableError",
    "UnreachableError",
    "ValidationResult",
    "Validator",
    "Verdict",
    "Verification",
    "When",
    "WorkerHandle",
    "WorkerView",
    "composite_validator",
    "todo_validator",
]
