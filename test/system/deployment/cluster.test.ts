/**
 * docker/cluster: three NATS nodes, two replicas, Prometheus and the dashboard, with its own commands and files.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Client, openClient, requestInCluster } from '../../support/client.ts';
import { makeFolder } from '../../support/deployment.ts';
import { endService, serveShipped } from '../../support/service.ts';
import { backUpStream, restoreStream } from '../../support/stream-backup.ts';
import {
  type Cluster,
  clusterFile,
  findProgram,
  noCluster,
  openCluster,
  startProgram,
  token,
  untilHealthy,
} from './cluster.ts';

describe.skipIf(noCluster !== null)('three nodes, two replicas', () => {
  let cluster: Cluster;
  let client: Client;
  beforeAll(async () => {
    cluster = await openCluster();
    client = await openClient(`127.0.0.1:${cluster.nats[0]?.ports['4222']}`);
  });
  afterAll(async () => {
    await client?.close();
    await cluster?.close();
  });

  const ask = async (index: number, path: string) => {
    const url = `http://127.0.0.1:${cluster.stopgate[index]?.ports['4280']}${path}`;
    return fetch(url, { headers: { authorization: `Bearer ${token}` } });
  };

  test('the log has three copies, and both replicas answer', async () => {
    const { config } = await client.manager.streams.info('STOPGATE_main');
    expect(config.num_replicas).toBe(3);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => client.ask(`decide.w${index}`)));
    expect(new Set(answers.map(({ body }) => body.replica))).toEqual(new Set(['stopgate-1', 'stopgate-2']));
    for (const index of [0, 1]) expect((await ask(index, '/readyz')).status).toBe(200);
  });

  test('a log, its dead letters and its snapshots have three copies by default', async () => {
    const folder = await makeFolder({});
    onTestFinished(() => folder.remove());
    const nats = `127.0.0.1:${cluster.nats[1]?.ports['4222']}`;
    const service = await serveShipped(['serve', '--nats', nats, '--fleet', 'other', '--http', 'off'], folder.path);
    await endService(service); // with a final snapshot
    for (const stream of ['STOPGATE_other', 'STOPGATE-DEAD_other', 'OBJ_STOPGATE-SNAPSHOTS_other']) {
      const { config } = await client.manager.streams.info(stream);
      expect(config.num_replicas, stream).toBe(3);
    }
  });

  // docs/operations/backup.md. test/docs/backup.test.ts runs its commands on one node.
  test('a backup is restored to all nodes, and the service continues, restarted or running', async () => {
    const folder = await makeFolder({});
    const { nc, manager } = client;
    const nats = `127.0.0.1:${cluster.nats[2]?.ports['4222']}`;
    const serve = () => serveShipped(['serve', '--nats', nats, '--fleet', 'restored', '--http', 'off'], folder.path);
    const ask = async (attempt: string) =>
      (await requestInCluster(nc, 'stopgate.restored.decide.w1', JSON.stringify({ attempt }))).json();
    let service = await serve();
    onTestFinished(async () => {
      await endService(service);
      await folder.remove();
    });
    const decided = await ask('a1');
    await endService(service);
    const streams = ['OBJ_STOPGATE-SNAPSHOTS_restored', 'STOPGATE-DEAD_restored', 'STOPGATE_restored'];
    for (const stream of streams) await backUpStream(nc, stream, join(folder.path, stream));
    for (const stream of streams) await manager.streams.delete(stream);
    for (const stream of streams) await restoreStream(nc, join(folder.path, stream));
    for (const stream of streams) expect((await manager.streams.info(stream)).config.num_replicas).toBe(3);
    service = await serve();
    expect(service.stderr()).toContain('the fold continues from a snapshot');
    expect(service.stderr()).not.toMatch(/lost|went back/);
    expect(await ask('a1')).toEqual(decided);
    expect(await ask('a2')).toMatchObject({ attempt: 'a2', decision: 'allow' });

    const log = 'STOPGATE_restored';
    // The decision is stored after the reply, and is part of the folded log.
    await expect.poll(() => client.stored(log, 'stopgate.restored.decision.w1')).toHaveLength(2);
    await backUpStream(nc, log, join(folder.path, 'again'));
    await manager.streams.delete(log);
    await restoreStream(nc, join(folder.path, 'again'));
    // The service is running, and its reader was deleted with the stream.
    await expect.poll(() => ask('a3')).toMatchObject({ attempt: 'a3', decision: 'allow' });
    expect(service.stderr()).not.toContain('the log is lost');
  });

  const prometheus = findProgram('prometheus');
  describe.skipIf(prometheus === undefined)('Prometheus', () => {
    const port = () => cluster.nats[0]?.ports['4280']; // NATS nodes do not use it
    const query = async (expr: string) => {
      const answer = await fetch(`http://127.0.0.1:${port()}/api/v1/query?query=${encodeURIComponent(expr)}`);
      return (await answer.json()) as { status: string; error?: string; data?: { result: unknown[] } };
    };
    let server: { end(): Promise<void> };
    beforeAll(async () => {
      const config = join(cluster.folder, 'prometheus.yaml');
      await writeFile(join(cluster.folder, 'token'), token);
      const text = cluster
        .toLoopback(await readFile(clusterFile('prometheus.yaml'), 'utf8'))
        .replace('/etc/prometheus/alerts.yaml', clusterFile('alerts.yaml').pathname)
        .replace('/run/secrets/stopgate_token', join(cluster.folder, 'token'))
        .replaceAll('15s', '1s');
      await writeFile(config, text);
      const command = cluster
        .commandOf('prometheus')
        .map((it) =>
          it.replace('/etc/prometheus/prometheus.yaml', config).replace('=/prometheus', `=${cluster.folder}/tsdb`),
        );
      server = startProgram('prometheus', prometheus as string, [
        ...command,
        `--web.listen-address=127.0.0.1:${port()}`,
      ]);
      await untilHealthy(`http://127.0.0.1:${port()}/-/ready`);
    });
    afterAll(() => server?.end());

    test('every query of the dashboard finds its series', async () => {
      await client.publish('worker.w1.tool.used', 'no JSON');
      await client.publish('worker.w1.task.completed', { task: 'never-claimed' });
      type Board = { panels: { title: string; targets: { expr: string }[] }[] };
      const board = JSON.parse(await readFile(clusterFile('grafana/stopgate.json'), 'utf8')) as Board;
      // There are no series of task hooks or webhooks here.
      const quiet = new Set(['Hooks on tasks', 'Webhooks']);
      const queries = board.panels.flatMap(({ title, targets }) =>
        targets.map(({ expr }) => ({
          title,
          expr: expr.replaceAll('$fleet', '.*').replaceAll('$__rate_interval', '1m'),
        })),
      );
      const states = async () => {
        await client.ask('decide.w1');
        const found = await Promise.all(
          queries.map(async ({ title, expr }) => {
            const { status, error, data } = await query(expr);
            return `${title}: ${status === 'success' ? (quiet.has(title) || data?.result.length ? 'ok' : 'empty') : error}`;
          }),
        );
        return found.filter((line) => !line.endsWith(': ok'));
      };
      await expect.poll(states, { interval: 1_000 }).toEqual([]);
    });

    test('the alert rules are loaded, and a missing replica raises an alert', async () => {
      const answer = await fetch(`http://127.0.0.1:${port()}/api/v1/rules`);
      type Rules = { data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] } };
      const { data } = (await answer.json()) as Rules;
      const rules = data.groups.flatMap((group) => group.rules);
      expect(rules.length).toBeGreaterThan(10);
      expect(rules.filter(({ health }) => health === 'err')).toEqual([]);
      // Even the first of its code raises the alert, because its series starts at 0.
      await client.publish('worker.w1.worker.promoted', {});
      const alerts = async (labels: string) => (await query(`ALERTS{${labels}}`)).data?.result.length;
      const malformed = 'alertname="StopgateDeadLetters",alertstate="firing",code="UNKNOWN_TYPE"';
      await expect.poll(() => alerts(malformed), { interval: 500 }).toBe(1);
      await cluster.stopgate[1]?.end('SIGKILL');
      const gone = () => alerts('alertname="StopgateReplicaDown"');
      await expect.poll(gone, { interval: 500 }).toBe(1);
    });
  });

  test('stops are judged without one replica and one NATS node', async () => {
    await cluster.stopgate[1]?.end('SIGKILL');
    await cluster.nats[2]?.end();
    const decide = () =>
      client.ask('decide.w-last', { attempt: 'a1' }, 2_000).then(
        ({ body }) => body.replica,
        () => 'no answer',
      );
    await expect.poll(decide, { interval: 250 }).toBe('stopgate-1');
  });
});

const promtool = findProgram('promtool');
test.skipIf(promtool === undefined)('each alert fires at the right time', async () => {
  const file = clusterFile('alerts.test.yaml').pathname;
  const ran = await promisify(execFile)(promtool as string, ['test', 'rules', file]);
  expect(ran.stdout).toContain('SUCCESS');
});

const systemd = findProgram('systemd-analyze');
test.skipIf(systemd === undefined)('systemd accepts the unit', async () => {
  const unit = await readFile(new URL('../../../docker/systemd/stopgate.service', import.meta.url), 'utf8');
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-unit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'stopgate.service');
  await writeFile(file, unit.replace('/usr/local/bin/stopgate', '/usr/bin/env'));
  await expect(promisify(execFile)(systemd as string, ['verify', file])).resolves.toMatchObject({ stderr: '' });
});
