/** The agents that have an adapter, by the name that `/hooks/<agent>` and `stopgate hook <agent>` use. */
import type { ReadHook } from './adapter.ts';
import { answerClaude, translateClaude } from './claude.ts';
import { readClaude } from './claude-call.ts';

export {
  type HookCall,
  type KnownWorker,
  knownFrom,
  type ReadHook,
  type Translation,
  unknownWorker,
} from './adapter.ts';

export const agents: ReadonlyMap<string, ReadHook> = new Map([
  [
    'claude',
    (body) => {
      const call = readClaude(body);
      return {
        worker: call.worker,
        event: call.event,
        translate: (known) => translateClaude(call, known),
        answer: (decision) => answerClaude(call.event, decision),
      };
    },
  ],
]);
