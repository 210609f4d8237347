/** Remote checks and hooks: the request to `stopgate.<fleet>.check.<name>`, and what its reply means (protocol.md §8). */
import { z } from 'zod';
import { toPayload } from './check-question.ts';
import { type HostContext, subject } from './context.ts';
import type { RunResult } from './run-request.ts';

/** Either form of reply (protocol.md §8). */
const replySchema = z.union([
  z.object({ complete: z.boolean(), reason: z.string().optional(), feedback: z.unknown().optional() }),
  z.object({
    action: z.enum(['complete', 'continue', 'escalate']),
    reason: z.string().optional(),
    nextPrompt: z.string().optional(),
    checkpointData: z.unknown().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
]);

/** @throws AppError service.unreachable: nobody serves it, or no reply in time; check.failed: its server failed */
export async function askRemote(
  context: HostContext,
  name: string,
  question: object,
  timeoutMs: number,
): Promise<RunResult> {
  const startedMs = performance.now();
  const text = await context.bus.request(
    subject(context, `check.${name}`),
    toPayload(question, context.bus.payloadBytesMax()),
    timeoutMs,
  );
  const tookMs = Math.round(performance.now() - startedMs);
  return { ...readReply(name, text), tookMs };
}

function readReply(name: string, text: string): RunResult {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return { outcome: 'error', reason: `check ${name} replied with invalid JSON` };
  }
  const { data } = replySchema.safeParse(reply);
  if (data === undefined) return { outcome: 'error', reason: `check ${name} replied in an unknown form` };
  if ('complete' in data) {
    const { complete, ...rest } = data;
    return { outcome: complete ? 'pass' : 'fail', ...definedIn(rest) };
  }
  return { outcome: data.action === 'complete' ? 'pass' : 'fail', ...definedIn(data) };
}

const definedIn = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<RunResult>;
