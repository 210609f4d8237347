/** Decisions as the bytes of their JSON. They go out up to three times (reply, inbox, log) and are made once. */
import type { Decision, Verdict } from '../../../machines/index.ts';

const encoded = new WeakMap<Decision, Uint8Array>();

/** The decision as JSON, whatever its fields. It may come from the log. */
export const encodeDecision = (decision: Decision): Uint8Array =>
  encoded.get(decision) ?? keep(decision, JSON.stringify(decision));

/** The same bytes for one that the fold has just made, in half the time: it has these fields, in this order. */
export const encodeMade = (decision: Decision): Uint8Array => keep(decision, textOf(decision));

/** Decisions live for some milliseconds, so they stand side by side: a buffer for each takes as long as their text. */
const slabBytes = 65_536;
const utf8BytesMax = 3;
let slab = Buffer.allocUnsafeSlow(0);
let end = 0;

function keep(decision: Decision, text: string): Uint8Array {
  const bytesMax = text.length * utf8BytesMax;
  if (end + bytesMax > slab.length) [slab, end] = [Buffer.allocUnsafeSlow(Math.max(slabBytes, bytesMax)), 0];
  const bytes = slab.subarray(end, end + slab.write(text, end));
  end += bytes.length;
  encoded.set(decision, bytes);
  return bytes;
}

/** Equals `JSON.stringify` of it (test/unit/host/decision-bytes.test.ts). */
function textOf(it: Decision): string {
  const { retry, keepAlives, idle, policy } = it;
  return (
    `{"v":${it.v},"fleet":"${it.fleet}","worker":"${it.worker}","task":${quoteId(it.task)},` +
    `"tasks":${listOf(it.tasks, quote)},"attempt":${quoteId(it.attempt)},"seq":${it.seq},"at":"${it.at}",` +
    `"decision":"${it.decision}","action":"${it.action}","cause":"${it.cause}","reason":${quote(it.reason)},` +
    `"nextPrompt":${it.nextPrompt === null ? 'null' : quote(it.nextPrompt)},` +
    `"feedback":${it.feedback.length === 0 ? '[]' : JSON.stringify(it.feedback)},"state":"${it.state}",` +
    `"retry":{"count":${retry.count},"max":${retry.max}},` +
    `"keepAlives":{"count":${keepAlives.count},"max":${keepAlives.max}},` +
    `"idle":{"ms":${idle.ms},"limitMs":${idle.limitMs},"remainingMs":${idle.remainingMs}},` +
    `"pendingTasks":${it.pendingTasks},"policy":{"name":"${policy.name}","seq":${policy.seq}},` +
    `"verdicts":${listOf(it.verdicts, textOfVerdict)},"replica":"${it.replica}","tookMs":${it.tookMs},` +
    `"dryRun":${it.dryRun}}`
  );
}

/** An id needs no escapes. */
const quoteId = (id: string | null) => (id === null ? 'null' : `"${id}"`);

/** JSON of a text: with a quote, a backslash, a control character or half a pair it has escapes. */
const quote = (text: string): string => (/["\\\p{Cc}\p{Cs}]/u.test(text) ? JSON.stringify(text) : `"${text}"`);

function listOf<Item>(items: readonly Item[], textOfItem: (item: Item, index: number) => string): string {
  let text = '';
  for (let index = 0; index < items.length; index += 1)
    text += (index === 0 ? '' : ',') + textOfItem(items[index] as Item, index);
  return `[${text}]`;
}

/**
 * Verdicts of guards that pass are the same objects in nearly all decisions, and stand at the same places. So the last
 * one of each place is kept with its text.
 */
const lastVerdicts: { readonly verdict: Verdict; readonly text: string }[] = [];
const placesMax = 32;

function textOfVerdict(verdict: Verdict, index: number): string {
  const last = lastVerdicts[index];
  if (last?.verdict === verdict) return last.text;
  const text = JSON.stringify(verdict);
  if (verdict.input === undefined && verdict.verdict === 'pass' && index < placesMax)
    lastVerdicts[index] = { verdict, text };
  return text;
}
