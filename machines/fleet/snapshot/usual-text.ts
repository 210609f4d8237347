/**
 * Recognises a worker's text that holds what it should, without reading it: a start has 100,000 of them, and one regular
 * expression takes a tenth of what `JSON.parse` takes. It knows the fields that most workers have, and no more: of any other
 * text it says nothing, and that worker is decoded and judged by its shape.
 */
import { presences, workerStates } from '../../values/states.ts';
import { workerLegend } from './worker-text.ts';

const anyOf = (...forms: readonly string[]) => `(?:${forms.join('|')})`;
const orNull = (form: string) => anyOf('null', form);
const list = (form: string) => String.raw`\[(?:${form}(?:,${form})*)?\]`;
const tuple = (...forms: readonly string[]) => String.raw`\[${forms.join(',')}\]`;
const indexBelow = (length: number) => anyOf(...Array.from({ length }, (_, index) => `${index}`));

const plain = String.raw`[^"\\\x00-\x1f]*`;
const text = String.raw`"${plain}(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})${plain})*"`;
const count = String.raw`\d{1,15}`;
/** Within what a date can be made of, also when it is added to another. */
const time = String.raw`-?\d{1,14}`;
const sum = String.raw`-?\d{1,15}`;

const move = tuple(
  indexBelow(workerStates.length),
  indexBelow(workerStates.length),
  anyOf(indexBelow(workerLegend.events.length), text),
  time,
);
const decision = tuple(
  orNull(text),
  orNull(count),
  time,
  anyOf('null', text, list(text)),
  count,
  count,
  time,
  orNull(time),
  count,
);
const period = String.raw`\[${sum},${sum},${sum},${time}(?:,${sum},${sum},${sum},${time})?\]`;

/** One that is validating has an open attempt. */
const restingPlaces = Array.from({ length: workerStates.length * presences.length }, (_, place) => `${place}`).filter(
  (place) => workerStates[Number(place) % workerStates.length] !== 'validating',
);

/** Below 32, or those and 64. */
const flags = `(${anyOf('[12]?\\d', '3[01]', '6[4-9]', '[78]\\d', '9[0-5]')})`;

/**
 * As `WorkerTuple` has them, up to the mask. Of the flags with a value behind the fields it has that of the queue that a
 * worker attends, 64: most that are not stopped have it.
 */
const head = [
  anyOf(...restingPlaces),
  count,
  time,
  orNull(time),
  time,
  flags,
  orNull(time),
  orNull(text),
  orNull(String.raw`"[\w-]*"`),
  orNull(move),
  orNull(decision),
  String.raw`\[${period}(?:,${period})?\]`,
].join(',');

const usualFields: Readonly<Record<string, string>> = {
  agent: text,
  profile: text,
  policy: text,
  queue: text,
  parent: text,
  cwd: text,
  labels: String.raw`\{(?:${text}:${text}(?:,${text}:${text})*)?\}`,
  ended: anyOf('"ended"', '"retired"'),
  budgetExhausted: 'true',
  scopes: list(text),
  usageSource: text,
  interactive: anyOf('true', 'false'),
  filesUnknown: 'true',
  background: list(String.raw`\{"id":${text},"kind":${orNull(text)},"command":${orNull(text)},"sinceMs":${time}\}`),
  commands: list(String.raw`\{"command":${text},"seq":${count},"ok":${anyOf('true', 'false')}\}`),
  lastChange: String.raw`\{"seq":${count},"file":${text}\}`,
  promptedSeq: count,
  claimedSeq: count,
  retryCount: count,
  keepAlives: count,
  toolCount: count,
  filesBytes: count,
  filesDropped: count,
  files: list(text),
  tasks: list(text),
  heldAtEnd: list(text),
  plan: list(String.raw`\[${text},${text}(?:,${orNull(text)}(?:,${text})?)?\]`),
  lastDisposition: anyOf('"completed"', '"blocked"', '"escalated"', '"released"'),
};

const headPattern = new RegExp(String.raw`\[${head},\d{1,15}(?=[,\]])`, 'y');
/** The pattern of the text behind the mask, by mask and that flag; null if it has a field that is not usual. */
const patterns = new Map<string, RegExp | null>();
/** A fleet has some dozens. */
const patternsMax = 1_000;

/** @param attends whether the queue that it attends stands behind its fields */
function patternOf(mask: string, attends: boolean): RegExp | null {
  const key = attends ? `${mask} attends` : mask;
  const known = patterns.get(key);
  if (known !== undefined) return known;
  const fields: (string | undefined)[] = [];
  let rest = Number(mask);
  for (let bit = 0; rest > 0; bit += 1) {
    if (rest % 2 === 1) fields.push(usualFields[workerLegend.fields[bit] ?? '']);
    rest = Math.floor(rest / 2);
  }
  const isUsual = !fields.includes(undefined);
  const behind = attends ? [...fields, text] : fields;
  const pattern = isUsual ? new RegExp(String.raw`${behind.map((it) => `,${it}`).join('')}\]`, 'y') : null;
  if (patterns.size >= patternsMax) patterns.clear();
  patterns.set(key, pattern);
  return pattern;
}

/** Returns where a usual tuple that begins at `from` ends; -1: there is none. */
export function endOfUsualTuple(line: string, from: number): number {
  headPattern.lastIndex = from;
  const found = headPattern.exec(line);
  if (found === null) return -1;
  const maskEnd = headPattern.lastIndex;
  const mask = line.slice(line.lastIndexOf(',', maskEnd - 1) + 1, maskEnd);
  const pattern = patternOf(mask, Number(found[1]) >= 64);
  if (pattern === null) return -1;
  pattern.lastIndex = maskEnd;
  return pattern.test(line) ? pattern.lastIndex : -1;
}
