/** The dialog's description of an action, for one actor and for several. */
import { expect, test } from 'vitest';
import { effectsOf } from '../../../src/inspector/client/operator/settle.ts';

const [worker, task] = [
  { entity: 'worker', id: 'w' },
  { entity: 'task', id: 't' },
] as const;

test.each([
  ['resume', [worker], ['It may continue. Its agent gets your text as the next prompt.']],
  ['resume', [worker, worker], ['They may continue. Each agent gets your text as its next prompt.']],
  ['stop', [task], ['It is cancelled.']],
  ['stop', [task, task], ['They are cancelled.']],
  [
    'stop',
    [worker, task, task],
    ['Worker: It stops for good: its next attempt to stop is allowed.', 'Tasks: They are cancelled.'],
  ],
  ['acknowledge', [worker, task], ['You take charge of them. They stay escalated until they are resolved.']],
] as const)('%s of %j', (action, targets, texts) => {
  expect(effectsOf(action, targets)).toEqual(texts);
});
