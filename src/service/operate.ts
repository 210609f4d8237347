/** An operator's words (protocol 3, own entries): acknowledge, resolve, retire. Each is an entry that says who said it. */
import { z } from 'zod';
import { idSchema, viewTask, viewWorker } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Host } from '../host/host.ts';
import { createKeyedMutex } from '../keyed-mutex.ts';
import { refusalSince } from '../log-text/refusal.ts';
import type { EventLog } from '../nats/event-log.ts';
import { parseInput } from '../parse-input.ts';
import type { View } from './service.ts';

const by = z.string().trim().min(1).max(200);
const actor = { entity: z.enum(['worker', 'task']).default('worker'), id: idSchema, by };
export const operatorWords = {
  acknowledge: z.strictObject(actor),
  resolve: z.strictObject({
    ...actor,
    verdict: z.enum(['resume', 'stop']),
    prompt: z.string().trim().min(1).max(20_000).optional(),
  }),
  retire: z.strictObject({ id: idSchema, by }),
} as const;
export type OperatorWord = keyof typeof operatorWords;

const types = {
  acknowledge: 'escalation.acknowledged',
  resolve: 'escalation.resolved',
  retire: 'worker.retired',
} as const satisfies Record<OperatorWord, string>;

export type Operator = {
  /** @throws AppError input.bad, actor.unknown, entry.refused: it makes no sense now, log.unavailable */
  operate(word: OperatorWord, body: unknown): Promise<{ seq: number; view: View }>;
};

export function createOperator(host: Host, log: EventLog): Operator {
  const look = async (entity: 'worker' | 'task', id: string) => {
    await host.caughtUp();
    const view = entity === 'worker' ? viewWorker(host.fleet, id, host.logNow()) : viewTask(host.fleet, id);
    if (view === null) throw new AppError('actor.unknown', `${entity} ${id} is unknown in fleet ${host.fleet.name}`);
    return view;
  };
  const mutex = createKeyedMutex();
  return {
    async operate(word, body) {
      const given = parseInput(operatorWords[word], body ?? {});
      const { id, entity = 'worker', ...said } = given as z.infer<(typeof operatorWords)['acknowledge']>;
      // What is refused does not say whose word it was, so that they come one after the other.
      return mutex.runExclusive(`${entity}.${id}`, async () => {
        const before = await look(entity, id);
        if (word !== 'retire' && before.state !== 'escalated')
          throw new AppError('entry.refused', `${entity} ${id} is not escalated, it is ${before.state}`);
        const subject = `stopgate.${host.fleet.name}.own.${entity}.${id}.${types[word]}`;
        const { seq } = await log.append(subject, JSON.stringify(said), {});
        const view = await look(entity, id);
        // Another may have been quicker by another replica.
        const refusal = refusalSince(before.refused, view.refused, types[word]);
        if (refusal !== null) throw new AppError('entry.refused', refusal);
        return { seq, view };
      });
    },
  };
}
