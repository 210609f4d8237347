/** Simulated agents: they register, claim tasks, use tools, and repeat stop attempts until they may stop. */
import { attemptMessageId, type Decision } from '../../machines/index.ts';
import { type Client, createClient } from './client.ts';
import type { Asked } from './ledger.ts';
import type { Random } from './random.ts';
import { epochMs } from './scheduler.ts';
import { fleet, type World } from './world.ts';

export type Agents = {
  /** Whether every agent has finished. */
  isDone(): boolean;
};

const tasks = 6;
const turnsMax = 5;
const hooks = [
  { hook: 'h1', type: 'validation' },
  { hook: 'h2', type: 'remote', name: 'mentor' },
  { hook: 'h3', type: 'default', when: { filesModified: true } },
];
const policies = ['default', 'judged', 'plain', 'held'];

export function startAgents(world: World): Agents {
  let open = 0;
  const agents: Agent[] = [];
  const start = (run: () => Promise<void>) => {
    open += 1;
    const end = () => {
      open -= 1;
    };
    world.scheduler.after(null, 1, () => void run().then(end));
  };
  for (let index = 1; index <= world.settings.workers; index += 1) {
    const agent = createAgent(world, `w${index}`);
    agents.push(agent);
    start(() => work(agent));
  }
  start(() => createTasks(world, agents));
  serveCheck(world, 'judge', 0.1);
  // The wait for a hook that does not reply ends only after its timeout of 120 s.
  serveCheck(world, 'mentor', 0);
  return { isDone: () => open === 0 };
}

type Agent = {
  readonly world: World;
  readonly client: Client;
  readonly random: Random;
  readonly worker: string;
  count: number;
};

function createAgent(world: World, worker: string): Agent {
  return { world, worker, client: createClient(world, worker), random: world.random.fork(worker), count: 0 };
}

const isBusy = ({ scheduler, settings }: World) => scheduler.nowMs - epochMs < settings.busyMs;

async function work(agent: Agent): Promise<void> {
  const { world, client, random, worker } = agent;
  await client.sleep(random.spread(5, 3_000));
  if (random.chance(0.8)) await publish(agent, `worker.${worker}.worker.registered`, { policy: random.pick(policies) });
  for (let turn = 0; turn < turnsMax && isBusy(world); turn += 1) {
    await takeTurn(agent);
    const decision = await stop(agent);
    const isOver = decision?.decision === 'allow' && random.chance(0.3);
    if (isOver && random.chance(0.5)) {
      await publish(agent, `worker.${worker}.session.ended`, {});
      if (!comesAgain(agent)) return;
      await client.sleep(random.spread(300, 12_000));
      // By an attempt that it had before, it is the same one, or is forgotten and judged again.
      if (random.chance(0.5)) await stop(agent, `a${random.int(1, agent.count)}`);
    }
    await client.sleep(random.spread(20, 3_000));
    if (decision?.decision === 'allow') await publish(agent, `worker.${worker}.prompt.submitted`, { text: 'go on' });
  }
}

/** With forgetting enabled, it may be a new worker by then. */
const comesAgain = ({ world, random }: Agent) => world.settings.policies.forget !== undefined && random.chance(0.8);

async function takeTurn(agent: Agent): Promise<void> {
  const { client, random, worker } = agent;
  const task = `t${random.int(1, tasks)}`;
  const own = (type: string, data: object) => publish(agent, `worker.${worker}.${type}`, data);
  const steps: (() => Promise<void>)[] = [
    () => own('tool.used', { tool: 'edit', ok: true, files: [`src/f${random.int(1, 4)}.ts`] }),
    () =>
      own('plan.updated', {
        steps: [
          { title: 'a', status: 'done' },
          { title: 'b', status: random.pick(['done', 'pending']) },
        ],
      }),
    () => own('task.claimed', { task }),
    () => claimNext(agent),
    () => own('task.completed', { task }),
    () => own('task.released', { task }),
    () => own('heartbeat.sent', {}),
    () => own('usage.reported', { usd: random.int(0, 4) / 10, output: random.int(0, 100) }),
    () => own('background.started', { id: 'b1' }),
    () => own('background.finished', { id: 'b1' }),
    () => publish(agent, `task.${task}.hook.registered`, random.pick(hooks)),
    () => publish(agent, `own.worker.${worker}.escalation.resolved`, { by: 'op', verdict: 'resume' }),
    () => publish(agent, `task.${task}.iteration.started`, { iteration: random.int(1, 2), maxIterations: 3 }),
    () => evaluate(agent, task),
    () => lookOverHttp(agent),
  ];
  for (let count = random.int(0, 3); count > 0; count -= 1) {
    await random.pick(steps)();
    if (random.chance(0.5)) await client.sleep(random.spread(1, 300));
  }
}

/** Asked again under its id, it is the same task. */
async function claimNext({ world, client, random, worker, ...agent }: Agent): Promise<void> {
  const request = `r${agent.count}-${random.int(0, 1e9)}`;
  for (let tries = 0; tries < 3; tries += 1) {
    const timeoutMs = random.spread(1_000, 5_000);
    const reply = await client.request(`stopgate.${fleet}.claim-next.${worker}`, JSON.stringify({ request }), {
      timeoutMs,
    });
    if (reply === null || reply.errorCode !== undefined) continue;
    const { task } = JSON.parse(reply.data) as { task: string | null };
    if (task !== null) world.ledger.claimed.push({ worker, request, task });
    if (random.chance(0.7)) return;
  }
}

/** The reply does not matter, only that there is an end. */
async function evaluate({ client, random }: Agent, task: string): Promise<void> {
  const body = JSON.stringify({ iteration: random.int(1, 2) });
  await client.request(`stopgate.${fleet}.evaluate.${task}`, body, { timeoutMs: random.spread(500, 5_000) });
}

/** Whether there was a reply: a result or an error. */
async function lookOverHttp({ world, client, random, worker }: Agent): Promise<void> {
  const { name, process } = random.pick(world.members);
  const path = random.pick([`get/worker/${worker}`, 'list/tasks', `probe/${worker}`]);
  world.scheduler.after(process, 0.3, () => {
    void world.http
      .request(path.startsWith('probe') ? 'POST' : 'GET', `/api/${name}/${path}`)
      .then(({ status, text }) => {
        if (![200, 404, 503].includes(status)) world.fail(`${path} over HTTP: ${status} ${text}`);
      });
  });
  await client.sleep(1);
}

/** Publishes an entry: repeatedly until it is acknowledged if it has a message id, otherwise once. */
async function publish({ world, client, random, worker, count }: Agent, tail: string, data: object): Promise<void> {
  const subject = `stopgate.${fleet}.${tail}`;
  const payload = JSON.stringify(data);
  if (random.chance(0.3)) return client.publish(subject, payload);
  const headers = random.chance(0.8) ? { 'Nats-Msg-Id': `${worker}-e${count}-${random.int(0, 1e9)}` } : undefined;
  for (let tries = headers === undefined ? 1 : 3; tries > 0; tries -= 1) {
    const reply = await client.request(subject, payload, {
      timeoutMs: 1_500,
      ...(headers === undefined ? {} : { headers }),
    });
    const ack = reply === null ? {} : (JSON.parse(reply.data) as { seq?: number; error?: object });
    if (ack.seq !== undefined && ack.error === undefined) {
      world.ledger.acknowledged.push({ seq: ack.seq, subject, payload });
      return;
    }
    await client.sleep(random.spread(50, 800));
  }
}

const triesMax = 12;

/** Repeats a request with one id until there is a reply. Null if the caller gives up. */
async function stop(agent: Agent, attempt = newAttempt(agent)): Promise<Decision | null> {
  const { world, client, random, worker } = agent;
  const key = attemptMessageId(worker, attempt);
  const asked: Asked = world.ledger.asked.get(key) ?? { worker, attempt, answers: [], gaveUp: false };
  world.ledger.asked.set(key, asked);
  const fields = {
    attempt,
    ...(random.chance(0.3) ? { validation: [{ rule: 'lint', passed: random.chance(0.5) }] } : {}),
  };
  for (let tries = 0; tries < triesMax; tries += 1) {
    const ask = random.pick([askByRequest, askFast, askOverHttp]);
    // An impatient caller sends the request twice.
    if (random.chance(0.1))
      void askByRequest(agent, attempt, fields).then((found) => note(agent, asked, found, 'twin'));
    const found = await ask(agent, attempt, fields);
    note(agent, asked, found, ask.name);
    if (found !== null) return found;
    await client.sleep(random.spread(50, 1_500));
  }
  asked.gaveUp = true;
  return null;
}

function newAttempt(agent: Agent): string {
  agent.count += 1;
  return `a${agent.count}`;
}

function note({ world }: Agent, asked: Asked, decision: Decision | null, via: string): void {
  if (decision === null) return;
  world.trace(`${asked.worker} ${asked.attempt} gets: ${decision.decision} · ${decision.cause}`);
  asked.answers.push({ decision, via, atMs: world.scheduler.nowMs });
}

type Ask = (agent: Agent, attempt: string, fields: object) => Promise<Decision | null>;

const askByRequest: Ask = async ({ client, random, worker }, _attempt, fields) => {
  const timeoutMs = random.spread(1_000, 10_000);
  const reply = await client.request(`stopgate.${fleet}.decide.${worker}`, JSON.stringify(fields), { timeoutMs });
  return reply === null || reply.errorCode !== undefined ? null : (JSON.parse(reply.data) as Decision);
};

const askFast: Ask = async ({ client, random, worker }, attempt, fields) => {
  const reply = await client.request(`stopgate.${fleet}.worker.${worker}.stop.attempted`, JSON.stringify(fields), {
    timeoutMs: random.spread(1_000, 10_000),
    // A plain client may omit it and is then identified by its attempt alone.
    headers: random.chance(0.7) ? { 'Nats-Msg-Id': attemptMessageId(worker, attempt) } : {},
    replyHeader: 'Stopgate-Reply',
  });
  return reply === null ? null : (JSON.parse(reply.data) as Decision);
};

/** As the hooks do: by the handlers of a replica, in its own process. */
const askOverHttp: Ask = ({ world, client, random, worker }, _attempt, fields) =>
  new Promise((resolve) => {
    const late = world.scheduler.after(client.process, random.spread(1_000, 10_000), () => resolve(null));
    const answer = (decision: Decision | null) =>
      void world.scheduler.after(client.process, 0.3, () => {
        late.cancel();
        resolve(decision);
      });
    const member = random.pick(world.members);
    if (member.replica?.service.status().ready !== true) return answer(null);
    world.scheduler.after(member.process, 0.3, () => {
      void world.http
        .request('POST', `/api/${member.name}/decide/${worker}`, fields)
        .then(({ status, text }) => answer(status === 200 ? (JSON.parse(text) as Decision) : null));
    });
  });

async function createTasks(world: World, workers: readonly Agent[]): Promise<void> {
  const agent = createAgent(world, 'planner');
  for (let index = 1; index <= tasks; index += 1) {
    await agent.client.sleep(agent.random.spread(50, world.settings.busyMs / tasks));
    const after = index > 1 && agent.random.chance(0.2) ? { after: [`t${index - 1}`] } : {};
    const queue = index === tasks ? { queue: 'quiet' } : {};
    await publish(agent, `task.t${index}.task.created`, { title: `task ${index}`, ...after, ...queue });
    // All waiting workers request it at the same time.
    if (agent.random.chance(0.5)) for (const worker of workers) void claimNext(worker);
  }
}

/** A remote check that is sometimes slow, silent or wrong. */
function serveCheck(world: World, name: string, silentShare: number): void {
  const client = createClient(world, name);
  const random = world.random.fork(name);
  client.serve(`stopgate.${fleet}.check.${name}`, 'stopgate-check', async () => {
    await client.sleep(random.spread(2, 4_000));
    if (random.chance(silentShare)) return null;
    if (random.chance(0.05)) return 'not JSON';
    return JSON.stringify({ complete: random.chance(0.5), reason: 'as it is' });
  });
}
