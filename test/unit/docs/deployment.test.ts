/** The files of docker/ fit the program: their options, metrics and labels exist, and nothing runs as root. */
import { readFileSync } from 'node:fs';
import type { Metric } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { createProgram } from '../../../src/cli/program.ts';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { serverLimits } from '../../../src/nats/accounts.ts';
import { roles } from '../../../src/nats/permissions.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createColors } from '../../../src/terminal/text.ts';

const read = (path: string) => readFileSync(new URL(`../../../docker/${path}`, import.meta.url), 'utf8');

type Container = { readonly name: string; readonly args: string[]; readonly securityContext: object };
type Pod = { readonly securityContext: object; readonly containers: Container[] };
type Resource = { readonly kind: string; readonly spec?: { readonly template?: { readonly spec: Pod } } };
type Compose = { readonly services: Record<string, Record<string, unknown> & { command?: string[] }> };

const resources = ['kubernetes/stopgate.yaml', 'kubernetes/shards.yaml'].flatMap((path) =>
  parseAllDocuments(read(path)).map((it) => it.toJS() as Resource),
);
const pods = resources.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec.template.spec]));
const composeOf = (path: string) => parse(read(path), { merge: true }) as Compose;
/** Returns the paths of its volumes in the container. */
const targetsOf = (service: Record<string, unknown> | undefined) =>
  ((service?.volumes ?? []) as string[]).map((volume) => volume.split(':')[1]);
const composes = ['compose.yaml', 'cluster/compose.yaml'].map(composeOf);
const services = composes.flatMap((compose) =>
  Object.entries(compose.services).filter(([name]) => name.startsWith('stopgate')),
);

/** @throws Error if serve has no such option */
async function parseServe(args: readonly string[]): Promise<void> {
  const program = createProgram({
    argv: ['serve', ...args],
    asTyped: (text) => text,
    colors: createColors(false),
    width: 80,
    write: () => {},
    run: async () => {},
  });
  await program.parseAsync(['serve', ...args], { from: 'user' });
}

test.each([
  ...services.map(([name, { command = [] }]) => [name, command] as const),
  ...pods.flatMap(({ containers }) => containers.map(({ name, args }) => [`${name} of a pod`, args] as const)),
])('the options of %s are options of serve', async (_name, args) => {
  await expect(parseServe(args)).resolves.toBeUndefined();
});

test('compose with accounts overrides existing settings', async () => {
  const [plain, accounts] = [composeOf('compose.yaml'), composeOf('compose.accounts.yaml')];
  expect(Object.keys(plain.services)).toEqual(expect.arrayContaining(Object.keys(accounts.services)));
  const { stopgate, nats } = accounts.services;
  await expect(parseServe(stopgate?.command ?? [])).resolves.toBeUndefined();
  // The later of two volumes with one path counts.
  expect(targetsOf(plain.services.nats)).toEqual(expect.arrayContaining(targetsOf(nats)));
  const { STOPGATE_NATS = '' } = (stopgate?.environment ?? {}) as Record<string, string>;
  const [user] = /(?<=\/\/)\w+(?=:)/.exec(STOPGATE_NATS) ?? [];
  expect(roles).toContain(user);
});

test('every NATS server has the limits of the embedded one', () => {
  const servers = composes.flatMap((compose) =>
    Object.entries(compose.services).filter(([name]) => name.startsWith('nats')),
  );
  expect(servers.length).toBe(4);
  for (const [name, server] of servers) {
    expect(server.command?.join(' '), name).toContain('--config /etc/nats/nats.conf');
    expect(targetsOf(server), name).toContain('/etc/nats/nats.conf');
  }
  const { max_pending, write_deadline, max_connections } = parse(read('nats.conf')) as Record<string, string>;
  expect({ max_pending: Number.parseInt(max_pending ?? '', 10) * 1_048_576, write_deadline, max_connections }).toEqual(
    serverLimits,
  );
});

test('all our containers run without privileges on a read-only root', () => {
  expect(services.length).toBe(3);
  for (const [name, service] of services)
    expect(service, name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  expect(pods.length).toBe(2);
  for (const { securityContext, containers } of pods) {
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    for (const container of containers)
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
  }
  const dockerfile = read('Dockerfile');
  expect(dockerfile).toMatch(/^USER 1000:1000$/m);
  expect(dockerfile).toMatch(/^HEALTHCHECK /m);
  // A single message can end Debian's nats-server, or delete its log.
  expect(dockerfile).toMatch(/^ARG NATS_IMAGE=nats:2\.(1[5-9]|[2-9]\d)/m);
  expect(dockerfile).not.toMatch(/apt-get/);
});

test('the policies are valid', () => {
  const [config] = resources.filter(({ kind }) => kind === 'ConfigMap') as unknown as {
    data: Record<string, string>;
  }[];
  for (const text of [read('cluster/stopgate.yaml'), config?.data['stopgate.yaml'] ?? 'none'])
    expect(readConfigFile(text, 'stopgate.yaml')).toMatchObject({ ok: true });
});

describe('metrics', () => {
  type Rules = { groups: { rules: { alert: string; expr: string; labels: { severity: string } }[] }[] };
  type Board = { panels: { title: string; targets: { expr: string }[] }[] };
  const rules = (parse(read('cluster/alerts.yaml')) as Rules).groups.flatMap((group) => group.rules);
  const board = JSON.parse(read('cluster/grafana/stopgate.json')) as Board;
  const queries = [
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
    ...board.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ];
  const { registry } = createMetrics();
  const metricOf = (name: string) =>
    (registry.getSingleMetric(name) ?? registry.getSingleMetric(name.replace(/_(bucket|sum|count)$/, ''))) as
      | (Metric & { labelNames: string[] })
      | undefined;

  test.each(queries)('%s queries existing metrics', (_title, expr) => {
    for (const [, name = '', selector = ''] of expr.matchAll(/\b(stopgate_\w+)(?:\{([^}]*)\})?/g)) {
      const metric = metricOf(name);
      expect(metric, name).toBeDefined();
      const asked = [...selector.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)].map(([, label = '']) => label);
      expect(asked.filter((label) => !metric?.labelNames.includes(label), name)).toEqual([]);
    }
  });

  test('each alert has a promtool test', () => {
    type Tried = { tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[] };
    const { tests } = parse(read('cluster/alerts.test.yaml')) as Tried;
    const tried = tests.flatMap((it) => it.alert_rule_test).filter((it) => it.exp_alerts !== undefined);
    expect(tried.map((it) => it.alertname).sort()).toEqual(rules.map((it) => it.alert).sort());
  });

  test('each alert has a severity', () => {
    for (const { alert, labels } of rules) expect(['page', 'ticket'], alert).toContain(labels.severity);
  });
});
