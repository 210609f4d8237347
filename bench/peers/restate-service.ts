/** A worker as a virtual object of Restate, in its own process. Calls of one worker run one after the other. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

type Context = { get<Value>(key: string): Promise<Value | null>; set(key: string, value: unknown): void };
type Handler = (context: Context, data: unknown) => Promise<object>;
type Sdk = {
  object(definition: { name: string; handlers: Record<string, Handler> }): object;
  endpoint(): { bind(service: object): { listen(port: number): Promise<number> } };
};

/** The SDK needs this function of Node 22. */
const withResolvers = () => {
  const deferred: { promise?: Promise<unknown>; resolve?: unknown; reject?: unknown } = {};
  deferred.promise = new Promise((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  return deferred;
};
if (!('withResolvers' in Promise)) Object.assign(Promise, { withResolvers });

const [cache = '', port = ''] = process.argv.slice(2);
const file = createRequire(join(cache, 'package.json')).resolve('@restatedev/restate-sdk');
const { object, endpoint } = (await import(pathToFileURL(file).href)).default as Sdk;

const worker = object({
  name: 'worker',
  handlers: {
    async report(context) {
      context.set('tools', ((await context.get<number>('tools')) ?? 0) + 1);
      return {};
    },
    async stop(context, attempt) {
      const attempts = ((await context.get<number>('attempts')) ?? 0) + 1;
      const decision = { decision: 'allow', cause: 'complete', attempt: attempts };
      context.set('attempts', attempts);
      context.set('last', { attempt, decision });
      return decision;
    },
  },
});
await endpoint().bind(worker).listen(Number(port));
process.send?.('ready');
