/** Bad usage is reported at once, and help shows the right usage. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type DevFlags, isOption, type ServeFlags } from '../../../src/cli/command.ts';
import { commands } from '../../../src/cli/command-table.ts';
import type { Config } from '../../../src/config/config.ts';
import { jsonLines, openTerminal, runOnce } from '../../support/terminal.ts';

const names = Object.keys(commands);

describe('bad usage ends with code 2, one line on stderr and nothing on stdout', () => {
  test.each([
    {
      argv: ['decid', 'w1'],
      says: `unknown command 'decid' (Did you mean decide?); "npx stopgate help" lists all commands`,
    },
    { argv: ['wrokers'], says: '(Did you mean workers?)' },
    { argv: ['frobnicate'], says: `unknown command 'frobnicate'; "npx stopgate help" lists all commands` },
    {
      argv: ['status'],
      says: `unknown command 'status'; "npx stopgate doctor" checks the setup, "npx stopgate workers" lists the agents`,
    },
    { argv: ['toString'], says: `unknown command 'toString'` },
    { argv: ['help', 'nothing'], says: `unknown command 'nothing'` },
    {
      argv: ['decide', 'w1', '--stop-reson', 'x'],
      says: `unknown option '--stop-reson' (Did you mean --stop-reason?)`,
    },
    { argv: ['decide', 'w1', '--stopReason', 'x'], says: `unknown option '--stopReason'` },
    { argv: ['decide', 'w1', '--__proto__', 'x'], says: `unknown option '--__proto__'` },
    { argv: ['workers', '--no-json'], says: `unknown option '--no-json'` },
    { argv: ['workers', '-j'], says: `unknown option '-j'` },
    { argv: ['workers', '--json=yes'], says: `unknown option '--json=yes'` },
    { argv: ['workers', '--help=1'], says: `unknown option '--help=1'` },
    { argv: ['decide'], says: `missing required argument 'WORKER' (see "npx stopgate decide --help")` },
    {
      argv: ['publish', 'worker', 'w1', 'tool.used', 'Bash'],
      says: 'unexpected words after tool.used; pass its fields as one JSON object',
    },
    { argv: ['decide', 'w1', '{}', 'more'], says: `too many arguments for 'decide'` },
    { argv: ['workers', 'w1'], says: `too many arguments for 'workers'` },
    { argv: ['workers', '--nats'], says: `option '--nats <URL>' argument missing` },
    { argv: ['workers', '--nats', ''], says: '--nats needs a value' },
    {
      argv: ['workers', '--queue', '--watch'],
      says: '--queue needs a value; if the value starts with a dash, write --queue=--watch',
    },
    { argv: ['workers', '--state', 'busy'], says: `argument 'busy' is invalid. Allowed choices are idle, working` },
    {
      argv: ['workers', '--stale', '--presence', 'active'],
      says: '--stale and --presence active contradict each other',
    },
    { argv: ['workers', '--limit', '0'], says: `--limit '0' is not a whole number from 1` },
    { argv: ['workers', '--timeout', '0'], says: `--timeout '0' leaves no time` },
    { argv: ['workers', '--timeout', '30d'], says: `--timeout '30d' is too long; the maximum is 24d` },
    { argv: ['workers', '--timeout', '5'], says: `--timeout '5' would be 5 ms; write 5s for seconds, or 5ms` },
    { argv: ['dev', '--idle-exit', '5'], says: `--idle-exit '5' would be 5 ms; write 5s for seconds, or 5ms` },
    { argv: ['workers', '--timeout', 'soon'], says: `--timeout 'soon' is not a duration` },
    { argv: ['workers', '--fleet', 'a.b'], says: 'is not an id' },
    { argv: ['worker', 'w1.>'], says: `'w1.>' is not the id of a worker` },
    { argv: ['tail', '--last', '-1'], says: '--last needs a value; if the value starts with a dash, write --last=-1' },
    { argv: ['tail', '--last=-1'], says: `--last '-1' is not a whole number` },
    { argv: ['worker', '-5'], says: `'-5' is not the id of a worker` },
    { argv: ['loop', 'claude', '-p'], says: `unknown option '-p'; put your command after "--"` },
    { argv: ['decide', 'w1', '--version'], says: `unknown option '--version'` },
    { argv: ['tail', '--last', 'all'], says: `--last 'all' is not a whole number` },
    { argv: ['replay'], says: 'FILE.jsonl is missing; for a live log use --fleet' },
    { argv: ['replay', 'log.jsonl', '--fleet', 'main'], says: 'FILE.jsonl and --fleet cannot be used together' },
    { argv: ['replay', 'log.jsonl', '--nats', 'nats://h'], says: 'need a live log; use --fleet' },
    { argv: ['replay', 'log.jsonl', '--diff'], says: '--diff needs the policies to compare with; add --policy FILE' },
    { argv: ['replay', 'log.jsonl', '--since', '2026-03-02T12:00:00Z'], says: '--since needs --diff' },
    {
      argv: ['replay', '--fleet', 'main', '--at', 'noon'],
      says: `--at 'noon' is not a time: write 2026-03-02T12:00:00.000Z, 2026-03-02 (midnight UTC), or how long ago`,
    },
    {
      argv: ['replay', '-', '--policy', 'p', '--diff', '--since', 'last week'],
      says: `--since 'last week' is not a time`,
    },
    { argv: ['replay', '-', '--policy', 'p', '--diff', '--at', '1d'], says: '--diff and --at cannot be used together' },
    { argv: ['replay', '-', '--worker', 'w.1'], says: `'w.1' is not the id of a worker` },
    { argv: ['completion', 'tcsh'], says: `no completion for 'tcsh'; use one of: bash, zsh, fish` },
    { argv: ['serve', '--embedded', '--nats', 'nats://h'], says: 'use one of them' },
    { argv: ['serve', '--port', '4222'], says: '--port and --store are options of the embedded NATS server' },
    { argv: ['serve', '--replicas', '9'], says: `--replicas '9' is not a whole number from 1 to 5` },
    { argv: ['serve', '--http', '0.0.0.0:80'], says: 'needs a token' },
    { argv: ['runner'], says: '--name is missing' },
    { argv: ['runner', '--name', 'a.b'], says: `'a.b' is not the id of a runner` },
    { argv: ['dev', '--port', '70000'], says: `--port '70000'` },
    { argv: ['dev', '--log-level', 'loud'], says: '"loud"' },
    { argv: ['token'], says: `missing required argument 'NAME'` },
    {
      argv: ['token', 'ann', '--role', 'boss'],
      says: `argument 'boss' is invalid. Allowed choices are read, agent, operator`,
    },
    { argv: ['token', 'ann', '--worker', 'a.b'], says: `--worker 'a.b' is not the id of a worker, or a pattern` },
    { argv: ['audit', '--since', 'monday'], says: `--since 'monday' is not a time` },
    { argv: ['serve', '--public-url', 'stopgate.example.com'], says: 'is not an http(s) URL, such as' },
    { argv: ['permissions', '--fleet', 'a', '--fleet', 'b.c'], says: `'b.c' is not the id of a fleet` },
    { argv: ['--verbose'], says: `unknown option '--verbose'` },
    { argv: ['--verson'], says: `unknown option '--verson' (Did you mean --version?)` },
    { argv: ['dev', '--idle-exit', '0'], says: `--idle-exit '0' leaves no time` },
    { argv: ['init', 'claude', '--worker', 'w1'], says: '--worker is only for shell' },
    { argv: ['workers', '--config', 'gone.yaml'], says: `gone.yaml': there is no such file or folder` },
  ])('$argv', async ({ argv, says }) => {
    const { code, stdout, stderr } = await runOnce(argv);
    expect(stderr).toContain(says);
    expect(stderr).toMatch(/^stopgate: .*\n$/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('with --json the error is an object on stdout too', async () => {
    const { code, stdout, stderr } = await runOnce(['workers', '--limit', 'x', '--json']);
    expect(code).toBe(2);
    expect(jsonLines(stdout)).toEqual([{ error: { code: 'BAD_REQUEST', message: expect.any(String), issues: [] } }]);
    expect(stderr).toContain('--limit');
  });
});

describe('help', () => {
  test.each([[['help']], [['--help']], [['-h']]])('%s lists every command', async (argv) => {
    const { code, stdout, stderr } = await runOnce(argv);
    for (const name of names) expect(stdout).toContain(`\n  ${name}`);
    expect(stdout).toContain('Try it:\n  npx stopgate dev');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test.each(names)('%s has help with an example and all of its options', async (name) => {
    const asked = await runOnce([name, '--help']);
    expect(asked.code).toBe(0);
    expect(asked).toEqual(await runOnce(['help', name]));
    expect(asked.stdout).toMatch(/\nExamples?:\n {2}/);
    const { args } = await (commands[name] as (typeof commands)[string]).load();
    for (const [option, arg] of Object.entries(args)) {
      if (isOption(arg)) expect(asked.stdout).toContain(`--${option}`);
    }
    for (const line of asked.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
  });

  test('names the other sources of options', async () => {
    expect((await runOnce(['serve', '--help'])).stdout).toMatch(
      /STOPGATE_NATS[\s\S]*STOPGATE_HTTP;\s+default:\s+127.0.0.1:4280/,
    );
    expect((await runOnce(['workers', '--help'])).stdout).toContain('STOPGATE_FLEET; default: main');
  });

  test('lists the values of an option once, followed by the default', async () => {
    const { stdout } = await runOnce(['spend', '--help']);
    expect(stdout).toMatch(/--by <WHAT> +group by this \(default: day\) \(choices: "day", "model", "task", "worker"\)/);
    expect((await runOnce(['init', '--help'])).stdout.replace(/\s+/g, ' ')).toContain(
      '(default: allow) (choices: "allow", "block")',
    );
  });

  test('says that probe and verify count nothing and hold nothing', async () => {
    for (const name of ['probe', 'verify']) {
      const { stdout } = await runOnce([name, '--help']);
      expect(stdout).toMatch(/--attempt <ID> +accepted as in "npx stopgate decide", but has no\s+effect/);
      expect(stdout).toMatch(/--hold <DURATION> +accepted as in "npx stopgate decide", but has no\s+effect/);
    }
  });

  test('shows whether the command after "--" is optional', async () => {
    expect((await runOnce(['loop', '--help'])).stdout).toContain('loop [options] -- COMMAND…\n');
    expect((await runOnce(['doctor', '--help'])).stdout).toContain('doctor [options] [AGENT] [-- COMMAND…]\n');
  });

  test('is coloured only on a terminal, and not with NO_COLOR', async () => {
    const colour = '\u001b[';
    expect((await runOnce(['help'], { isTTY: true })).stdout).toContain(colour);
    expect((await runOnce(['help'], { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain(colour);
    expect((await runOnce(['help'])).stdout).not.toContain(colour);
  });

  test('fits a narrow terminal', async () => {
    const { stdout } = await runOnce(['help'], { isTTY: true, columns: 60, env: { NO_COLOR: '1' } });
    const prose = stdout.split('\n').filter((line) => !line.includes('stopgate '));
    for (const line of prose) expect(line.length).toBeLessThanOrEqual(60);
  });
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect(await runOnce(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

describe('serve and dev use their configuration', () => {
  test('flags before variables before the file', async () => {
    let seen: { config: Config; flags: ServeFlags } | null = null;
    const terminal = await openTerminal({
      env: { STOPGATE_FLEET: 'env', STOPGATE_REPLICA: 'r-env' },
      services: {
        serve: async (config, flags) => {
          seen = { config, flags };
          return 7;
        },
      },
    });
    await writeFile(join(terminal.cwd, 'stopgate.yaml'), 'fleet: file\nnats: nats://file:1\nhttp: off\n');
    const argv = ['serve', '--replica', 'r-flag', '--replicas', '3', '--log-level', 'warn', '--accept-empty-log'];
    expect(await terminal.run(...argv)).toBe(7);
    expect(seen).toMatchObject({
      config: { fleet: 'env', nats: 'nats://file:1', http: null, replica: 'r-flag', logLevel: 'warn' },
      flags: { embedded: false, acceptEmptyLog: true, replicas: 3 },
    });
  });

  test('dev starts its own server', async () => {
    let seen: { config: Config; flags: DevFlags } | null = null;
    const services = {
      dev: async (config: Config, flags: DevFlags) => {
        seen = { config, flags };
        return 0;
      },
    };
    const terminal = await openTerminal({ services });
    expect(await terminal.run('dev', '--port', '0', '--http', '127.0.0.1:0', '--store', 'here')).toBe(0);
    expect(seen).toMatchObject({
      config: { fleet: 'main', http: { port: 0 } },
      flags: { port: 0, store: join(terminal.cwd, 'here'), acceptEmptyLog: false },
    });
  });

  test('each fault of the file is reported with its position', async () => {
    const terminal = await openTerminal();
    await writeFile(join(terminal.cwd, 'stopgate.yaml'), 'fleet: main\npolicys: {}\n');
    expect(await terminal.run('serve')).toBe(2);
    expect(terminal.stderr()).toContain('stopgate.yaml:2:1: unknown key "policys"; did you mean "policies"?');
  });
});

describe('completion', () => {
  test.each(['bash', 'zsh', 'fish'])('%s knows every command and option', async (shell) => {
    const { code, stdout } = await runOnce(['completion', shell]);
    expect(code).toBe(0);
    for (const name of names) {
      expect(stdout).toContain(name);
      const { args } = await (commands[name] as (typeof commands)[string]).load();
      for (const [option, arg] of Object.entries(args)) if (isOption(arg)) expect(stdout).toContain(option);
    }
  });

  test('bash completes commands with it', async () => {
    const { stdout } = await runOnce(['completion', 'bash']);
    const complete = (...words: string[]) => {
      const script = `${stdout}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stopgate; printf '%s ' "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' }).trim();
    };
    expect(complete('stopgate', 'wor')).toBe('workers worker');
    expect(complete('stopgate', 'workers', '--st')).toBe('--state --stale');
    expect(complete('stopgate', 'workers', '--state', 'bl')).toBe('blocked');
    expect(complete('stopgate', 'completion', 'z')).toBe('zsh');
    expect(complete('no-such-program', 'worker', 'w')).toBe('');
  });
});
