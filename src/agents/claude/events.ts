/** The events of Claude Code that stopgate has hooks for. The Agent SDK has the same. */
import {
  checkedEvents,
  checkSeconds,
  type HookEvent,
  stopEvents,
  stopSeconds,
  storedEvents,
} from '../setup/hook-events.ts';
import { type Form, isPosted } from '../setup/line.ts';

export function listEvents(form: Form): HookEvent[] {
  return [
    // Claude Code never posts SessionStart over HTTP.
    ...storedEvents(...(isPosted(form, { isStop: false }) ? [] : ['SessionStart']), 'UserPromptSubmit'),
    // Asks before structured output is accepted. For other tools, the hook command gives up much earlier.
    { name: 'PreToolUse', isStop: false, seconds: form === 'command' ? stopSeconds : checkSeconds },
    // May be held for an operator's answer (`ask`).
    { name: 'PermissionRequest', isStop: false, seconds: stopSeconds },
    ...storedEvents('PostToolUse', 'PostToolUseFailure'),
    ...checkedEvents('PostToolBatch'),
    ...storedEvents('StopFailure'),
    ...stopEvents('TaskCompleted', 'SubagentStop', 'Stop'),
    ...storedEvents('SubagentStart', 'SessionEnd'),
  ];
}
