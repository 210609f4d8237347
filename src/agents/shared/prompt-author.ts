/**
 * Who made a prompt. A person's prompt sets counts and budgets back, so a prompt that a machine made must not pass for a
 * person's: then an agent could go on for ever, or stop as often as it likes. The other mistake is small. A person whose
 * prompt passes for a machine's keeps the counts that there are, and the next prompt in plain words is the person's.
 *
 * So text without markup is a person's, and what is not a person's for sure is the system's: no text at all, and a prompt
 * that is nothing but elements with names that neither HTML nor a person's own tools have (`<new-kind-of-notice>`).
 */

export type PromptAuthor = 'person' | 'agent' | 'system';

/** Elements that begin a message of another agent. The agent's program may write more behind it. */
const agentElements: ReadonlySet<string> = new Set([
  'teammate-message',
  'cross-session-message',
  'agent-message',
  'peer-message',
  'subagent_notification',
  'subagent-notification',
]);
/** Elements that begin a prompt of the agent's own program. */
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
/** Elements in which programs put what a person did: typed, chose a command, ran a shell, or has open. */
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
/** Words that a program puts before such an element, on a line of their own. */
const preambles: readonly RegExp[] = [/^Another Claude session sent a message[^\n<]{0,60}:\s*(?=<)/];
/** What members of a team send each other, without the element around it. */
const teamMessage =
  /^\{\s*"type"\s*:\s*"[a-z]+(?:_[a-z]+)*_(?:notification|request|response|approved|rejected|assignment)"/;
/** Prompts of a program in plain words, by their beginning. */
const systemWords: readonly RegExp[] = [
  /^This session is being continued from a previous conversation\b/,
  /^\[SYSTEM NOTIFICATION\b/i,
  /^\[Subagent hand-back\]/,
  /^<<autonomous-loop/,
  /^Your claude\.ai usage limit has reset\b/,
];

/** Longer prompts are a person's unless they begin as one of the above. */
const elementsCharsMax = 200_000;
const elementsMax = 50;

/** Without the prompt, or with an empty one, no person has said anything. */
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
  return scheduled.some((it) => isScheduled(text, it)) ? 'system' : 'person';
}

/** Some programs put a backslash before the name, so that the text is no element of their own. */
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

/** A long prompt of a schedule is told by its beginning: more of it is not in the log. */
const scheduledCharsMax = 300;

const isScheduled = (text: string, prompt: string): boolean => {
  const scheduled = prompt.trim();
  if (scheduled.length < scheduledCharsMax) return scheduled !== '' && text === scheduled;
  return text.startsWith(scheduled.slice(0, scheduledCharsMax));
};
