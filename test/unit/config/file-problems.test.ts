/** Faults in stopgate.yaml: each is reported with its line and column. */
import { describe, expect, test } from 'vitest';
import { checkKinds } from '../../../machines/policy/checks/kinds.ts';
import { readConfigFile } from '../../../src/config/file-reader.ts';
import { lines, path, problemsOf } from './read-text.ts';

const kinds = Object.keys(checkKinds).join(', ');

describe('an unknown key', () => {
  test('at the top level is reported with the most similar key', () => {
    expect(problemsOf('fleet: a\nreplicas: b\n')).toEqual(['2:1 unknown key "replicas"; did you mean "replica"?']);
  });

  test('in nested groups of checks is reported at the key', () => {
    const text = lines(
      'policies:',
      '  default:',
      '    checks:',
      '      - any:',
      '          - files: [b.md]',
      '          - all:',
      '              - files: [a.md]',
      '                onerror: block',
    );
    expect(problemsOf(text)).toEqual(['8:17 unknown key "onerror"; did you mean "onError"?']);
    const result = readConfigFile(text, path);
    expect(result.ok ? [] : result.problems.map((problem) => problem.path)).toEqual([
      'policies.default.checks.0.any.1.all.0.onerror',
    ]);
  });

  test.each([
    ['policies: { default: { retry: 3 } }', '1:24 unknown key "retry"; did you mean "retries"?'],
    ['policies: { default: { stuck_after: 3 } }', '1:24 unknown key "stuck_after"; did you mean "stuckAfter"?'],
    ['policies: { a: { persistence: { hodl: 3 } } }', '1:33 unknown key "hodl"; did you mean "hold"?'],
    [
      'policies: { a: { checks: [{ plan: {}, when: { fase: x } }] } }',
      '1:47 unknown key "fase"; did you mean "phase"?',
    ],
    ['policies: { a: { checks: [{ plan: { x: 1 } }] } }', '1:37 unknown key "x"; known keys: required'],
    ['commands: { a: { run: [x], timeoutMs: 3 } }', '1:28 unknown key "timeoutMs"; did you mean "timeout"?'],
    ['assign: [{ policy: default, agnt: x }]', '1:29 unknown key "agnt"; did you mean "agent"?'],
    ['escalation: { webhook: { uri: x } }', '1:26 unknown key "uri"; did you mean "url"?'],
    [
      'commands: { a: { run: [x], zzz: 3 } }',
      '1:28 unknown key "zzz"; known keys: run, cwd, timeout, feedback, inherit, env, reuse, speaks, diff',
    ],
    ['token: abc', '1:1 unknown key "token"; secrets do not belong here: set STOPGATE_TOKEN or pass --token'],
    ['a: &a {}\n<<: *a', '2:1 merge keys ("<<") are not part of YAML 1.2; repeat the map with an alias instead'],
  ])('in %j is reported at its position', (text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });
});

describe('a secret of the service in a command', () => {
  test.each([
    ['tokens: { ci: { role: read, env: CI_TOKEN } }', 'CI_TOKEN', '"CI_TOKEN" holds a secret of the service'],
    ['escalation: { webhook: { url: "http://h/", secretEnv: KEY } }', 'KEY', '"KEY" holds a secret of the service'],
    ['fleet: a', 'STOPGATE_TOKEN', 'is a variable of stopgate itself, which may hold a token'],
  ])('beside %s', (rest, name, problem) => {
    const text = (inherited: string) => `commands: { t: { run: [x], inherit: [${inherited}] } }\n${rest}\n`;
    expect(problemsOf(text('JAVA_HOME'))).toEqual([]);
    expect(problemsOf(text(`JAVA_HOME, ${name}`))).toEqual([expect.stringContaining(problem)]);
  });
});

describe('a wrong value', () => {
  test.each([
    ['a number for a string', 'fleet: 3', '1:8 expected a string, got 3: put it in quotes'],
    [
      'a command line in a check',
      'policies: { a: { checks: [{ command: npm test }] } }',
      '1:38 "npm test" is not an id: it must start with a letter or digit and contain only letters, digits, _ and - (128 at most); a check names one of the commands under "commands"',
    ],
    [
      'a list for the name of a command',
      'policies: { a: { checks: [{ command: [npm, test] }] } }',
      '1:38 expected a string, got a list; a check names one of the commands under "commands"',
    ],
    [
      'a command line for a command',
      'commands: { tests: npm test }',
      '1:20 expected a map such as { run: [npm, test] }, got "npm test"',
    ],
    [
      'a word for a list of files',
      'policies: { a: { checks: [{ files: report.md }] } }',
      '1:36 expected a list such as [report.md], got "report.md"',
    ],
    ['a number for a budget', 'policies: { a: { budget: 5 } }', '1:26 expected a map such as { usd: 10 }, got 5'],
    ['a list for a map', 'commands:\n  - a', '2:3 expected a map, got a list'],
    [
      'a string for a list',
      'commands:\n  tests:\n    run: npm test\n',
      '3:10 expected a list such as [npm, test], got "npm test"',
    ],
    [
      'a word for a check',
      'policies: { a: { checks: [plan] } }',
      '1:27 expected a map such as { plan: {} }, got "plan"',
    ],
    ['a list for the file', '- a', '1:1 expected a map, got a list'],
    ['nothing where a map must be', 'fleet: a\npolicies:\n', '2:1 expected a map, got nothing'],
    ['a fraction', 'policies: { a: { retries: 1.5 } }', '1:27 expected a whole number, got 1.5'],
    ['a number below its bound', 'policies: { a: { stuckAfter: 0 } }', '1:30 must be more than 0, not 0'],
    ['a word for a number', 'policies: { a: { stuckAfter: often } }', '1:30 expected a number or a map, got "often"'],
    ['an unknown word', 'policies: { a: { onCap: stop } }', '1:25 "stop" is not "allow" or "escalate"'],
    [
      'a word that is no profile',
      'policies: { a: { persistence: on } }',
      '1:31 expected "off" or "default" or "critical" or "temporary" or "persistent" or false or a map, got "on"',
    ],
    [
      'a bad id for a value',
      'fleet: a b',
      '1:8 "a b" is not an id: it must start with a letter or digit and contain only letters, digits, _ and - (128 at most)',
    ],
    [
      'a bad id for a key',
      'policies:\n  a b: {}',
      '2:3 "a b" is not an id: it must start with a letter or digit and contain only letters, digits, _ and - (128 at most)',
    ],
    [
      'a bad duration',
      'releaseAfter: 12x',
      '1:15 "12x" is not a duration: write 250ms, 50s, 10m, 2h, 7d or a number of milliseconds',
    ],
    [
      'a bad duration in a policy',
      'policies:\n  a:\n    persistence: { idle: soon }',
      '3:26 "soon" is not a duration: write 250ms, 50s, 10m, 2h, 7d or a number of milliseconds',
    ],
    [
      'a git check of nothing',
      'policies: { a: { checks: [{ git: { clean: false } }] } }',
      '1:34 git needs clean: true, pushed: true or unchanged: [globs]',
    ],
    ['a duration of another type', 'releaseAfter: true', '1:15 expected a number or a string, got true'],
    [
      'a duration after which no date would hold',
      'releaseAfter: 36526d',
      '1:15 "36526d" is longer than 100 years (36525d)',
    ],
    ['a missing key', 'commands:\n  tests: { cwd: worker }', '2:3 "run" is missing'],
    ['a missing key in a list', 'assign:\n  - agent: codex', '2:5 "policy" is missing'],
    [
      'a command without a program',
      'commands: { a: { run: [] } }',
      '1:23 must have at least 1 item, not an empty list',
    ],
    [
      'a variable with a bad name',
      'commands: { a: { run: [x], env: { a-b: x } } }',
      '1:35 "a-b" is not a valid variable name',
    ],
    ['a bad http address', 'http: localhost', '1:7 "localhost" is not HOST:PORT, such as 127.0.0.1:4280 (or "off")'],
    [
      'a bad NATS url',
      'nats: http://u:secret@h',
      '1:7 "***@h" is not a NATS URL such as nats://127.0.0.1:4222; ws:// and wss:// cannot be combined with other kinds',
    ],
    [
      'a webhook with a broken escape in its password',
      'escalation: { webhook: { url: "http://u:100%@h/" } }',
      '1:31 the user or password of this URL has a "%" that begins no escape; write it as %25',
    ],
    [
      'a NATS url with such a one',
      'nats: nats://u:100%@h',
      '1:7 "***@h" is not a NATS URL such as nats://127.0.0.1:4222; ws:// and wss:// cannot be combined with other kinds',
    ],
    ['UTF-16', '\uFFFD\uFFFDf\0l\0', '1:1 the file is UTF-16 or not a text; save it as UTF-8'],
    ['Latin-1', 'fleet: a # caf\uFFFD', '1:15 not UTF-8; save the file as UTF-8'],
    ['a bad webhook', 'escalation: { webhook: { url: "ftp://h/" } }', '1:31 "ftp://h/" is not an http(s) URL'],
    ['a wildcard for a prefix', 'replyPrefixes: [">"]', '1:17 ">" is not the prefix of a subject such as _INBOX_app.'],
    [
      'a prefix into our own subjects',
      'replyPrefixes: [stopgate.main]',
      '1:17 "stopgate.main" is reserved for entries and requests',
    ],
  ])('(%s) is reported at its position', (_what, text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  test.each([
    ['two kinds', 'plan: {}\n        files: [a]', '4:9', 'plan and files'],
    ['no kind', 'name: a', '4:9', 'none'],
  ])('(a check with %s) is reported at the start of the check', (_what, check, at, got) => {
    expect(problemsOf(`policies:\n  default:\n    checks:\n      - ${check}\n`)).toEqual([
      `${at} a check is one of ${kinds}; this has ${got}`,
    ]);
  });

  test('(a check with two kinds in a group) is reported at the start of that check', () => {
    const text = lines(
      'policies:',
      '  a:',
      '    checks:',
      '      - all:',
      '          - plan:',
      '            remote: scan',
    );
    expect(problemsOf(text)).toEqual([`5:13 a check is one of ${kinds}; this has plan and remote`]);
  });

  test('(groups five deep) is an error', () => {
    const nest = (depth: number): string => (depth === 0 ? '{ plan: {} }' : `{ all: [${nest(depth - 1)}] }`);
    expect(problemsOf(`policies: { a: { checks: [${nest(4)}] } }`)).toEqual([]);
    expect(problemsOf(`policies: { a: { checks: [${nest(5)}] } }`)).toEqual(['1:27 all and any may nest 4 deep']);
  });

  test('does not hide others; they are reported in the order of the file', () => {
    const text = lines('http: x', 'flet: y', 'fleet: 1', 'commands:', '  a b: { run: [x] }', '  c: {}');
    expect(problemsOf(text).map((problem) => problem.split(' ')[0])).toEqual(['1:7', '2:1', '3:8', '5:3', '6:3']);
  });

  test('in an alias is reported once, at the anchor', () => {
    const text = lines('policies:', '  a: { checks: &c [{ pln: {}, files: [x] }] }', '  b: { checks: *c }');
    expect(problemsOf(text)).toEqual(['2:22 unknown key "pln"; did you mean "plan"?']);
  });

  test('is one of at most fifty that are reported', () => {
    expect(problemsOf(Array.from({ length: 80 }, (_, index) => `k${index}: 1`).join('\n'))).toHaveLength(50);
  });

  test('(policies that are too large for a log entry) is an error', () => {
    const names = Array.from({ length: 600 }, (_, index) => `"${'x'.repeat(120)}-${index}.json"`);
    expect(problemsOf(`fleet: a\npolicies: { a: { checks: [{ files: [${names.join(', ')}] }] } }`)).toEqual([
      expect.stringMatching(
        /^2:1 policies and assign have \d+ bytes; the maximum is 65536, since they are one entry of the log$/,
      ),
    ]);
  });
});

describe('bad YAML', () => {
  test.each([
    ['a duplicate key', 'fleet: a\nhttp: "4280"\nfleet: b\n', '3:1 key "fleet" appears twice'],
    ['a duplicate key within', 'commands:\n  a: { run: [x], run: [y] }', '2:18 key "run" appears twice'],
    [
      'a list without its end',
      'fleet: a\nroots: [a, b\nhttp: c\n',
      '3:1 "]" is missing before this, or this is not indented enough',
    ],
    ['a tab', 'commands:\n\ta: {}', '2:1 Tabs are not allowed as indentation'],
    ['a map within a line', 'fleet: a: b', '1:8 a second ": " in one line; put the value in quotes'],
    ['windows line ends', 'fleet: a\r\nreplica: b\r\nfleet: c\r\n', '3:1 key "fleet" appears twice'],
    ['an unknown tag', 'fleet: !env FLEET', '1:8 Unresolved tag: !env'],
    ['a key that is no string', '[a]: b', '1:1 all keys must be strings'],
    ['an alias without its anchor', 'fleet: a\nroots: *all', '2:8 alias *all has no anchor &all before it'],
    ['a prototype for a key', 'commands: { __proto__: {} }', '1:13 key "__proto__" is not allowed'],
    ['an alias within itself', 'roots: &a [*a]', '1:12 nested more than 32 levels deep, or an alias contains itself'],
  ])('(%s) is reported at its position', (_what, text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });

  test('(a second document) is an error', () => {
    expect(problemsOf('fleet: a\n---\nfleet: b')).toEqual([
      expect.stringMatching(/^2:1 a second document begins here/),
    ]);
  });

  test('(aliases that multiply without end) is found quickly', () => {
    const levels = Array.from(
      { length: 30 },
      (_, level) => `  l${level + 1}: &l${level + 1} [${Array(9).fill(`*l${level}`)}]`,
    );
    expect(problemsOf(lines('commands:', '  l0: &l0 [a]', ...levels))).toEqual([
      expect.stringMatching(/^3:12 aliases expand the text more than 100 times$/),
    ]);
  });

  test('(more than 131,072 characters) is an error', () => {
    expect(problemsOf(`# ${'x'.repeat(131_072)}`)).toEqual(['1:1 the file has 131074 characters; the limit is 131072']);
  });

  test.each([100, 400, 800, 5_000])('(%i brackets deep) is an error, not a crash', (depth) => {
    expect(problemsOf(`roots: ${'['.repeat(depth)}a${']'.repeat(depth)}`)).not.toEqual([]);
  });
});
