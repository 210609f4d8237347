/**
 * Any tool that can run a command (`stopgate hook shell --worker W`), in our own words. This JSON is our contract, so
 * what is wrong in it is said and not passed over.
 */
import { z } from 'zod';
import { attemptSchema, idSchema } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { KnownWorker } from '../shared/adapter.ts';
import { blockWords } from '../shared/block-text.ts';
import {
  type Caller,
  cutOutput,
  promptSubmitted,
  registration,
  resumed,
  type Said,
  sessionEnded,
  toolUsed,
} from '../shared/entry-drafts.ts';
import { wholePlan } from '../shared/plan-entry.ts';
import { type Agent, createReader, type Row, readBody, type Table } from '../shared/reader.ts';

const name = 'shell';

const bodySchema = z.object({
  ...attemptSchema.shape,
  worker: idSchema,
  /** `stop` where it is left out. */
  event: z.string().min(1).optional(),
  cwd: z.string().min(1).optional(),
  text: z.string().optional(),
  tool: z.string().min(1).optional(),
  ok: z.boolean().optional(),
  steps: z.array(z.object({ title: z.string(), status: z.string(), step: idSchema.optional() })).optional(),
  reason: z.string().optional(),
});
type ShellCall = Omit<Caller, 'worker'> & z.infer<typeof bodySchema>;

const rows: Table<ShellCall> = new Map<string, Row<ShellCall>>([
  ['start', (call, known) => [registration(name, call, known)]],
  ['prompt', (call, known) => [promptSubmitted(call.text ?? '', known)]],
  ['tool', (call, known) => [...resumed(known), used(call, known)]],
  ['plan', ({ steps }) => (steps === undefined ? [] : [wholePlan(steps)])],
  ['stop', (_call, known) => resumed(known)],
  ['end', (call, known) => sessionEnded(call.reason, known)],
]);

const shell: Agent<ShellCall> = {
  name,
  read: (body, given) => {
    const call = readBody(bodySchema, body, 'a shell');
    const event = call.event ?? given ?? 'stop';
    if (!rows.has(event))
      throw new AppError('input.bad', `'${event}' is no event of a shell; these are: ${[...rows.keys()].join(', ')}`);
    return { ...call, event, parent: null };
  },
  rows,
  stop: (call) => (call.event === 'stop' ? attemptIn(call) : null),
  isEnd: ({ event }) => event === 'end',
  answer: ({ event }, decision) =>
    event === 'stop' && decision.decision === 'block' ? { decision: 'block', reason: blockWords(decision) } : null,
};
export const readShellHook = createReader(shell);

function attemptIn(call: ShellCall) {
  const { output, ...given } = attemptSchema.parse(call);
  return { ...given, ...(output === undefined ? {} : { output: cutOutput(output) }) };
}

function used(call: ShellCall, known: KnownWorker): Said {
  return toolUsed({ tool: call.tool ?? 'command', ok: call.ok ?? true, files: call.files ?? [] }, call, known);
}
