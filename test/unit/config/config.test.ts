/** The sources of each option, their order, and the message about a bad value. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { readVariable } from '../../../src/config/environment.ts';
import { defaultCredentials } from '../../../src/config/store.ts';
import { service, useHome } from './home.ts';

const { inHome, load, put, putService, problemsOf } = useHome();

describe('without any option', () => {
  test('the defaults hold', async () => {
    expect(await load()).toMatchObject({
      nats: 'nats://127.0.0.1:4222',
      creds: null,
      fleet: 'main',
      http: { host: '127.0.0.1', port: 4280, url: 'http://127.0.0.1:4280' },
      token: null,
      replica: 'r-0001abff',
      logLevel: 'info',
      filePath: inHome('stopgate.yaml'),
      fileText: null,
      warnings: [],
      store: null,
      natsIsDefault: true,
    });
  });

  test('each start gets a new replica name', async () => {
    const names = [];
    for (const _ of [1, 2]) names.push((await loadConfig({ cwd: inHome('.'), home: inHome('.'), env: {} })).replica);
    expect(names[0]).toMatch(/^r-[a-z0-9]{8}$/);
    expect(names[0]).not.toBe(names[1]);
  });

  test('the object is frozen', async () => {
    const config = await load();
    expect([config, config.http, config.file, config.warnings].every(Object.isFrozen)).toBe(true);
  });
});

describe('an option', () => {
  test('comes from the flag, then the variable, then the file, then the running service, then the default', async () => {
    const flags = { fleet: 'a' };
    const env = { STOPGATE_FLEET: 'b' };
    const fleets = [(await load()).fleet];
    putService();
    fleets.unshift((await load()).fleet);
    put('stopgate.yaml', 'fleet: c');
    fleets.unshift((await load()).fleet);
    fleets.unshift((await load({ env })).fleet);
    fleets.unshift((await load({ env, flags })).fleet);
    expect(fleets).toEqual(['a', 'b', 'c', 'dev', 'main']);
  });

  test('has a flag and a variable', async () => {
    const values = {
      nats: 'nats://h:1',
      creds: '/c',
      fleet: 'f',
      http: 'localhost:1',
      token: 't',
      replica: 'r',
      logLevel: 'debug',
    };
    const expected = { ...values, http: { host: 'localhost', port: 1, url: 'http://localhost:1' } };
    const env = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        `STOPGATE_${name === 'logLevel' ? 'LOG_LEVEL' : name.toUpperCase()}`,
        value,
      ]),
    );
    expect(await load({ flags: values })).toMatchObject(expected);
    expect(await load({ env })).toMatchObject(expected);
  });

  test('counts as missing if its variable is empty; an empty flag is an error', async () => {
    expect((await load({ env: { STOPGATE_FLEET: '', STOPGATE_TOKEN: '', STOPGATE_CONFIG: '' } })).fleet).toBe('main');
    expect(await problemsOf({ flags: { http: '' } })).toEqual([
      '--http: "" is not HOST:PORT, such as 127.0.0.1:4280 (or "off")',
    ]);
  });

  test('that is a path is relative to the file or folder that names it', async () => {
    const file = put('conf/stopgate.yaml', 'creds: a.creds');
    expect((await load({ flags: { config: file } })).creds).toBe(inHome('conf/a.creds'));
    expect((await load({ flags: { config: file }, env: { STOPGATE_CREDS: 'b.creds' } })).creds).toBe(inHome('b.creds'));
  });
});

describe('stopgate.yaml', () => {
  test('is taken from --config, then STOPGATE_CONFIG, then the current folder', async () => {
    put('stopgate.yaml', 'fleet: here');
    put('a.yaml', 'fleet: a');
    put('b.yaml', 'fleet: b');
    expect(await load()).toMatchObject({
      fleet: 'here',
      filePath: inHome('stopgate.yaml'),
      fileText: 'fleet: here',
    });
    expect((await load({ env: { STOPGATE_CONFIG: 'a.yaml' } })).fleet).toBe('a');
    expect((await load({ env: { STOPGATE_CONFIG: 'a.yaml' }, flags: { config: 'b.yaml' } })).fleet).toBe('b');
  });

  test('must exist if it was named', async () => {
    expect(await problemsOf({ flags: { config: 'no.yaml' } })).toEqual([
      expect.stringMatching(/^--config: cannot read '.*no\.yaml': there is no such file/),
    ]);
    expect(await problemsOf({ env: { STOPGATE_CONFIG: 'no.yaml' } })).toEqual([
      expect.stringMatching(/^STOPGATE_CONFIG: cannot read/),
    ]);
  });

  test('must be readable if it exists', async () => {
    mkdirSync(inHome('stopgate.yaml'));
    const problem = expect.stringMatching(/^stopgate\.yaml: cannot read '.*': it is a folder/);
    expect(await problemsOf({ serving: true })).toEqual([problem]);
    expect((await load()).warnings).toEqual([problem]);
  });

  test('that is a dangling link is an error', async () => {
    symlinkSync('gone.yaml', inHome('stopgate.yaml'));
    const problem = expect.stringMatching(/^stopgate\.yaml: cannot read '.*stopgate\.yaml': there is no such file/);
    expect(await problemsOf({ serving: true })).toEqual([problem]);
  });

  test('that is broken stops a service, and only warns a client that did not name it', async () => {
    put('stopgate.yaml', 'htpp: x\n');
    const problem = 'stopgate.yaml:1:1: unknown key "htpp"; did you mean "http"?';
    expect(await problemsOf({ serving: true })).toEqual([problem]);
    expect(await problemsOf({ flags: { config: inHome('stopgate.yaml') } })).toHaveLength(1);
    expect((await load()).warnings).toEqual([problem]);
  });

  test('makes its folder the root, even if the file does not exist', async () => {
    expect((await load()).file.roots).toEqual([inHome('.')]);
  });

  test('warns about undefined commands and a missing webhook secret', async () => {
    put(
      'stopgate.yaml',
      'policies: { default: { checks: [{ command: t }] } }\nescalation: { webhook: { url: "http://h/", secretEnv: KEY } }',
    );
    expect((await load()).warnings).toEqual([
      'stopgate.yaml:1:44: command "t" is not defined under commands',
      'stopgate.yaml:2:55: variable "KEY" is not set, so webhooks cannot be signed',
    ]);
    expect((await load({ env: { KEY: 's' } })).warnings).toHaveLength(1);
    expect(await problemsOf({ serving: true })).toHaveLength(2);
    expect([readVariable('KEY', { KEY: 's' }), readVariable('KEY', { KEY: '' }), readVariable('KEY', {})]).toEqual([
      's',
      undefined,
      undefined,
    ]);
  });
});

describe('a bad value', () => {
  test('is reported with its source, and all are reported at once', async () => {
    put('stopgate.yaml', 'fleet: a\nhtpp: x\n');
    expect(
      await problemsOf({
        serving: true,
        flags: { http: 'x', logLevel: 'loud' },
        env: { STOPGATE_FLEET: 'a b', STOPGATE_NATS: 'http://h' },
      }),
    ).toEqual([
      'stopgate.yaml:2:1: unknown key "htpp"; did you mean "http"?',
      'STOPGATE_NATS: "http://h" is not a NATS URL such as nats://127.0.0.1:4222; ws:// and wss:// cannot be combined with other kinds',
      expect.stringMatching(/^STOPGATE_FLEET: "a b" is not an id/),
      '--http: "x" is not HOST:PORT, such as 127.0.0.1:4280 (or "off")',
      '--log-level: "loud" is not "debug" or "info" or "warn" or "error" or "silent"',
    ]);
  });

  test('is hidden if it may be a secret', async () => {
    expect(
      (await problemsOf({ flags: { token: 'my secret', nats: 'nats://me:my secret@h' } })).join('\n'),
    ).not.toContain('secret');
  });
});

describe('a service that runs in the folder', () => {
  test('provides its addresses, also in subfolders', async () => {
    putService();
    const cwd = inHome('a/b');
    mkdirSync(cwd, { recursive: true });
    expect(await load({ cwd })).toMatchObject({
      nats: service.nats,
      http: { port: 5002 },
      fleet: 'dev',
      store: { service },
    });
  });

  test('does not affect another service that is about to start', async () => {
    putService();
    expect(await load({ serving: true })).toMatchObject({
      nats: 'nats://127.0.0.1:4222',
      http: { port: 4280 },
      fleet: 'main',
    });
  });

  test('without HTTP provides no HTTP address', async () => {
    putService({ http: null });
    expect((await load()).http).toBeNull();
  });
});

describe('credentials', () => {
  test('come from the store for the server of that store', async () => {
    putService();
    const operator = put('.stopgate/credentials/operator.json', '{}');
    expect(defaultCredentials(await load(), 'operator')).toBe(operator);
    expect(defaultCredentials(await load({ flags: { nats: '127.0.0.1:5001' } }), 'operator')).toBe(operator);
    expect(defaultCredentials(await load(), 'runner')).toBeUndefined();
  });

  test.each([
    'nats://127.0.0.1:5003',
    'nats://example.com:5001',
    'tls://127.0.0.1:5001',
    'nats://u:p@127.0.0.1:5001',
    'nats://127.0.0.1:5001,nats://h',
  ])('of the store are not sent to %s', async (nats) => {
    putService();
    put('.stopgate/credentials/operator.json', '{}');
    expect(defaultCredentials(await load({ flags: { nats } }), 'operator')).toBeUndefined();
  });

  test('that the user names take precedence over the store', async () => {
    putService();
    put('.stopgate/credentials/operator.json', '{}');
    expect(defaultCredentials(await load({ flags: { nats: '127.0.0.1:5001', creds: 'mine' } }), 'operator')).toBe(
      inHome('mine'),
    );
  });

  test('are missing if no service runs', async () => {
    put('.stopgate/credentials/operator.json', '{}');
    expect(defaultCredentials(await load(), 'operator')).toBeUndefined();
  });
});
