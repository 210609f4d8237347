/**
 * Encodes decisions as JSON, once for up to three uses (reply, inbox, log). Tuned for speed: it runs for every
 * decision.
 */
import type { Decision, Verdict } from '../../../machines/index.ts';

const encoded = new WeakMap<Decision, Uint8Array>();

/** Encodes any decision, including one read from the log, whose fields may differ. */
export const encodeDecision = (decision: Decision): Uint8Array =>
  encoded.get(decision) ?? keep(decision, JSON.stringify(decision));

/** Encodes a decision that the fold has just made, in half the time: its fields and their order are fixed. */
export const encodeNew = (decision: Decision): Uint8Array => keep(decision, textOf(decision));

/** Decisions share buffers: they live for milliseconds only, and one buffer each takes as long as making their text. */
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

/** Equals `JSON.stringify(made)` (test/unit/host/decision-bytes.test.ts). */
function textOf(made: Decision): string {
  const { retry, keepAlives, idle, policy } = made;
  return (
    `{"v":${made.v},"fleet":"${made.fleet}","worker":"${made.worker}","task":${quoteId(made.task)},` +
    `"tasks":${listOf(made.tasks, quote)},"attempt":${quoteId(made.attempt)},"seq":${made.seq},"at":"${made.at}",` +
    `"decision":"${made.decision}","action":"${made.action}","cause":"${made.cause}","reason":${quote(made.reason)},` +
    `"nextPrompt":${made.nextPrompt === null ? 'null' : quote(made.nextPrompt)},` +
    `"feedback":${made.feedback.length === 0 ? '[]' : JSON.stringify(made.feedback)},"state":"${made.state}",` +
    `"retry":{"count":${retry.count},"max":${retry.max}},` +
    `"keepAlives":{"count":${keepAlives.count},"max":${keepAlives.max}},` +
    `"idle":{"ms":${idle.ms},"limitMs":${idle.limitMs},"remainingMs":${idle.remainingMs}},` +
    `"pendingTasks":${made.pendingTasks},"policy":{"name":"${policy.name}","seq":${policy.seq}},` +
    `"verdicts":${listOf(made.verdicts, textOfVerdict)},"replica":"${made.replica}","tookMs":${made.tookMs},` +
    `"dryRun":${made.dryRun}}`
  );
}

/** Ids contain no characters that need escapes. */
const quoteId = (id: string | null) => (id === null ? 'null' : `"${id}"`);

/** Encodes a text. Only quotes, backslashes, control characters and lone surrogates need escapes. */
const quote = (text: string): string => (/["\\\p{Cc}\p{Cs}]/u.test(text) ? JSON.stringify(text) : `"${text}"`);

function listOf<Item>(items: readonly Item[], textOfItem: (item: Item, index: number) => string): string {
  let text = '';
  for (let index = 0; index < items.length; index += 1)
    text += (index === 0 ? '' : ',') + textOfItem(items[index] as Item, index);
  return `[${text}]`;
}

/**
 * The last verdict at each index, with its text. In nearly all decisions the passing verdicts are the same objects at
 * the same indexes.
 */
const lastVerdicts: { readonly verdict: Verdict; readonly text: string }[] = [];
const cachedMax = 32;

function textOfVerdict(verdict: Verdict, index: number): string {
  const last = lastVerdicts[index];
  if (last?.verdict === verdict) return last.text;
  const text = JSON.stringify(verdict);
  if (verdict.input === undefined && verdict.verdict === 'pass' && index < cachedMax)
    lastVerdicts[index] = { verdict, text };
  return text;
}
