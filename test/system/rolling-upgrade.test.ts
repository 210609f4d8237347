/**
 * A rolling upgrade (protocol.md §15): the previous release, built from git, and this one side by side on one log, under
 * load; then the old one ends, and is started again, as in a way back. Nothing is lost, and both give the same answers.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Decision } from '../../machines/index.ts';
import { ask } from '../integration/http/request.ts';
import { type Client, openClient } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../support/deployment.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { buildRelease, findPreviousRelease, type PreviousRelease } from '../support/previous-release.ts';
import { endService, type Service, serveBuild, serveShipped } from '../support/service.ts';
import { runShipped, startBuild } from '../support/shipped.ts';

const config = `policies:
  default: { checks: [{ plan: {} }], retries: 2, onCap: escalate }
  tested: { checks: [{ command: odd, onError: block }], retries: 1 }
  brief: { persistence: { idle: 300ms, hold: 20s, queue: brief } }
commands:
  odd: { run: [sh, -c, 'case "$STOPGATE_ATTEMPT" in *[02468]) exit 0;; *) echo odd; exit 1;; esac'], cwd: . }
`;
const policies = ['default', 'tested', 'default', 'brief'];
const concurrency = 8;
const perLoop = 10;

const commit = await findPreviousRelease();
const title = 'the previous release and this one';
const noHistory = 'git has no history here to build it from; fetch it with: git fetch --unshallow';

describe.skipIf(commit === null)(commit === null ? `${title} (${noHistory})` : title, () => {
  let previous: PreviousRelease;
  let server: NatsServer;
  let folder: Folder;
  let client: Client;
  let old: Service;
  let startOld: () => Promise<Service>;
  let next: Service;
  const given = new Map<string, Decision>();
  const workers = () => [...new Set([...given.keys()].map((key) => key.split(':')[0] as string))];

  beforeAll(async () => {
    previous = await buildRelease(commit as string);
    server = await startNatsServer();
    folder = await makeFolder({ 'stopgate.yaml': config });
    client = await openClient(server.url);
    const line = ['serve', '--nats', server.url, '--http', '127.0.0.1:0', '--replica'];
    startOld = async () => {
      await old?.kill('SIGKILL'); // a test that is run again has left one
      return serveBuild(previous.main)([...line, 'old'], folder.path);
    };
    old = await startOld();
    await load('alone'); // it has a log of its own before the other comes
    next = await serveShipped([...line, 'new'], folder.path);
  });
  afterAll(async () => {
    for (const service of [old, next]) await service?.kill('SIGKILL');
    await client?.close();
    await server?.stop();
    await folder?.remove();
    await previous?.remove();
  });

  /** Asks again where it is told to, as clients do. @throws Error: any other refusal */
  async function decide(worker: string, attempt: string): Promise<void> {
    for (let turn = 0; turn < 30; turn += 1) {
      const answer = await client.ask(`decide.${worker}`, { attempt }, 2_000).catch(() => null);
      if (answer?.code === '') return void given.set(`${worker}:${attempt}`, answer.body);
      if (answer !== null && answer.code !== '503') throw new Error(`${worker}:${attempt}: ${JSON.stringify(answer)}`);
    }
    throw new Error(`${worker}:${attempt} was never answered`);
  }

  /** @param onHalf is called once half of the workers are through */
  async function load(name: string, onHalf: () => void = () => undefined): Promise<void> {
    let through = 0;
    const loop = async (_: unknown, index: number) => {
      for (let count = 0; count < perLoop; count += 1) {
        const worker = `${name}-${index}-${count}`;
        const policy = policies[(index + count) % policies.length];
        await client.publish(`worker.${worker}.worker.registered`, { policy, cwd: folder.path });
        await client.publish(`worker.${worker}.plan.updated`, { steps: [{ title: 'Test', status: 'pending' }] });
        if (count % 3 === 0) await client.publish(`worker.${worker}.plan.updated`, 'not JSON');
        for (const attempt of ['a1', 'a2', 'a3']) await decide(worker, attempt);
        through += 1;
        if (through === (concurrency * perLoop) / 2) onHalf();
      }
    };
    await Promise.all(Array.from({ length: concurrency }, loop));
  }

  const httpOf = ({ ready }: Service) => ready.http ?? '';
  const viewOf = async (service: Service, worker: string) =>
    (await ask(httpOf(service), `/api/main/get/worker/${worker}`)).json as object;
  /** How long a worker has been idle depends on when one asks, and the old release has no `presenceFrom`. */
  const viewsAt = (service: Service) =>
    Promise.all(workers().map(async (it) => ({ ...(await viewOf(service, it)), idle: null, presenceFrom: undefined })));
  /** Who repeats it, and how long that took, is another matter. */
  const essence = ({ replica: _, tookMs: __, ...decision }: Decision & { tookMs?: number }) => decision;
  async function repeatedAt(service: Service): Promise<object[]> {
    const answers: object[] = [];
    const keys = [...given.keys()].entries();
    // All loops take from one iterator.
    const loop = async () => {
      for (const [at, key] of keys) {
        const [worker, attempt] = key.split(':') as [string, string];
        const { json } = await vi.waitUntil(
          async () => {
            const answer = await ask(httpOf(service), `/api/main/decide/${worker}`, { body: { attempt } });
            return answer.status === 503 ? null : answer;
          },
          { timeout: 60_000 },
        );
        answers[at] = essence(json as Decision);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, loop));
    return answers;
  }

  test('side by side they decide alike, and know the same of every worker', async () => {
    await load('both');
    const replicas = new Set([...given.values()].map(({ replica }) => replica));
    expect(replicas).toEqual(new Set(['old', 'new']));
    const answers = [...given.values()].map(essence);
    expect(await repeatedAt(next)).toEqual(answers);
    expect(await repeatedAt(old)).toEqual(answers);
    expect(await viewsAt(next)).toMatchObject(await viewsAt(old)); // a release may add fields
  });

  test('the old one ends under load: every attempt is answered, and nothing is lost', async () => {
    let ending: Promise<void> | undefined;
    await load('ends', () => {
      ending = endService(old);
    });
    await ending;
    expect(await repeatedAt(next)).toEqual([...given.values()].map(essence));
    expect((await ask(httpOf(next), '/readyz')).status).toBe(200);
    for (const service of [old, next]) expect(service.stderr()).not.toMatch(/LOG_LOST|"level":"(error|fatal)"/);
  });

  test('the way back: the old one folds what the new one stored, and takes over', async () => {
    old = await startOld();
    expect(await viewsAt(next)).toMatchObject(await viewsAt(old));
    await endService(next);
    await load('back');
    expect(await repeatedAt(old)).toEqual([...given.values()].map(essence));
  });

  test('a replay by either release decides as was decided', async () => {
    const at = { cwd: folder.path };
    await folder.write('log.jsonl', (await runShipped(['export', '--nats', server.url], at)).stdout);
    // Exit code 2: it has lines that are refused, too.
    const { code, stdout } = await runShipped(['replay', 'log.jsonl'], at);
    const ofPrevious = await runCommand(['replay', 'log.jsonl'], at, startBuild(previous.main));
    expect([code, stdout]).toEqual([2, ofPrevious.stdout]);
    const replayed = new Map(
      (linesOf(stdout) as unknown as Decision[]).map((it) => [`${it.worker}:${it.attempt}`, it.cause]),
    );
    expect(replayed).toEqual(new Map([...given].map(([key, { cause }]) => [key, cause])));
  });
});
