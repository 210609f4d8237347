/** Reads a valid stopgate.yaml. */
import { describe, expect, test } from 'vitest';
import { emptyConfigFile } from '../../../src/config/file.ts';
import { exampleText } from './example.ts';
import { lines, path, read } from './read-text.ts';

describe('a valid file', () => {
  test('gives the example of the protocol in its normal form', () => {
    const { file, unknownNames } = read(exampleText);
    expect(unknownNames).toEqual([]);
    expect(file.fleet).toBe('main');
    expect(file.policySet.policies.get('default')).toMatchObject({
      retries: 3,
      persistence: { idleMs: 720_000, holdMs: 50_000 },
    });
    expect(
      file.policySet.policies
        .get('default')
        ?.checks.map((check) => check.name)
        .join(),
    ).toBe('plan,files,tests,security-scan,any,all,rules');
    expect(file.policySet.assign).toEqual([{ agent: 'codex', policy: 'strict' }]);
    expect(file.roots).toEqual(['/srv/app']);
    expect(file.commands).toEqual({
      tests: { run: ['npm', 'test'], cwd: 'worker', timeoutMs: 120_000, feedback: 'tail' },
      validate: { run: ['nous', 'validate', '--execution'], cwd: 'worker', timeoutMs: 120_000, feedback: 'json' },
    });
    expect(file.escalation).toEqual({
      remindMs: 900_000,
      webhook: { url: 'https://example.com/hook', secretEnv: 'HOOK_SECRET', allowPrivate: null, links: null },
    });
    expect(file.policySet.releaseAfterMs).toBeNull();
  });

  test.each(['', '# only words\n', '---\n', '{}', '\ufeff'])(
    'that is empty (%j) is the default configuration',
    (text) => {
      expect(read(text).file).toEqual({
        fleet: null,
        fleets: null,
        nats: null,
        creds: null,
        http: null,
        publicUrl: null,
        tls: null,
        tokens: [],
        replica: null,
        policySet: {
          policies: new Map(),
          assign: [],
          budget: null,
          releaseAfterMs: null,
          forgetMs: 604_800_000,
          waitingMs: 1_800_000,
          unattendedMs: 600_000,
        },
        policyForm: null,
        roots: ['/srv/app'],
        concurrency: 8,
        git: { untracked: 'count', worktrees: 'count' },
        commands: {},
        escalation: null,
        replyPrefixes: [],
        retention: { forMs: null, bytesMax: null, archive: null },
      });
    },
  );

  test('sets how many commands run at the same time', () => {
    expect(read('concurrency: 2').file.concurrency).toBe(2);
    for (const wrong of ['0', '1.5', '1001', 'many']) expect(() => read(`concurrency: ${wrong}`)).toThrow();
  });

  test('sets what counts as uncommitted work', () => {
    expect(read('git: { untracked: ignore }').file.git).toEqual({ untracked: 'ignore', worktrees: 'count' });
    for (const wrong of ['git: { untracked: no }', 'git: { worktree: ignore }']) expect(() => read(wrong)).toThrow();
  });

  test('that is empty has the defaults of a missing file', () => {
    expect(emptyConfigFile(path)).toStrictEqual(read('').file);
  });

  test('keeps the policies as written, for the log', () => {
    const { file } = read(
      'policies: { default: { persistence: { idle: 12m } } }\nassign: [{ agent: a, policy: default }]',
    );
    expect(file.policyForm).toEqual({
      policies: { default: { persistence: { idle: '12m' } } },
      assign: [{ agent: 'a', policy: 'default' }],
    });
    expect(read('assign: []').file.policyForm).toEqual({ policies: {}, assign: [] });
    expect(read('policies: {}').file.policyForm).toEqual({ policies: {} });
    const others = { budget: { tokens: 5 }, releaseAfter: '1h', forget: '7d', escalation: { waiting: '5m' } };
    expect(read(JSON.stringify(others)).file.policyForm).toEqual({ policies: {}, ...others });
  });

  test('has paths relative to its own folder', () => {
    const { file } = read(
      lines(
        'creds: keys/a.creds',
        'roots: [.., /data]',
        'commands:',
        '  a: { run: [x], cwd: sub }',
        '  b: { run: [x], cwd: ./worker }',
      ),
    );
    expect(file.creds).toBe('/srv/app/keys/a.creds');
    expect(file.roots).toEqual(['/srv', '/data']);
    expect(file.commands.a?.cwd).toBe('/srv/app/sub');
    expect(file.commands.b?.cwd).toBe('/srv/app/worker');
  });

  test('may set the variables, timeout and feedback of a command', () => {
    const { file } = read('commands: { a: { run: [x, ""], timeout: 2h, feedback: none, env: { CI: "1" } } }');
    expect(file.commands.a).toEqual({
      run: ['x', ''],
      cwd: 'worker',
      timeoutMs: 7_200_000,
      feedback: 'none',
      env: { CI: '1' },
    });
  });

  test.each([
    ['4280', '4280'],
    ['off', 'off'],
    ['false', 'off'],
    ['"[::1]:0"', '[::1]:0'],
  ])('writes http as %s', (written, http) => {
    expect(read(`http: ${written}`).file.http).toBe(http);
  });

  test('has reply prefixes that end with a whole token', () => {
    expect(read('replyPrefixes: [_INBOX_a, inbox.b.]').file.replyPrefixes).toEqual(['_INBOX_a.', 'inbox.b.']);
  });

  test('may repeat a part of itself by an alias', () => {
    const { file } = read(
      lines('policies:', '  default: { checks: &base [plan: {}] }', '  strict: { retries: null, checks: *base }'),
    );
    expect(file.policySet.policies.get('strict')?.checks).toEqual(file.policySet.policies.get('default')?.checks);
    expect(JSON.stringify(file.policyForm)).toBe(
      '{"policies":{"default":{"checks":[{"plan":{}}]},"strict":{"retries":null,"checks":[{"plan":{}}]}}}',
    );
  });

  test('gives the position of each value', () => {
    const { locate } = read(lines('# top', 'http: 4280', 'roots:', '  - .'));
    expect([locate(['http']), locate(['http'], 'key'), locate(['roots', 0]), locate(['fleet'])]).toEqual([
      { line: 2, column: 7 },
      { line: 2, column: 1 },
      { line: 4, column: 5 },
      { line: 2, column: 1 },
    ]);
  });
});

describe('a warning about an undefined name', () => {
  test('names a command that is not configured, with its line', () => {
    const text = lines(
      'policies:',
      '  a:',
      '    checks:',
      '      - any: [{ command: tests }, { command: lint }]',
      'commands: { lint: { run: [x] } }',
    );
    expect(read(text).unknownNames).toEqual(['stopgate.yaml:4:26: command "tests" is not defined under commands']);
  });

  test('is not given for a command that another runner may have', () => {
    expect(read('policies: { a: { runner: gpu, checks: [{ command: tests }] } }').unknownNames).toEqual([]);
  });

  test('names an assigned policy that does not exist', () => {
    expect(read('assign:\n  - { policy: default }\n  - { policy: strict }').unknownNames).toEqual([
      'stopgate.yaml:3:15: policy "strict" is not defined under policies',
    ]);
  });
});

describe('strict', () => {
  const checks = (policies: unknown) => (policies as Record<string, { checks: unknown }>).a?.checks;
  const text = (strict: string) =>
    lines(
      strict,
      'policies:',
      '  a:',
      '    checks:',
      '      - { remote: scan, onError: escalate }',
      '      - any: [{ command: t }, { all: [{ files: [x], onError: allow }] }]',
      'commands: { t: { run: [x] } }',
    );

  test('makes checks block if they cannot be judged, also in groups', () => {
    const { policyForm, policySet } = read(text('strict: true')).file;
    expect(checks(policyForm?.policies)).toEqual([
      { remote: 'scan', onError: 'block' },
      {
        any: [
          { command: 't', onError: 'block' },
          { all: [{ files: ['x'], onError: 'block' }], onError: 'block' },
        ],
        onError: 'block',
      },
    ]);
    expect(JSON.stringify([...policySet.policies])).not.toMatch(/"onError":"(allow|escalate)"/);
  });

  test('does not change a check that only warns, unless it has its own onError', () => {
    const warning = (more: string) => `      - { command: t, onFail: warn${more} }`;
    const head = ['strict: true', 'policies:', '  a:', '    checks:'];
    const form = read(lines(...head, warning(''), warning(', onError: allow'), 'commands: { t: { run: [x] } }'));
    expect(checks(form.file.policyForm?.policies)).toEqual([
      { command: 't', onFail: 'warn' },
      { command: 't', onFail: 'warn', onError: 'block' },
    ]);
  });

  test('set to false changes no check', () => {
    expect(checks(read(text('strict: false')).file.policyForm?.policies)).toEqual([
      { remote: 'scan', onError: 'escalate' },
      { any: [{ command: 't' }, { all: [{ files: ['x'], onError: 'allow' }] }] },
    ]);
  });
});
