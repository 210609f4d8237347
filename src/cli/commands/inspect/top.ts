/** top: shows the fleet live on the terminal, with keys for workers that wait for a person. */
import { emitKeypressEvents } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { WorkerView } from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import type { Requester } from '../../../nats/requester.ts';
import type { Io } from '../../../terminal/process-io.ts';
import { enterScreen, leaveScreen, repaint } from '../../../terminal/text.ts';
import { defineCommand, option } from '../../command.ts';
import { connect, resolveAddress } from '../../connection.ts';
import { createLink, readAll } from '../../listing/list.ts';
import { addressArgs, timeoutMsDefault, toDuration } from '../../option-values.ts';
import { canAsk } from '../../questions.ts';
import { draw } from '../../top/draw.ts';
import { type Action, emptyModel, type Key, type Model, pressKey, type Reading, withWorkers } from '../../top/model.ts';
import { loginName } from '../operate/operator-entry.ts';

const everyMsMin = 200;

/** More than fits on any screen. */
const workersMax = 1_000;
const waitingMax = 100;

export const top = defineCommand({
  args: {
    every: option('DURATION', 'refresh interval: 5s, 500ms (default: 1s)', toDuration),
    by: option('NAME', 'your name, stored with each of your actions (default: your login name)'),
    ...addressArgs,
  },
  details: [
    'Shows workers with their clocks and last decisions, those that wait for a person first, and why the selected one may or may not stop. Press ? for the keys; they also answer escalations and permission requests.',
    'Needs a terminal. For scripts, use "stopgate workers --watch --json".',
  ],
  examples: ['stopgate top', 'stopgate top --fleet research --every 5s'],
  run: async ({ flags, io, out, asTyped }) => {
    if (!canAsk(io))
      throw new AppError('input.bad', 'top needs a terminal; in scripts, use "stopgate workers --watch"');
    const { every: everyMs = 1_000 } = flags;
    const address = await resolveAddress(flags, io);
    const by = flags.by ?? loginName(io);
    const quit = new AbortController();
    const end = AbortSignal.any([io.interrupt(), out.closed, quit.signal]);
    const link = createLink(() => connect(address));
    let model: Model = withWorkers(emptyModel, await link.use(readWorkers));
    const show = async () => {
      if (end.aborted) return;
      const size = io.size();
      const lines = draw(model, address.fleet, out.colors, size, asTyped).slice(0, size.rows);
      await out.write(repaint(lines));
    };
    const refresh = async () => {
      model = await link.use(readWorkers).then(
        (found) => withWorkers(model, found),
        (error: Error) => ({ ...model, fault: error.message }),
      );
    };
    const act = async (action: Action) => {
      const news = await link.use((requester) => publish(requester, action, by)).catch((error: Error) => error.message);
      await refresh();
      model = { ...model, news };
    };
    await out.write(enterScreen);
    const keys = readKeys(io, (key) => {
      const { action, ends = false, ...step } = pressKey(model, key);
      model = step.model;
      if (ends) quit.abort();
      void show();
      if (action !== undefined) void act(action).then(show);
    });
    try {
      while (!end.aborted) {
        await show();
        await pause(Math.max(everyMsMin, everyMs), undefined, { signal: end }).catch(() => undefined);
        if (!end.aborted) await refresh();
      }
      return 0;
    } finally {
      keys.close();
      await out.write(leaveScreen);
      await link.close();
    }
  },
});

async function readWorkers(requester: Requester): Promise<Reading> {
  const read = (filter: object, limit: number) =>
    readAll<WorkerView>(requester, 'worker', { filter, limit, timeoutMs: timeoutMsDefault });
  const found = await read({}, workersMax + 1);
  const readMs = Date.now();
  if (found.length <= workersMax) return { workers: found, isCut: false, readMs };
  const workers = found.slice(0, workersMax);
  // Always include those that wait for a person.
  const waiting = await read({ state: 'escalated' }, waitingMax);
  const known = new Set(workers.map(({ worker }) => worker));
  return { workers: [...workers, ...waiting.filter(({ worker }) => !known.has(worker))], isCut: true, readMs };
}

async function publish(requester: Requester, { worker, type, data }: Action, by: string): Promise<string> {
  await requester.publish(`own.worker.${worker}.${type}`, { by, ...data });
  const what = {
    'escalation.acknowledged': 'acknowledged',
    'escalation.resolved': 'resolved',
    'input.answered': 'answered',
  };
  return `${worker}: ${what[type]}${data.verdict === undefined ? '' : `, ${data.verdict}`}`;
}

function readKeys({ stdin }: Io, onKey: (key: Key) => void): { close(): void } {
  const terminal = stdin as Io['stdin'] & Partial<Pick<NodeJS.ReadStream, 'setRawMode'>>;
  emitKeypressEvents(stdin);
  const take = (text: string | undefined, { name = '', ctrl = false }: { name?: string; ctrl?: boolean }) =>
    onKey({ name, ctrl, text: text ?? '' });
  terminal.setRawMode?.(true);
  stdin.on('keypress', take).resume();
  return {
    close() {
      stdin.off('keypress', take).pause();
      terminal.setRawMode?.(false);
    },
  };
}
