/**
 * Promises: an agent ends its own work with `<promise>COMPLETE</promise>` and the like, which are read from its output
 * (protocol.md §6; seed 001, CompletionPromise). Code, quotations and examples do not count: a loop that ends because
 * of a quoted promise is a well-known fault.
 */
import { z } from 'zod';
import { detectedAtMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';

export const promiseNames = ['COMPLETE', 'BLOCKED', 'ESCALATE'] as const;
export type PromiseName = (typeof promiseNames)[number];

/**
 * A promise as an adapter may report it: `content` is the text that was found, '' if none was. `detectedAt` is the
 * reporter's own time; it is passed on to hooks and checks, and decides nothing.
 */
export const promiseSchema = z.object({
  type: z.enum(promiseNames),
  detected: z.boolean(),
  content: z.string(),
  detectedAt: textSchema(detectedAtMax).optional(),
});

/** The promises of an attempt or iteration: those that its adapter read, else those in its output. */
export function promisesOf(fields: {
  readonly output?: string | undefined;
  readonly promises?: readonly z.infer<typeof promiseSchema>[] | undefined;
}): ReadonlySet<PromiseName> {
  if (fields.promises !== undefined) return new Set(fields.promises.filter((it) => it.detected).map((it) => it.type));
  return readPromises(fields.output ?? '');
}

export function readPromises(output: string): ReadonlySet<PromiseName> {
  if (!output.includes('<promise>')) return none;
  const prose = withoutCode(withoutFencesAndQuotes(output));
  const found = new Set<PromiseName>();
  for (const [, name] of prose.matchAll(/<promise>\s*(COMPLETE|BLOCKED|ESCALATE)\s*<\/promise>/g)) {
    found.add(name as PromiseName);
  }
  return found;
}

const none: ReadonlySet<PromiseName> = new Set();

/** CommonMark fences of backticks or tildes (an unclosed one goes to the end) and quoted lines, taken out. */
function withoutFencesAndQuotes(output: string): string {
  const kept: string[] = [];
  let fence: { char: string; length: number } | null = null;
  for (const line of output.split(/\r\n|\n|\r/)) {
    if (fence !== null) {
      const close = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
      if (close !== undefined && close[0] === fence.char && close.length >= fence.length) fence = null;
      continue;
    }
    // The info string of a backtick fence holds no backtick, else the line is an inline code span.
    const open = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/.exec(line);
    const marks = open?.[1] ?? open?.[2];
    if (marks !== undefined) {
      fence = { char: marks[0] as string, length: marks.length };
      kept.push('');
    } else {
      kept.push(/^ {0,3}>/.test(line) ? '' : line);
    }
  }
  return kept.join('\n');
}

/** Inline code spans: a run of n backticks up to the next run of exactly n within the paragraph. */
const withoutCode = (prose: string): string =>
  prose
    .split(/\n[ \t]*\n/)
    .map(withoutSpans)
    .join('\n\n');

function withoutSpans(paragraph: string): string {
  const runs = ticksOf(paragraph);
  const closings = closingsOf(runs);
  const kept: string[] = [];
  let from = 0;
  for (let index = 0; index < runs.length; index += 1) {
    const closing = closings[index] as number;
    if (closing < 0) continue;
    const last = runs[closing] as Run;
    kept.push(paragraph.slice(from, runs[index]?.at), ' code ');
    from = last.at + last.length;
    index = closing;
  }
  kept.push(paragraph.slice(from));
  return kept.join('');
}

/** Backticks in a row. */
type Run = { readonly at: number; readonly length: number };

function ticksOf(text: string): Run[] {
  const runs: Run[] = [];
  for (let at = text.indexOf('`'); at >= 0; ) {
    let end = at + 1;
    while (text[end] === '`') end += 1;
    runs.push({ at, length: end - at });
    at = text.indexOf('`', end);
  }
  return runs;
}

/** Finds for each run the next one of the same length, or -1, from the end, so that the time is linear. */
function closingsOf(runs: readonly Run[]): readonly number[] {
  const next = new Map<number, number>();
  const closings = new Array<number>(runs.length);
  for (let index = runs.length - 1; index >= 0; index -= 1) {
    const { length } = runs[index] as Run;
    closings[index] = next.get(length) ?? -1;
    next.set(length, index);
  }
  return closings;
}
