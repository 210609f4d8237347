/** A hostile checkout may name a server in stopgate.yaml or `.stopgate`, but gets no secret of the user. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig, type Surroundings } from '../../../src/config/config.ts';
import { givenCredentials, tokenForHttp } from '../../../src/config/own-address.ts';
import { defaultCredentials } from '../../../src/config/store.ts';
import { readOptions } from '../../../src/hook-command/options.ts';

let home: string;
let checkout: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'stopgate-home-')));
  checkout = join(home, 'checkout');
  put(join(home, 'mine.json'), '{ "user": "me", "pass": "secret" }');
  mkdirSync(checkout);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
const service = { nats: 'nats://127.0.0.1:5001', http: 'http://127.0.0.1:5002', fleet: 'main', pid: 1 };
const putService = (fields: object = {}) =>
  put(join(checkout, '.stopgate/service.json'), JSON.stringify({ ...service, ...fields }));
const load = (surroundings: Surroundings = {}) => loadConfig({ env: {}, cwd: checkout, home, ...surroundings });

describe('credentials', () => {
  const env = () => ({ STOPGATE_CREDS: join(home, 'mine.json') });

  test.each([
    ['stopgate.yaml', () => put(join(checkout, 'stopgate.yaml'), 'nats: nats://evil.example:4222\n')],
    ['stopgate.yaml, of this machine', () => put(join(checkout, 'stopgate.yaml'), 'nats: 127.0.0.1:4999\n')],
    ['service.json', () => putService()],
  ])('of the user do not go to a server that %s names', async (_what, plant) => {
    plant();
    const config = await load({ env: env() });
    const message = /^only the files of this folder name .*; if you trust that server, name it with --nats/;
    expect(() => givenCredentials(config)).toThrow(message);
    expect(() => defaultCredentials(config, 'operator')).toThrow(message);
  });

  test('of the user go to a server that the user names, and to the default one', async () => {
    put(join(checkout, 'stopgate.yaml'), 'nats: nats://evil.example:4222\n');
    const named = await load({ env: { ...env(), STOPGATE_NATS: 'nats://mine.example' } });
    expect(givenCredentials(named)).toBe(join(home, 'mine.json'));
    expect(givenCredentials(await load({ env: env(), flags: { config: 'stopgate.yaml' } }))).toBeDefined();
    rmSync(join(checkout, 'stopgate.yaml'));
    expect(givenCredentials(await load({ env: env() }))).toBe(join(home, 'mine.json'));
  });

  test('that stopgate.yaml names must be in its own folder, also behind links', async () => {
    const named = (creds: string) => put(join(checkout, 'stopgate.yaml'), `nats: evil.example\ncreds: ${creds}\n`);
    put(join(checkout, 'own.json'), '{}');
    symlinkSync(join(home, 'mine.json'), join(checkout, 'link.json'));
    named('own.json');
    expect(givenCredentials(await load())).toBe(join(checkout, 'own.json'));
    for (const creds of ['link.json', '../mine.json', join(home, 'mine.json')]) {
      named(creds);
      const config = await load();
      expect(() => givenCredentials(config)).toThrow('it does not get your credentials');
    }
  });

  test('of the store must not be links out of the store', async () => {
    putService();
    put(join(checkout, '.stopgate/credentials/check.json'), '{}');
    symlinkSync(join(home, 'mine.json'), join(checkout, '.stopgate/credentials/operator.json'));
    const config = await load();
    expect(defaultCredentials(config, 'check')).toBe(join(checkout, '.stopgate/credentials/check.json'));
    expect(defaultCredentials(config, 'operator')).toBeUndefined();
  });
});

test('a service.json with an address of another machine is ignored', async () => {
  for (const fields of [{ nats: 'nats://evil.example:4222' }, { http: 'http://evil.example' }]) {
    putService(fields);
    expect((await load()).store?.service).toBeNull();
  }
});

describe('a token', () => {
  const env = { STOPGATE_TOKEN: 'secret' };
  const hook = (more: Record<string, string> = {}) => readOptions(['claude'], { ...env, ...more }, checkout);
  const plants: [string, () => void][] = [
    ['stopgate.yaml', () => put(join(checkout, 'stopgate.yaml'), 'http: http://evil.example:80\n')],
    ['stopgate.yaml, of this machine', () => put(join(checkout, 'stopgate.yaml'), 'http: 127.0.0.1:4999\n')],
    ['service.json', () => putService()],
  ];

  test.each(plants)('does not go to an address that %s names', async (_what, plant) => {
    plant();
    const config = await load({ env });
    expect(() => tokenForHttp(config, 'secret')).toThrow('it does not get your token');
    expect(await hook()).toMatchObject({ token: undefined, withheld: expect.stringContaining('http://') });
  });

  test('goes to an address that the user names, and to the default one', async () => {
    put(join(checkout, 'stopgate.yaml'), 'http: http://evil.example:80\n');
    const named = { STOPGATE_HTTP: 'https://mine.example' };
    expect(tokenForHttp(await load({ env: { ...env, ...named } }), 'secret')).toBe('secret');
    expect(await hook(named)).toMatchObject({ token: 'secret', http: 'https://mine.example', withheld: null });
    put(join(checkout, 'stopgate.yaml'), 'http: 127.0.0.1:4280\n');
    expect(tokenForHttp(await load({ env }), 'secret')).toBe('secret');
    expect(await hook()).toMatchObject({ token: 'secret', withheld: null });
  });
});
