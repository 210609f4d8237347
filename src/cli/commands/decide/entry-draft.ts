/** An entry to publish, checked before it is sent just as the log's readers will check it. */
import { type Area, entrySchemas } from '../../../../machines/entries/index.ts';
import { payloadBytesMax, readEntry, readJson, readSubject, subjectOf } from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import { suggest } from '../../suggest.ts';

/** `tail`: the subject after `stopgate.<fleet>.`; `id`: its `Nats-Msg-Id`. */
export type EntryDraft = { readonly tail: string; readonly data: object; readonly id: string | undefined };

/**
 * @param subject with or without `stopgate.<fleet>.` before it
 * @param text JSON of the fields; '' is `{}`
 * @throws AppError input.bad, entry.large
 */
export function readDraft(subject: string, text: string, id: string | undefined, fleet: string): EntryDraft {
  const whole = subject.startsWith('stopgate.') ? subject : `stopgate.${fleet}.${subject}`;
  const address = readSubject(whole);
  if (address === null) throw new AppError('input.bad', `'${subject}' is published by the service only`);
  if ('code' in address) throw new AppError('input.bad', hintFor(subject, address.message));
  if (address.fleet !== fleet) {
    throw new AppError(
      'input.bad',
      `'${subject}' belongs to fleet '${address.fleet}', but the fleet is '${fleet}' (--fleet)`,
    );
  }
  const parsed = readJson(text);
  if (!parsed.ok) throw new AppError('input.bad', parsed.message);
  // This is the text that is sent, without the white space of the given one.
  const payload = JSON.stringify(parsed.value);
  const bytes = Buffer.byteLength(payload);
  const entry = readEntry(whole, payload, bytes);
  if (entry !== null && 'code' in entry) {
    if (bytes > payloadBytesMax) throw new AppError('entry.large', entry.message);
    throw new AppError('input.bad', `this is not a valid ${address.type}: ${entry.message}`, {
      issues: entry.issues,
    });
  }
  return { tail: subjectOf(address).slice(`stopgate.${fleet}.`.length), data: parsed.value, id };
}

const example = `e.g. stopgate publish worker w1 tool.used '{"tool":"Bash"}'`;

/** An id of each that agents publish about. */
const examples = { worker: 'w1', task: 'T-1', queue: 'main' };

function hintFor(subject: string, message: string): string {
  const [entity = '', id = '', noun = '', verb = '', ...more] = subject.replace(/^stopgate\.[^.]*\./, '').split('.');
  if (`${noun}.${verb}` === 'worker.retired') return `${message}. Operators use: stopgate retire ${id}`;
  if (noun === 'escalation') return `${message}. Operators use: stopgate ack ${id}, stopgate resolve ${id}`;
  if (!['worker', 'task', 'queue', 'own'].includes(entity)) return `${message}; ${example}`;
  const about = (Object.keys(examples) as (keyof typeof examples)[]).find(
    (area) => area !== entity && Object.hasOwn(entrySchemas[area], `${noun}.${verb}`),
  );
  const known = Object.keys(entrySchemas[entity as Area] ?? {});
  const type = known.find((each) => `${noun}.${verb}` === each);
  if (type !== undefined && more.length > 0)
    return `after ${type} come its fields, as one JSON object in quotes; ${example}`;
  if (type === undefined && entity !== 'own' && about !== undefined)
    return `'${noun}.${verb}' is an entry about a ${about}: stopgate publish ${about} ${examples[about]} ${noun}.${verb}`;
  const meant = suggest(`${noun}.${verb}`, known);
  if (meant !== null && !known.includes(`${noun}.${verb}`)) return `${message}; did you mean '${meant}'?`;
  return noun === '' ? `the subject needs <entity> <id> <noun>.<verb>; ${example}` : message;
}

/** One line of JSON: `{ "subject", "data"?, "id"? }`; other fields, such as those of `tail --json`, are ignored. */
export function readDraftLine(line: string, fleet: string): EntryDraft {
  const parsed = readJson(line, 'the line');
  if (!parsed.ok) throw new AppError('input.bad', parsed.message);
  const { subject, data = {}, id } = parsed.value as Record<string, unknown>;
  if (typeof subject !== 'string') throw new AppError('input.bad', '"subject" is missing');
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw new AppError('input.bad', '"id" must be a non-empty string');
  return readDraft(subject, JSON.stringify(data), id, fleet);
}
