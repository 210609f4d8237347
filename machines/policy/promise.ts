/**
 * Promises: an agent signals the end of its work with `<promise>COMPLETE</promise>` and the like in its output
 * (protocol.md §6; seed 001, CompletionPromise). Promises in code and quotations do not count, because loops that end
 * at a quoted promise are a well-known bug.
 */
import { z } from 'zod';
import { detectedAtMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';

export const promiseNames = ['COMPLETE', 'BLOCKED', 'ESCALATE'] as const;
export type PromiseName = (typeof promiseNames)[number];

/**
 * A promise reported by an adapter. `content` is the text that was found, or ''. `detectedAt` is the reporter's own
 * time; it is passed on to hooks and checks, but decides nothing.
 */
export const promiseSchema = z.object({
  type: z.enum(promiseNames),
  detected: z.boolean(),
  content: z.string(),
  detectedAt: textSchema(detectedAtMax).optional(),
});

/** Returns the promises of an attempt or iteration: those reported by its adapter, otherwise those in its output. */
export function promisesOf(fields: {
  readonly output?: string | undefined;
  readonly promises?: readonly z.infer<typeof promiseSchema>[] | undefined;
}): ReadonlySet<PromiseName> {
  if (fields.promises !== undefined)
    return new Set(fields.promises.filter((promise) => promise.detected).map((promise) => promise.type));
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

/** Removes CommonMark fences of backticks or tildes (an unclosed one extends to the end) and quoted lines. */
function withoutFencesAndQuotes(output: string): string {
  const kept: string[] = [];
  let fence: { char: string; length: number } | null = null;
  for (const line of output.split(/\r\n|\n|\r/)) {
    if (fence !== null) {
      const close = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
      if (close !== undefined && close[0] === fence.char && close.length >= fence.length) fence = null;
      continue;
    }
    // The info string of a backtick fence contains no backtick; otherwise the line is an inline code span.
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

/** Replaces inline code spans: from a run of n backticks to the next run of exactly n within the paragraph. */
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
    kept.push(paragraph.slice(from, runs[index]?.start), ' code ');
    from = last.start + last.length;
    index = closing;
  }
  kept.push(paragraph.slice(from));
  return kept.join('');
}

/** Consecutive backticks. */
type Run = { readonly start: number; readonly length: number };

function ticksOf(text: string): Run[] {
  const runs: Run[] = [];
  for (let start = text.indexOf('`'); start >= 0; ) {
    let end = start + 1;
    while (text[end] === '`') end += 1;
    runs.push({ start, length: end - start });
    start = text.indexOf('`', end);
  }
  return runs;
}

/** Returns for each run the index of the next run of equal length, or -1. Works backwards, so it takes linear time. */
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
