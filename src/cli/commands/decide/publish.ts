/** publish: publishes one entry, or many from stdin. */
import { type Area, entrySchemas } from '../../../../machines/entries/index.ts';
import { payloadBytesMax, readEntry, readJson, readSubject, subjectOf } from '../../../../machines/index.ts';
import { isId } from '../../../../machines/values/id.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';
import { nearestOf } from '../../../text/nearest.ts';
import { type Context, defineCommand, type Flags, flag, option, words } from '../../command.ts';
import { resolveAddress, withRequester } from '../../connection.ts';
import { readLines, readText } from '../../input.ts';
import { clientArgs, readId } from '../../option-values.ts';
import { findUnread, type UnreadField } from '../../unread-fields.ts';

const args = {
  entry: words(
    'SUBJECT-TAIL',
    'the subject after stopgate.<fleet>. in one or several words, then the fields as a JSON object, or "-" to read them from stdin; "-" alone reads JSON lines from stdin',
    true,
  ),
  id: option('ID', 'its Nats-Msg-Id: the same id is stored once within 2 minutes'),
  stream: flag('with "-": send each line as soon as it is read, and skip bad ones'),
  ...clientArgs,
} as const;

type PublishContext = Context<Flags<typeof args>>;

export const publish = defineCommand({
  args,
  details: [
    'Checks the entry before sending it (exit code 2 if it is not valid). Prints where it was stored. If the entry changes nothing, such as a claim of a task that another worker holds, stderr says why.',
    'A line for "-" is {"subject":"worker.w1.tool.used","data":{"tool":"Bash"}}, with an "id" if it may be sent twice. Nothing is sent unless all lines are good; with --stream each is sent on its own.',
    'An entry under own. is an operator\'s and needs operator credentials. Those of "stopgate dev" are found automatically.',
  ],
  examples: [
    `stopgate publish worker w1 tool.used '{"tool":"Bash"}'`,
    `stopgate publish task.T-1.task.created '{"title":"Fix the login","queue":"main"}'`,
    'stopgate publish - <entries.jsonl',
  ],
  run: async (context) => {
    const { flags } = context;
    if (flags.entry.length === 1 && flags.entry[0] === '-') return flags.stream ? sendLines(context) : sendAll(context);
    if (flags.stream) throw new AppError('input.bad', '--stream works only with "-"');
    return sendOne(context);
  },
});

async function sendOne(context: PublishContext): Promise<number> {
  const { flags, io } = context;
  const typed = flags.entry;
  const last = typed.at(-1) ?? '';
  const isBody = typed.length > 1 && (last === '-' || /[\s{["]/.test(last));
  const text = !isBody ? '' : last === '-' ? await readText('-', io) : last;
  const { fleet } = await resolveAddress(flags, io);
  const subject = isBody ? typed.slice(0, -1) : typed;
  const [entity = '', id = ''] = subject;
  // Dots in the id would move the following words to the wrong parts of the subject.
  if (subject.length > 2 && !id.split('.').every(isId)) readId(entity, id);
  const draft = readDraft(subject.join('.'), text.trim(), flags.id, fleet);
  return withRequester(flags, io, async (requester) => {
    const surprise = describeIgnored(draft) ?? describeStatus(draft) ?? (await describeNewTask(draft, requester));
    const { seq } = await send(draft, requester, context);
    const refused = await refusalOf(draft, seq, requester);
    if (refused !== null) context.note(`stopgate: the entry was stored, but changes nothing: ${refused}`);
    else if (surprise !== null) context.note(`stopgate: ${surprise}`);
    return 0;
  });
}

// Effects of a valid entry that its author may not expect (protocol.md §3).

function describeIgnored({ type, unread: [first] }: EntryDraft): string | null {
  if (first === undefined) return null;
  const hint = first.meant === null ? `the fields are ${first.known.join(', ')}` : `did you mean '${first.meant}'?`;
  return `${type} has no field '${first.field}', which is stored and ignored; ${hint}`;
}

const usualStatuses = ['pending', 'in_progress', 'done', 'completed', 'cancelled', 'deleted'];

/** Any other status than that of a finished step counts as not done, even a mistyped one. */
function describeStatus({ tail, data }: EntryDraft): string | null {
  const { status } = data as { status?: unknown };
  if (!tail.endsWith('.step.updated') || typeof status !== 'string' || usualStatuses.includes(status)) return null;
  return `the step counts as not done: a step is done with the status done, completed or cancelled, not '${status}'`;
}

/** A claim of an unknown task creates it, so a mistyped id goes unnoticed. */
async function describeNewTask({ tail, data }: EntryDraft, requester: Requester): Promise<string | null> {
  const { task } = data as { task?: unknown };
  if (!tail.endsWith('.task.claimed') || typeof task !== 'string') return null;
  try {
    await requester.request('get', `task.${task}`, {}, viewTimeoutMs);
    return null;
  } catch (error) {
    const isUnknown = error instanceof AppError && error.code === 'actor.unknown';
    return isUnknown ? `task ${task} did not exist; the claim created it` : null;
  }
}

/** Returns why the service refused the entry. Null if it did not, or if no service answers. */
async function refusalOf({ tail }: EntryDraft, seq: number, requester: Requester): Promise<string | null> {
  const [entity = '', id = ''] = tail.replace(/^own\./, '').split('.');
  if (entity !== 'worker' && entity !== 'task') return null;
  try {
    await requester.request('get', `${entity}.${id}`, { entry: seq }, viewTimeoutMs);
    return null;
  } catch (error) {
    return error instanceof AppError && error.code === 'entry.refused' ? error.message : null;
  }
}

const viewTimeoutMs = 2_000;

/** Reads and checks all lines before it sends the first. */
async function sendAll(context: PublishContext): Promise<number> {
  const { flags, io, note } = context;
  const drafts: EntryDraft[] = [];
  const bad = await eachDraft(context, async (draft) => void drafts.push(draft));
  if (bad > 0) {
    note(`stopgate: ${bad} bad ${bad === 1 ? 'line' : 'lines'}; nothing was sent`);
    return 2;
  }
  if (drafts.length === 0)
    throw new AppError(
      'input.bad',
      'stdin has no entries; write each as one line of JSON (see "stopgate publish --help")',
    );
  return withRequester(flags, io, async (requester) => {
    const stored: (readonly [draft: EntryDraft, seq: number])[] = [];
    for (const draft of drafts) stored.push([draft, (await send(draft, requester, context)).seq]);
    // The service folds the entries meanwhile, so most replies are immediate.
    for (const [draft, seq] of stored) noteRefusal(context, seq, await refusalOf(draft, seq, requester));
    return 0;
  });
}

async function sendLines(context: PublishContext): Promise<number> {
  return withRequester(context.flags, context.io, async (requester) => {
    const bad = await eachDraft(context, async (draft) => {
      const { seq } = await send(draft, requester, context);
      noteRefusal(context, seq, await refusalOf(draft, seq, requester));
    });
    return bad > 0 ? 2 : 0;
  });
}

function noteRefusal({ note }: PublishContext, seq: number, refused: string | null): void {
  if (refused !== null) note(`stopgate: seq ${seq} was stored, but changes nothing: ${refused}`);
}

/** Returns the number of bad lines. Reports each on stderr. */
async function eachDraft(
  { flags, io, note }: PublishContext,
  use: (draft: EntryDraft) => Promise<void>,
): Promise<number> {
  const { fleet } = await resolveAddress(flags, io);
  if (flags.id !== undefined) throw new AppError('input.bad', '--id is for a single entry; put an "id" into each line');
  let number = 0;
  let bad = 0;
  for await (const lines of readLines('-', io)) {
    for (const line of lines) {
      number += 1;
      if (line?.trim() === '') continue;
      const draft = line === null ? 'is too long' : readOrExplain(line, fleet);
      if (typeof draft !== 'string') await use(draft);
      else {
        note(`line ${number}: ${draft}`);
        bad += 1;
      }
    }
  }
  return bad;
}

function readOrExplain(line: string, fleet: string): EntryDraft | string {
  try {
    return readDraftLine(line, fleet);
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

async function send(
  { tail, data, id }: EntryDraft,
  requester: Requester,
  { flags, out }: PublishContext,
): Promise<{ readonly seq: number }> {
  const { seq, duplicate } = await requester.publish(tail, data, id);
  if (flags.json) await out.json({ seq, duplicate });
  else await out.print(duplicate ? `already stored as seq ${seq} (same id)` : `stored as seq ${seq}`);
  return { seq };
}

// An entry to publish. It is validated before it is sent, by the same rules as the readers of the log.

type EntryDraft = {
  /** The subject after `stopgate.<fleet>.` */
  readonly tail: string;
  readonly type: string;
  readonly unread: readonly UnreadField[];
  readonly data: object;
  /** Its `Nats-Msg-Id`. */
  readonly id: string | undefined;
};

/**
 * @param subject with or without the prefix `stopgate.<fleet>.`
 * @param text JSON of the fields; '' means `{}`
 * @throws AppError input.bad, entry.large
 */
function readDraft(subject: string, text: string, id: string | undefined, fleet: string): EntryDraft {
  const whole = subject.startsWith('stopgate.') ? subject : `stopgate.${fleet}.${subject}`;
  const address = readSubject(whole);
  if (address === null) throw new AppError('input.bad', `only the service publishes '${subject}'`);
  if ('code' in address) throw new AppError('input.bad', hintFor(subject, address.message));
  if (address.fleet !== fleet) {
    throw new AppError(
      'input.bad',
      `'${subject}' belongs to fleet '${address.fleet}', but this is fleet '${fleet}'; add --fleet ${address.fleet}`,
    );
  }
  const parsed = readJson(text);
  if (!parsed.ok) throw new AppError('input.bad', parsed.message);
  // Send compact JSON without the white space of the given text.
  const payload = JSON.stringify(parsed.value);
  const bytes = Buffer.byteLength(payload);
  const entry = readEntry(whole, payload, bytes);
  if (entry !== null && 'code' in entry) {
    if (bytes > payloadBytesMax) throw new AppError('entry.large', entry.message);
    throw new AppError('input.bad', `not a valid ${address.type}: ${entry.message}`, {
      issues: entry.issues,
    });
  }
  return {
    tail: subjectOf(address).slice(`stopgate.${fleet}.`.length),
    type: address.type,
    unread: findUnread(address.area, address.type, parsed.value),
    data: parsed.value,
    id,
  };
}

const example = `e.g. stopgate publish worker w1 tool.used '{"tool":"Bash"}'`;

/** An example id for each entity that agents publish about. */
const examples = { worker: 'w1', task: 'T-1', queue: 'main' };

function hintFor(subject: string, message: string): string {
  const [entity = '', id = '', noun = '', verb = '', ...more] = subject.replace(/^stopgate\.[^.]*\./, '').split('.');
  const type = `${noun}.${verb}`;
  if (type === 'worker.retired') return `${message}. Operators use: stopgate retire ${id}`;
  if (type === 'worker.paused') return `${message}. Operators use: stopgate pause ${id}`;
  if (type === 'worker.unpaused') return `${message}. Operators use: stopgate unpause ${id}`;
  if (noun === 'escalation') return `${message}. Operators use: stopgate ack ${id}, stopgate resolve ${id}`;
  if (!['worker', 'task', 'queue', 'own'].includes(entity)) return `${message}; ${example}`;
  const about = (Object.keys(examples) as (keyof typeof examples)[]).find(
    (area) => area !== entity && Object.hasOwn(entrySchemas[area], type),
  );
  const known = Object.keys(entrySchemas[entity as Area] ?? {});
  const isKnown = known.includes(type);
  if (isKnown && more.length > 0)
    return `unexpected words after ${type}; pass its fields as one JSON object in quotes; ${example}`;
  if (!isKnown && entity !== 'own' && about !== undefined)
    return `'${type}' is an entry about a ${about}; use: stopgate publish ${about} ${examples[about]} ${type}`;
  const meant = nearestOf(type, known);
  if (meant !== null && !isKnown) return `${message}; did you mean '${meant}'?`;
  return noun === '' ? `the subject needs <entity> <id> <noun>.<verb>; ${example}` : message;
}

/** Reads one JSON line `{ "subject", "data"?, "id"? }`. Ignores other fields, such as those of `tail --json`. */
function readDraftLine(line: string, fleet: string): EntryDraft {
  const parsed = readJson(line, 'the line');
  if (!parsed.ok) throw new AppError('input.bad', parsed.message);
  const { subject, data = {}, id } = parsed.value as Record<string, unknown>;
  if (typeof subject !== 'string') throw new AppError('input.bad', '"subject" is missing');
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw new AppError('input.bad', '"id" must be a non-empty string');
  return readDraft(subject, JSON.stringify(data), id, fleet);
}
