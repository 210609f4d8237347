/** list over many actors. It once read 100,000 of them without a pause, and every decision waited 0.6 s. */
import { expect, test } from 'vitest';
import { createFleet } from '../../../machines/index.ts';
import { foldMessage } from '../../../src/host/fold/fold-message.ts';
import type { Host } from '../../../src/host/host.ts';
import { type ListName, list } from '../../../src/service/list.ts';

const count = 4_000;
const fleet = createFleet('main');
for (let seq = 1; seq <= count; seq += 1) {
  // Unsorted.
  const worker = `w${(seq * 7_919) % 10_007}`;
  const agent = seq % 100 === 0 ? 'rare' : 'often';
  const data = Buffer.from(JSON.stringify({ agent }));
  foldMessage(fleet, {
    seq,
    atMs: seq,
    subject: `stopgate.main.worker.${worker}.worker.registered`,
    data,
    header: () => undefined,
  });
}
const host = { fleet, caughtUp: async () => {}, logNow: () => count, pendingReply: () => null } as unknown as Host;
const agentOf = (id: string) => fleet.workers.read(id)?.snapshot.context.worker.agent;
const sorted = [...fleet.workers.keys()].sort();

test.each([
  ['searches for what is nowhere', { agent: 'none' }],
  ['sorts by usage', { sort: 'tokens', limit: 1 }],
])('other work continues while it %s', async (_what, filter) => {
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await list(host, 'workers', filter);
  isDone = true;
  expect(turns).toBeGreaterThan(20);
  // One turn per actor would take longer than the list itself.
  expect(turns).toBeLessThan(1_000);
});

test('a filter that no worker matches returns an empty page', async () => {
  expect(await list(host, 'workers', { agent: 'none' })).toEqual({ items: [], next: null });
});

test.each([{ limit: 1_000 }, { limit: 7, agent: 'rare' }])(
  'pages of %j are in order, without a gap',
  async (filter) => {
    const ids: string[] = [];
    let next: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list(
        host,
        'workers',
        next === null ? filter : { ...filter, after: next },
      );
      ids.push(...page.items.map((it) => ('worker' in it ? (it.worker as string) : '')));
      next = page.next;
    } while (next !== null);
    const expected = sorted.filter((id) => filter.agent === undefined || agentOf(id) === filter.agent);
    expect(ids).toEqual(expected);
  },
);

/** Two escalated workers (one with a task), a worker with two requests, and one that works. */
function foldAsking() {
  const asking = createFleet('main');
  const entries: readonly [tail: string, data: object][] = [
    ['own.fleet.main.policy.set', { policies: { default: { promises: true }, held: { ask: '10m' } } }],
    ['worker.esc.worker.registered', { agent: 'claude', queue: 'main' }],
    ['worker.esc.task.claimed', { task: 'T-1' }],
    ['worker.esc.stop.attempted', { attempt: 'a1', output: 'Which key? <promise>ESCALATE</promise>' }],
    ['worker.asks.worker.registered', { agent: 'codex', queue: 'q2', policy: 'held' }],
    ['worker.asks.input.requested', { kind: 'permission', request: 'r1', tool: 'Bash', detail: 'make deploy' }],
    ['worker.asks.input.requested', { kind: 'elicitation', message: 'Your name?' }],
    ['worker.busy.tool.used', { tool: 'Bash' }],
    ['task.T-2.task.created', { title: 'Docs', queue: 'q2' }],
  ];
  for (const [index, [tail, data]] of entries.entries()) {
    const bytes = Buffer.from(JSON.stringify(data));
    const place = { seq: index + 1, atMs: index * 1_000, subject: `stopgate.main.${tail}` };
    foldMessage(asking, { ...place, data: bytes, header: () => undefined });
  }
  return { fleet: asking, caughtUp: async () => {}, logNow: () => entries.length * 1_000 } as unknown as Host;
}
const asked = foldAsking();
test('escalations lists everything that waits for a person, with its kind, and whether it can be answered here', async () => {
  const { items, next } = await list(asked, 'escalations', {});
  expect(next).toBeNull();
  expect(items).toMatchObject([
    {
      entity: 'task',
      id: 'T-1',
      kind: 'escalation',
      state: 'escalated',
      cause: 'escalated',
      worker: 'esc',
      note: null,
      acknowledgedBy: null,
    },
    { id: 'asks', kind: 'permission', reason: 'Bash: make deploy', request: 'r1', isHeld: true, agent: 'codex' },
    { id: 'asks', kind: 'input', reason: 'Your name?', request: null, isHeld: false },
    { id: 'esc', kind: 'escalation', state: 'escalated', cause: 'escalated', attempt: 'a1' },
  ]);
});

test('its pages are split between actors', async () => {
  const first = await list(asked, 'escalations', { limit: 1 });
  expect([first.items.length, first.next]).toEqual([1, 'task.T-1']);
  const second = await list(asked, 'escalations', { limit: 1, after: first.next });
  // All requests of one worker are on one page.
  expect([second.items.length, second.next]).toEqual([2, 'worker.asks']);
});

test.each<[ListName, object, string[]]>([
  ['escalations', { kind: 'permission' }, ['asks']],
  ['escalations', { kind: 'input' }, ['asks']],
  ['escalations', { kind: 'escalation' }, ['T-1', 'esc']],
  ['escalations', { state: 'escalated' }, ['T-1', 'esc']],
  ['escalations', { state: 'working' }, []],
  ['escalations', { presence: 'active' }, ['asks', 'asks', 'esc']],
  ['escalations', { presence: 'stale' }, []],
  ['escalations', { queue: 'q2' }, ['asks', 'asks']],
  ['escalations', { agent: 'claude' }, ['esc']],
  ['queues', { queue: 'q2' }, ['q2']],
  ['queues', { queue: 'nowhere' }, []],
  ['tasks', { state: 'idle' }, ['T-2']],
  ['tasks', { queue: 'q2' }, ['T-2']],
])('%s filtered by %j', async (name, filter, ids) => {
  const { items } = await list(asked, name, filter);
  const idOf = (item: Record<string, unknown>) => item.id ?? item[name.slice(0, -1)];
  expect(items.map((item) => idOf(item as Record<string, unknown>))).toEqual(ids);
});

test.each<[ListName, object, string]>([
  ['queues', { state: 'idle' }, 'state is not a filter of queues; use queue'],
  ['tasks', { agent: 'claude' }, 'agent is not a filter of tasks; use state, queue'],
  ['workers', { kind: 'permission' }, 'kind is not a filter of workers; use state, presence, queue, agent'],
  ['workers', { quene: 'build' }, 'quene is not a filter of workers; use state, presence, queue, agent'],
])('%s refuses the unknown filter %j', async (name, filter, message) => {
  await expect(list(asked, name, filter)).rejects.toThrow(message);
});

// Root cause: a reply that was too large was an error for everyone who listed the tasks.
test('actors of the maximum size are shortened, so that each page fits into a message', async () => {
  const large = createFleet('main');
  const hook = { type: 'promise', metadata: { note: 'x'.repeat(60_000) } };
  for (let seq = 1; seq <= 60; seq += 1) {
    const subject = `stopgate.main.task.T-${1 + (seq % 3)}.hook.registered`;
    const data = Buffer.from(JSON.stringify({ ...hook, hook: `h${seq}` }));
    foldMessage(large, { seq, atMs: seq, subject, data, header: () => undefined });
  }
  const crowded = { ...host, fleet: large } as unknown as Host;
  const pages: Awaited<ReturnType<typeof list>>[] = [];
  do pages.push(await list(crowded, 'tasks', { after: pages.at(-1)?.next ?? undefined }));
  while (pages.at(-1)?.next !== null);
  expect(pages.flatMap(({ items }) => items)).toMatchObject(
    ['T-1', 'T-2', 'T-3'].map((task) => ({ task, hooks: { length: 20 }, cut: ['hooks'] })),
  );
  for (const page of pages) expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(500_000);
});
