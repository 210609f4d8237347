/** The Helm chart, linted and rendered by the real `helm`. What it renders is given to the real service. */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { findProgram } from '../../../src/agents/setup/local-context.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { makeFolder } from '../../support/deployment.ts';
import { endService, startService } from '../../support/service.ts';
import { openNats } from '../../support/shared-server.ts';

const chart = fileURLToPath(new URL('../../../docker/helm/stopgate', import.meta.url));
const env = readEnvironment();
const helm = env.STOPGATE_TEST_HELM ?? findProgram('helm', env);
const reason = 'there is no helm; install it with: go install helm.sh/helm/v3/cmd/helm@v3.19.5';

type Named = { readonly name: string };
type Container = {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly (Named & { readonly valueFrom?: unknown })[];
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
  readonly volumeMounts: readonly (Named & { readonly mountPath: string })[];
  readonly securityContext: object;
};
type Pod = {
  readonly containers: readonly Container[];
  readonly securityContext: object;
  readonly volumes: readonly (Named & { readonly projected?: { readonly sources: readonly object[] } })[];
};
type Resource = {
  readonly kind: string;
  readonly metadata: Named;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>> & { readonly template?: { readonly spec: Pod } };
};

const required = { nats: { url: 'nats://nats:4222' }, token: { existingSecret: 'gate' } };

describe.skipIf(helm === null)(`the Helm chart${helm === null ? ` (${reason})` : ''}`, () => {
  const runHelm = (args: readonly string[], values: object) =>
    spawnSync(helm ?? '', [...args, '--values', '-'], { input: stringify(values), encoding: 'utf8' });
  const render = (values: object): Resource[] => {
    const { status, stdout, stderr } = runHelm(['template', 'gate', chart, '--kube-version', '1.31.0'], values);
    if (status !== 0) throw new Error(stderr);
    return parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
  };
  const kindsOf = (resources: readonly Resource[]) => resources.map(({ kind }) => kind).sort();
  const podOf = (resources: readonly Resource[]): Pod =>
    resources.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec as Pod;
  const containerOf = (resources: readonly Resource[]) => podOf(resources).containers[0] as Container;

  test('has no complaint of the linter', () => {
    const { status, stdout, stderr } = runHelm(['lint', '--strict', chart], required);
    expect(`${stdout}${stderr}`).toContain('0 chart(s) failed');
    expect(status).toBe(0);
  });

  test('renders what its values ask for', () => {
    expect(kindsOf(render(required))).toEqual(['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Service']);
    const all = render({
      ...required,
      nats: { ...required.nats, credentials: { existingSecret: 'nats-creds', key: 'gate.creds' } },
      image: { repository: 'registry.example/stopgate', digest: `sha256:${'a'.repeat(64)}` },
      podDisruptionBudget: { enabled: false },
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      publicUrl: 'https://tools.example/stopgate/',
    });
    expect(kindsOf(all)).toEqual(['ConfigMap', 'Deployment', 'Service', 'ServiceMonitor']);
    expect(containerOf(all).image).toBe(`registry.example/stopgate@sha256:${'a'.repeat(64)}`);
    expect(containerOf(all).args).toEqual(expect.arrayContaining(['--public-url', 'https://tools.example/stopgate/']));
    const sources = podOf(all).volumes.find(({ name }) => name === 'config')?.projected?.sources;
    expect(sources).toContainEqual({
      secret: { name: 'nats-creds', items: [{ key: 'gate.creds', path: 'service.creds' }] },
    });
    expect(all.find(({ kind }) => kind === 'ServiceMonitor')?.spec?.endpoints).toEqual([
      expect.objectContaining({ authorization: { credentials: { name: 'gate', key: 'token' } } }),
    ]);
  });

  test('runs without rights, on a read-only root', () => {
    const pod = podOf(render(required));
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(pod.containers[0]?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test.each([
    ['no NATS server', { ...required, nats: {} }, 'nats.url is required'],
    ['no token', { ...required, token: {} }, 'token.existingSecret is required'],
    ['an unknown value', { ...required, replicas: 3 }, 'replicas'],
    ['too many copies of the log', { ...required, nats: { url: 'h', streamReplicas: 9 } }, 'streamReplicas'],
  ])('refuses %s', (_, values, message) => {
    expect(() => render(values)).toThrow(message);
  });

  test('the service starts with what is rendered, and its probe finds it ready', async () => {
    const nats = await openNats();
    onTestFinished(() => nats.stop());
    const config = '# Ours\npolicies:\n  default: { retries: 7 }\n';
    const resources = render({
      ...required,
      nats: { url: nats.url, streamReplicas: 1 },
      fleets: ['main', 'web'],
      config,
    });
    const { args, env: variables, readinessProbe, volumeMounts } = containerOf(resources);
    expect(variables.map(({ name }) => name)).toEqual(['STOPGATE_REPLICA', 'STOPGATE_TOKEN']);
    const mount = volumeMounts.find(({ name }) => name === 'config')?.mountPath ?? '';
    const folder = await makeFolder({
      'stopgate.yaml': resources.find(({ kind }) => kind === 'ConfigMap')?.data?.['stopgate.yaml'] ?? '',
    });
    onTestFinished(folder.remove);
    const token = 'a-long-secret-token';
    // The pod's address and folder, as this machine has them.
    const here = args.map((arg) => arg.replace('0.0.0.0:4280', '127.0.0.1:0').replace(mount, folder.path));
    const service = await startService(['serve', ...here], folder.path, {
      STOPGATE_REPLICA: 'gate-0',
      STOPGATE_TOKEN: token,
    });
    onTestFinished(() => endService(service));
    const url = service.ready.http ?? '';
    const policy = await fetch(`${url}/api/web/policy`, { headers: { authorization: `Bearer ${token}` } });
    expect(await policy.json()).toMatchObject({ text: 'policies:\n  default:\n    retries: 7\n' });
    const [program = '', ...rest] = readinessProbe.exec.command;
    // Not spawnSync: the service runs in this process.
    const probe = (secret: string) =>
      new Promise<boolean>((resolve) => {
        const words = rest.map((word) => word.replace('http://127.0.0.1:4280', url));
        execFile(program, words, { env: { PATH: env.PATH, STOPGATE_TOKEN: secret } }, (error) =>
          resolve(error === null),
        );
      });
    expect([program, await probe('wrong'), await probe(token)]).toEqual(['node', false, true]);
  });
});
