/**
 * Determines who wrote a prompt. A person's prompt resets counts and budgets, so a machine's prompt must not be taken
 * for one: an agent could then continue, or stop, without limit. The opposite mistake is harmless: the counts stay
 * until the person's next plain prompt.
 *
 * Text without markup is a person's. An empty prompt is the system's, and so is a prompt that consists only of elements
 * whose names neither HTML nor a person's tools use (`<new-kind-of-notice>`).
 */

export type PromptAuthor = 'person' | 'agent' | 'system';

/** Elements that start a message of another agent. More text may follow. */
const agentElements: ReadonlySet<string> = new Set([
  'teammate-message',
  'cross-session-message',
  'agent-message',
  'peer-message',
  'subagent_notification',
  'subagent-notification',
]);
/** Elements that start a prompt of the agent's own program. */
const systemElements: ReadonlySet<string> = new Set([
  'task-notification',
  'task_notification',
  'system-reminder',
  'system_reminder',
  'system-notification',
  'system_notification',
  'channel',
  'channel-message',
  'tick',
  'scheduled-task',
  'hook_prompt',
  'turn_aborted',
  'environment_context',
  'user_instructions',
  'goal_context',
]);
/**
 * Elements with which programs report a person's action: typed text, a chosen command, a shell command, an open file.
 */
const personElements: ReadonlySet<string> = new Set([
  'command-name',
  'command-message',
  'command-args',
  'bash-input',
  'user_query',
  'user-query',
  'user-prompt',
  'user_prompt',
  'user_message',
  'ide_selection',
  'ide_opened_file',
]);
/** Lines that a program puts before the element of another agent's message. */
const preambles: readonly RegExp[] = [/^Another Claude session sent a message[^\n<]{0,60}:\s*(?=<)/];
/** A message between members of a team, without its surrounding element. */
const teamMessage =
  /^\{\s*"type"\s*:\s*"[a-z]+(?:_[a-z]+)*_(?:notification|request|response|approved|rejected|assignment)"/;
/** Beginnings of prompts that programs write in plain words. */
const systemWords: readonly RegExp[] = [
  /^This session is being continued from a previous conversation\b/,
  /^\[SYSTEM NOTIFICATION\b/i,
  /^\[Subagent hand-back\]/,
  /^<<autonomous-loop/,
  /^Your claude\.ai usage limit has reset\b/,
];

/** The elements of longer prompts are not examined. */
const elementsCharsMax = 200_000;
const elementsMax = 50;

/** A missing or empty prompt is the system's. @param scheduled the prompts that the agent scheduled for itself */
export function authorOf(
  prompt: string | undefined,
  { scheduled = [] }: { readonly scheduled?: readonly string[] } = {},
): PromptAuthor {
  const text = (prompt ?? '').trim();
  if (text === '') return 'system';
  const stripped = preambles.reduce((rest, preamble) => rest.replace(preamble, ''), text);
  if (stripped !== text || teamMessage.test(text)) return 'agent';
  const element = firstElement(text);
  if (element !== null) {
    if (agentElements.has(element)) return 'agent';
    if (systemElements.has(element)) return 'system';
    if (isOnlyForeignElements(text)) return 'system';
  }
  if (systemWords.some((words) => words.test(text))) return 'system';
  return scheduled.some((known) => isScheduled(text, known)) ? 'system' : 'person';
}

/** Some programs escape the name with a backslash. */
const firstElement = (text: string): string | null => /^<\\?([A-Za-z][\w-]*)[\s/>]/.exec(text)?.[1] ?? null;

function isOnlyForeignElements(text: string): boolean {
  if (text.length > elementsCharsMax) return false;
  let rest = text;
  for (let count = 0; rest !== ''; count += 1) {
    const name = firstElement(rest);
    if (name === null || count === elementsMax || !/[-_]/.test(name) || personElements.has(name)) return false;
    const opening = rest.indexOf('>');
    if (opening < 0) return false;
    const closing = `</${name}>`;
    const isClosed = rest[opening - 1] === '/';
    const end = isClosed ? opening : rest.indexOf(closing, opening);
    if (end < 0) return false;
    rest = rest.slice(end + (isClosed ? 1 : closing.length)).trimStart();
  }
  return true;
}

/** Longer scheduled prompts are compared by their beginning, because the log keeps only that. */
const scheduledCharsMax = 300;

const isScheduled = (text: string, prompt: string): boolean => {
  const scheduled = prompt.trim();
  if (scheduled.length < scheduledCharsMax) return scheduled !== '' && text === scheduled;
  return text.startsWith(scheduled.slice(0, scheduledCharsMax));
};
