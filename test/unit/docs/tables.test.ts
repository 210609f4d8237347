/** The tables of README and docs match the code: everything listed exists, and everything that exists is listed. */

import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import {
  builtInPolicy,
  causes,
  decisionSchema,
  entrySchemas,
  guardNames,
  hookTypes,
  workerStates,
} from '../../../machines/index.ts';
import { agents } from '../../../src/agents/index.ts';
import { commands } from '../../../src/cli/command-table.ts';
import type { Client, WorkerHandle } from '../../../src/client/index.ts';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { entriesSchema, stopgateYamlSchema } from '../../../src/config/schema.ts';
import { errorCodes } from '../../../src/errors.ts';
import { tools } from '../../../src/mcp/tools/index.ts';
import { roles } from '../../../src/nats/permissions.ts';
import { readPage, root, spansIn, tableUnder } from '../../support/markdown.ts';

const readme = readPage('README.md');
const protocol = readPage('docs/protocol.md');
const [agentsPage, client, commandLine, configuration, mcp, security, wire] = [
  'agents',
  'client',
  'command-line',
  'configuration',
  'mcp',
  'security/nats',
  'wire',
].map((name) => readPage(`docs/${name}.md`)) as Pages;
type P = ReturnType<typeof readPage>;
type Pages = [P, P, P, P, P, P, P];

/** Returns the code spans of one column, in row order. */
const column = (rows: readonly (readonly string[])[], index: number) =>
  rows.flatMap((row) => spansIn(row[index] ?? ''));
const sorted = (names: Iterable<string>) => [...names].sort();

describe('guards', () => {
  const tables = [
    ['docs/policies.md', tableUnder(readPage('docs/policies.md'), 'The thirteen guards')],
    ['docs/protocol.md', tableUnder(protocol, '5. The decision', '#')],
  ] as const;

  test.each(tables)('%s lists them in their order', (_path, rows) => {
    expect(rows.map(([number]) => Number(number))).toEqual(guardNames.map((_, index) => index + 1));
    expect(rows.map(([, guard = '']) => spansIn(guard)[0])).toEqual([...guardNames]);
  });

  test.each(tables)('%s lists every cause of a guard', (_path, rows) => {
    const known = new Set<string>(causes);
    const options = new Set([
      'onBudget: escalate',
      'onBudget',
      'onCap: escalate',
      'onCap',
      'onError',
      'onError: allow',
      'skip',
    ]);
    const given = column(rows, 3).filter((span) => !options.has(span));
    expect(given.filter((cause) => !known.has(cause))).toEqual([]);
    // No guard gives superseded (by the next attempt) and unknown (of an adapter).
    expect(sorted(new Set(given))).toEqual(sorted(causes.filter((it) => it !== 'superseded' && it !== 'unknown')));
  });
});

test('states', () => {
  expect(column(tableUnder(protocol, '4. States', 'state'), 0)).toEqual([...workerStates]);
});

describe('errors', () => {
  test('docs/wire.md lists every code with its status', () => {
    const rows = wire.tables.filter(({ heading }) => heading === 'Errors').flatMap(({ rows: all }) => all.slice(1));
    const listed = rows.map(([status, code = '']) => `${status} ${spansIn(code).join()}`);
    const known = Object.values(errorCodes).map(({ status, wire: code }) => `${status} ${code}`);
    expect(sorted(listed)).toEqual(sorted(new Set(known)));
  });

  test('docs/command-line.md lists every exit code', () => {
    const listed = tableUnder(commandLine, 'Exit codes').map(([code]) => Number(code));
    const ctrlC = 128 + constants.signals.SIGINT;
    const known = new Set([0, ...Object.values(errorCodes).map(({ exit }) => exit), ctrlC]);
    expect(listed).toEqual([...known].sort((a, b) => a - b));
  });
});

describe('entries', () => {
  test('docs/wire.md names those of agents', () => {
    const rows = tableUnder(wire, 'Entries');
    const { worker, task, queue } = entrySchemas;
    expect(rows.map(([, names = '']) => spansIn(names))).toEqual([worker, task, queue].map((it) => Object.keys(it)));
  });

  test.each([
    ['Worker entries', 'worker'],
    ['Task entries', 'task'],
    ['Queue entries', 'queue'],
  ] as const)('protocol §3, %s: types and fields', (heading, area) => {
    expect(fieldsIn(tableUnder(protocol, heading))).toEqual(fieldsOf(area));
  });

  test('protocol §3, own entries: types and fields', () => {
    const [about, fleet] = protocol.tables.filter(({ heading }) => heading === 'Own entries');
    const rows = about?.rows.slice(1) ?? [];
    expect(fieldsIn(rows)).toEqual(fieldsOf('ownWorker'));
    expect(fieldsIn(rows.filter(([, , alsoTask]) => alsoTask === 'yes'))).toEqual(fieldsOf('ownTask'));
    expect(fieldsIn(fleet?.rows.slice(1) ?? [])).toEqual(fieldsOf('ownFleet'));
  });
});

/** `type field? field`, sorted. */
function fieldsIn(rows: readonly (readonly string[])[]): string[] {
  return sorted(
    rows.flatMap(([types = '', fields = '']) =>
      spansIn(types).map((type) => {
        const names = fields.includes('the fields of `stop.attempted`')
          ? ['iteration', ...attemptFields()]
          : spansIn(fields).map((span) => span.replace(/:.*$/, ''));
        return [type, ...sorted(names)].join(' ');
      }),
    ),
  );
}

/** Returns the fields of the schemas in their exported form. */
function fieldsOf(area: keyof typeof entrySchemas): string[] {
  const schemas = entriesSchema().$defs as Record<string, { properties?: object; required?: string[] }>;
  const prefix = area.replace(/^own/, 'own.').toLowerCase();
  return sorted(
    Object.keys(entrySchemas[area]).map((type) => {
      const { properties = {}, required = [] } = schemas[`${prefix}.${type}`] ?? {};
      const names = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`));
      return [type, ...sorted(names)].join(' ');
    }),
  );
}

const attemptFields = () =>
  fieldsOf('worker')
    .find((line) => line.startsWith('stop.attempted '))
    ?.split(' ')
    .slice(1) ?? [];

describe('hooks on a task', () => {
  test.each([
    ['docs/wire.md', tableUnder(wire, 'Hooks and iterations')],
    ['docs/protocol.md', tableUnder(protocol, '7. Hooks on a task')],
  ])('%s lists every type', (_path, rows) => {
    expect(sorted(column(rows, 0).filter((span) => span !== 'type'))).toEqual(sorted(hookTypes));
  });
});

describe('configuration', () => {
  type Schema = {
    properties?: Record<string, Schema>;
    additionalProperties?: Schema;
    items?: Schema;
    anyOf?: Schema[];
    $ref?: string;
  };
  const schema = stopgateYamlSchema() as Schema & { $defs: { check: Schema } };
  const objectIn = (it: Schema | undefined): Record<string, Schema> =>
    it?.properties ?? it?.anyOf?.map(objectIn).find((found) => Object.keys(found).length > 0) ?? {};
  const { policies, commands: programs, escalation } = objectIn(schema);
  const check = objectIn(schema.$defs.check);
  const settings = ['name', 'when', 'onFail', 'onError', 'timeout'];
  const keysBelow = (it: Schema | undefined): string[] =>
    Object.entries(objectIn(it)).flatMap(([key, inner]) => [
      key,
      ...keysBelow(inner).map((below) => `${key}.${below}`),
    ]);

  test.each([
    ['Keys', Object.keys(objectIn(schema))],
    ['Keys of a policy', Object.keys(objectIn(policies?.additionalProperties))],
    ['Keys of a command', Object.keys(objectIn(programs?.additionalProperties))],
    ['Keys of `escalation`', keysBelow(escalation)],
  ])('docs/configuration.md, %s', (heading, keys) => {
    expect(sorted(column(tableUnder(configuration, heading), 0))).toEqual(sorted(keys));
  });

  test('docs/configuration.md, Checks and their conditions', () => {
    const listed = column(tableUnder(configuration, 'Checks', 'check'), 0);
    expect(sorted([...listed, ...settings])).toEqual(sorted(Object.keys(check)));
    const conditions = column(tableUnder(configuration, 'Checks', 'condition'), 0);
    expect(sorted(conditions)).toEqual(sorted(Object.keys(objectIn(check.when))));
  });

  test('docs/command-line.md names every variable', async () => {
    const listed = column(tableUnder(commandLine, 'Options'), 0);
    const helped = await Promise.all(Object.values(commands).map(async ({ load }) => JSON.stringify(await load())));
    const named = new Set(helped.join().match(/STOPGATE_[A-Z_]+/g));
    expect(sorted(listed)).toEqual(sorted(named));
  });
});

test('docs/configuration.md shows the defaults', () => {
  const everything = configuration.fences.find(({ lang, text }) => lang === 'yaml' && text.includes('\nfleet: '));
  const read = readConfigFile(everything?.text ?? '', 'stopgate.yaml');
  expect(read.ok && read.file.policySet.policies.get('default')).toEqual(builtInPolicy);
});

test('docs/protocol.md shows a valid decision', () => {
  const example = protocol.fences.find(({ lang }) => lang === 'jsonc')?.text ?? '';
  expect(decisionSchema.safeParse(parse(example)).error).toBeUndefined();
  expect(sorted(Object.keys(parse(example)))).toEqual(sorted(Object.keys(decisionSchema.shape)));
});

test.each([
  ['docs/command-line.md', tableUnder(commandLine, 'Commands')],
  ['docs/protocol.md', tableUnder(protocol, '11. Command line')],
])('%s lists every command', (_, rows) => {
  const listed = column(rows, 0).map((span) => span.split(' ')[0] ?? '');
  expect(sorted(new Set(listed))).toEqual(sorted(Object.keys(commands)));
});

describe('agents', () => {
  test('docs/agents.md names the files that init writes for each', () => {
    expect(column(tableUnder(agentsPage, 'Connect one', 'agent'), 0)).toEqual([...agents.keys()]);
  });

  test('docs/agents.md names existing options of init', async () => {
    const options = column(tableUnder(agentsPage, 'Connect one', 'option of `init`'), 0).map(
      (span) => span.split(' ')[0],
    );
    const { args } = (await commands.init?.load()) ?? { args: {} };
    expect(options.filter((option) => !((option ?? '').slice(2) in args))).toEqual([]);
  });

  test('README names each', () => {
    for (const agent of agents.keys()) expect(readme.text).toContain(`\`${agent}\``);
  });
});

test('docs/mcp.md lists every tool', () => {
  expect(sorted(column(tableUnder(mcp, 'Tools'), 0))).toEqual(sorted(tools.keys()));
});

test('docs/client.md lists every call', () => {
  // A missing or unknown call does not compile.
  const ofClient: Record<Exclude<keyof Client, symbol>, true> = {
    decide: true,
    probe: true,
    verify: true,
    verifyTask: true,
    assertComplete: true,
    evaluate: true,
    publish: true,
    getWorker: true,
    getTask: true,
    getQueue: true,
    listWorkers: true,
    listTasks: true,
    listQueues: true,
    listEscalations: true,
    onDecision: true,
    serveCheck: true,
    worker: true,
    fleet: true,
    close: true,
    registerHook: true,
    registerStopHook: true,
    unregisterStopHook: true,
    unregisterHook: true,
    createDefaultHook: true,
    createValidationHook: true,
    createPromiseHook: true,
    createTddHook: true,
    createSecurityHook: true,
    createCheckpointHook: true,
    claimNext: true,
    failTask: true,
    releaseTask: true,
    answer: true,
    listHooks: true,
    clearHooks: true,
    enableHook: true,
    disableHook: true,
  };
  const ofWorker: Record<keyof WorkerHandle, true> = {
    id: true,
    publish: true,
    decide: true,
    probe: true,
    assertComplete: true,
    get: true,
    claimNext: true,
    failTask: true,
    releaseTask: true,
  };
  const [calls, ofOne] = client.tables.filter(({ heading }) => heading === 'Calls').map(({ rows }) => rows.slice(1));
  expect(sorted(column(calls ?? [], 0))).toEqual(sorted(Object.keys(ofClient)));
  expect(sorted(column(ofOne ?? [], 0))).toEqual(sorted(Object.keys(ofWorker)));
});

test('docs/benchmarks.md has every figure of the bench', () => {
  const apart = ['backtest.ts', 'history.ts', 'inspector.ts', 'soak.ts']; // benches of their own
  const parts = readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.ts') && !apart.includes(name));
  const named = parts.flatMap((part) => {
    const source = readFileSync(join(root, 'bench', part), 'utf8');
    return [...source.matchAll(/\bfigure\(\s*(['"`])(.+?)\1,/g)].map(([, , name = '']) => name);
  });
  const listed = tableUnder(readPage('docs/benchmarks.md'), 'Figures').map(([name = '']) => name);
  expect(sorted(listed)).toEqual(
    sorted(named.map((name) => name.replace(/\$\{hooksCount\}/, '10').replace(/\$\{fleets\.length\}/, '100'))),
  );
});

test('docs/security/nats.md lists every role', () => {
  const listed = column(tableUnder(security, 'The embedded server'), 0);
  expect(sorted(['agent', ...listed])).toEqual(sorted(roles));
});
