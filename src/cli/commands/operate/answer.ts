/** answer: a person answers what an agent asks. */
import type { InputRequest, WorkerView } from '../../../../machines/index.ts';
import { sentence } from '../../../../machines/replay/standing.ts';
import { AppError } from '../../../errors.ts';
import { createAnswer, openRequest } from '../../../service/open-request.ts';
import { cut } from '../../../terminal/text.ts';
import { argument, defineCommand, flag, option } from '../../command.ts';
import { describeInput } from '../../text/actor-text.ts';
import { operatorArgs, publishOperatorEntry } from './operator-entry.ts';

/** The length to which the tool's request is cut in the question. */
const detailMax = 300;

export const answer = defineCommand({
  args: {
    worker: argument('WORKER', 'the id of the worker'),
    allow: flag('allow the request'),
    deny: flag('deny the request'),
    request: option('R', 'which request, if several are open'),
    message: option('TEXT', 'for the agent: the reason of --deny, the answer to a question'),
    ...operatorArgs,
  },
  details: [
    'Answers a permission request that a hook holds. The policy of the worker needs "ask", such as "ask: 5m".',
    'A question is answered by --allow with the choice, or your own words, as --message; several questions by a JSON',
    'object of their answers. Nothing is answered twice. Without a terminal it needs --yes. Exit code 1: no such request is open, or the worker is not known.',
  ],
  examples: [
    'stopgate answer w1 --allow',
    'stopgate answer w1 --deny --message "Not on main" --yes',
    'stopgate answer w1 --allow --message New',
  ],
  run: async (context) => {
    const { worker, allow, deny, request, message } = context.flags;
    if (allow === deny) throw new AppError('input.bad', 'pass either --allow or --deny');
    const verdict = allow ? 'allow' : 'deny';
    return publishOperatorEntry(
      {
        entity: 'worker',
        id: worker,
        type: 'input.answered',
        data: (view) => createAnswer(view as WorkerView, { request, verdict, message }),
        needs: null,
        question: (view) =>
          `${sentence(`It asks: ${describe(view as WorkerView, request)}`)} ${allow ? 'Allow' : 'Deny'} it?`,
        describe: async (view) => {
          const { lastAnswer } = view as WorkerView;
          return [`${worker}: ${lastAnswer?.verdict ?? 'nothing'}, said ${lastAnswer?.by ?? 'nobody'}`];
        },
      },
      context,
    );
  },
});

function describe(view: WorkerView, request: string | undefined): string {
  const id = openRequest(view, request);
  return cut(describeInput(view.inputs.find((it) => it.request === id) as InputRequest), detailMax);
}
