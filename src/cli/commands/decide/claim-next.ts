/** claim-next: claims the next task of a queue for a worker. */
import { randomBytes } from 'node:crypto';
import type { TaskView } from '../../../../machines/index.ts';
import { argument, defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { clientArgs, idOf, timeoutMsDefault } from '../../option-values.ts';

export const claimNext = defineCommand({
  args: {
    worker: argument('WORKER', 'the id of the worker', idOf('worker')),
    queue: option('Q', 'the queue (default: that of the worker)', idOf('queue')),
    request: option('ID', 'the id of this request; repeating it returns the same task', idOf('request')),
    ...clientArgs,
  },
  details: [
    'Claims the first ready task of the queue for the worker: highest priority first, then oldest first. Two workers never get the same task.',
    'Exit code 0: the worker holds the printed task. 1: no task is waiting, or the worker may not claim one.',
  ],
  examples: ['stopgate claim-next w1', 'stopgate claim-next w1 --queue build --json'],
  async run({ flags, io, out }) {
    const { worker, queue: asked, request = randomBytes(12).toString('hex') } = flags;
    const body = { request, queue: asked };
    return withRequester(flags, io, async (requester) => {
      const answer = await requester.request('claim-next', worker, body, timeoutMsDefault);
      const { task, title, queue } = answer as TaskView | { task: null; title?: null; queue?: null };
      if (flags.json) await out.json(answer as object);
      else if (task === null) await out.print(`no task is waiting${asked === undefined ? '' : ` in queue ${asked}`}`);
      else await out.print(`${worker} holds ${task}${title == null ? '' : ` ${title}`} from queue ${queue}`);
      return task === null ? 1 : 0;
    });
  },
});
