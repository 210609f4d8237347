/** One hook call served: looked up, translated, stored, and where the agent waits for a word, asked and answered. */
import { randomUUID } from 'node:crypto';
import type { Decision, WorkerView } from '../../machines/index.ts';
import {
  type HookCall,
  isForComplete,
  isNews,
  isWanted,
  knownFrom,
  type Look,
  unknownWorker,
} from '../agents/index.ts';
import { createLanes } from '../keyed-mutex.ts';
import type { NewEntry, Service } from './service.ts';

/** Of an agent that does not tell where a batch of tools ends, all of a batch would be asked for: not more often. */
const lookEveryMs = 2_000;

export type HookDesk = (call: HookCall) => Promise<object | null>;

/** `stopwatch` in milliseconds. */
export function createHookDesk(service: Service, stopwatch: () => number = () => performance.now()): HookDesk {
  const lanes = createLanes();
  const state = createLookUp(service);
  const isDue = createPacer(stopwatch);
  const tell = async (call: HookCall, question: Question | null): Promise<object | null> => {
    if (question === null) return null;
    if ('tell' in question) return question.tell;
    if (question.look === null) return call.answer(await unwrap(question.decision));
    const { look } = question;
    if (!isDue(call.worker, look)) return null;
    const decision = await lookAt(service, call.worker, look);
    return decision === null ? null : call.answer(decision, look);
  };
  /**
   * A worker's calls pass one after the other, since agents send some at once and a plan's changes have an order. A
   * stop is only put in there, not waited for: it may be held for minutes, and a prompt must be able to end it.
   * @throws AppError what the service throws; agents take any error for "go on"
   */
  return async (call) => tell(call, await lanes(call.worker, () => put(service, state, call)));
}

type Question =
  | { readonly tell: object }
  /** In an object, for a promise given back by itself would be waited for in the lane. */
  | { readonly look: null; readonly decision: Promise<Decision | Error> }
  | { readonly look: Look };

async function put(service: Service, { lookUp, publish }: LookUp, call: HookCall): Promise<Question | null> {
  const view = await lookUp(call.worker);
  const known = view === null ? unknownWorker : knownFrom(view);
  const { worker, entries, stop, look, tell } = call.translate(known);
  for (const entry of entries) await publish(entry);
  if (stop !== null) return { look: null, decision: ask(service, worker, { attempt: randomUUID(), ...stop }) };
  if (tell !== null) return { tell };
  if (look === null) return null;
  // A registration may have changed which policy holds.
  const { rules } = (known.registered ? view : await lookUp(worker)) ?? {};
  return rules !== undefined && isWanted(look, rules) ? { look } : null;
}

/**
 * What an agent is told to stop for is decided and not only probed: it may end without another word, and its task is
 * to be known as completed. The checks run twice for that. Null: nothing to tell.
 */
async function lookAt(service: Service, worker: string, look: Look): Promise<Decision | null> {
  const probed = await service.probe(worker, {}, look === 'step' ? 'step' : 'stop');
  if (!isNews(look, probed)) return null;
  if (!isForComplete(look)) return probed;
  const decided = await service.decide(worker, { attempt: randomUUID(), stopReason: 'complete' });
  return isNews(look, decided) ? decided : null;
}

function createPacer(stopwatch: () => number): (worker: string, look: Look) => boolean {
  const asked = new Map<string, number>();
  return (worker, look) => {
    if (look !== 'complete-seldom') return true;
    const now = stopwatch();
    // The oldest stand first.
    for (const [other, at] of asked) {
      if (now - at < lookEveryMs) break;
      asked.delete(other);
    }
    if (asked.has(worker)) return false;
    asked.set(worker, now);
    return true;
  };
}

/** An error as a value: it may come before anybody waits for it. */
async function ask(service: Service, worker: string, body: object): Promise<Decision | Error> {
  try {
    return await service.decide(worker, body);
  } catch (error) {
    return error as Error;
  }
}

async function unwrap(decision: Promise<Decision | Error>): Promise<Decision> {
  const answer = await decision;
  if (answer instanceof Error) throw answer;
  return answer;
}

type LookUp = {
  readonly lookUp: (worker: string) => Promise<WorkerView | null>;
  readonly publish: (entry: NewEntry) => Promise<void>;
};

/** A call sees what the calls before it have stored here; it need not ask the log for what others did meanwhile. */
function createLookUp(service: Service): LookUp {
  let storedSeq = 0;
  return {
    lookUp: (worker) => service.peek(worker, storedSeq),
    async publish(entry) {
      storedSeq = Math.max(storedSeq, (await service.publish(entry)).seq);
    },
  };
}
