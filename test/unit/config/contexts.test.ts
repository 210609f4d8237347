/** Named contexts: which source an option comes from, and where credentials may go. */
import { describe, expect, test } from 'vitest';
import { givenCredentials } from '../../../src/config/own-address.ts';
import { useHome } from './home.ts';

const { load, put, putService, inHome, problemsOf } = useHome();

const prod = { nats: 'tls://prod.example:4222', creds: '/keys/prod.creds', fleet: 'web', http: 'https://prod.example' };
const putContexts = (selected: string | null = null, contexts: object = { prod, lab: { nats: 'lab.example' } }) =>
  put('.config/stopgate/contexts.json', JSON.stringify({ selected, contexts }));
const named = (name?: string) => ({ contexts: { named: name } });
const token = { STOPGATE_TOKEN: 't' };

describe('a context', () => {
  test('of --context comes before variables, and after flags', async () => {
    putContexts();
    const env = { ...token, STOPGATE_NATS: 'nats://variable.example', STOPGATE_FLEET: 'other' };
    expect(await load({ ...named('prod'), env, flags: { fleet: 'flagged' } })).toMatchObject({
      nats: prod.nats,
      creds: prod.creds,
      fleet: 'flagged',
      http: { url: 'https://prod.example:443' },
      natsIsDefault: false,
      natsIsFound: false,
    });
  });

  test('of STOPGATE_CONTEXT comes after variables, and before stopgate.yaml', async () => {
    putContexts();
    put('stopgate.yaml', 'nats: file.example\nfleet: file\n');
    const env = { ...token, STOPGATE_CONTEXT: 'prod', STOPGATE_FLEET: 'variable' };
    expect(await load({ ...named(), env })).toMatchObject({ nats: prod.nats, fleet: 'variable' });
  });

  test('that is selected comes after stopgate.yaml', async () => {
    putContexts('prod');
    put('stopgate.yaml', 'fleet: file\n');
    expect(await load({ ...named(), env: token })).toMatchObject({ nats: prod.nats, fleet: 'file' });
  });

  test('that is selected is not for a folder with a store, even if its service does not run', async () => {
    putContexts('prod');
    put('.stopgate/other', '');
    expect(await load(named())).toMatchObject({ nats: 'nats://127.0.0.1:4222', natsIsDefault: true });
    putService();
    expect(await load(named())).toMatchObject({ nats: 'nats://127.0.0.1:5001', fleet: 'dev' });
  });

  test('is not used by services and programs', async () => {
    putContexts('prod');
    const env = { STOPGATE_CONTEXT: 'prod' };
    expect((await load({ env, serving: true })).nats).toBe('nats://127.0.0.1:4222');
    expect((await load({ env })).nats).toBe('nats://127.0.0.1:4222');
  });

  test('is in XDG_CONFIG_HOME, if that is an absolute path', async () => {
    put('xdg/stopgate/contexts.json', JSON.stringify({ contexts: { lab: { nats: 'xdg.example' } } }));
    putContexts();
    expect((await load({ ...named('lab'), env: { XDG_CONFIG_HOME: inHome('xdg') } })).nats).toBe('xdg.example');
    expect((await load({ ...named('lab'), env: { XDG_CONFIG_HOME: 'xdg' } })).nats).toBe('lab.example');
  });
});

describe('the credentials of a context', () => {
  test.each([
    ['a flag', { flags: { nats: 'evil.example' }, ...named('prod') }],
    ['a variable', { env: { ...token, STOPGATE_NATS: 'evil.example', STOPGATE_CONTEXT: 'prod' }, ...named() }],
  ])('do not go to servers that %s names', async (_, surroundings) => {
    putContexts();
    expect(await load({ env: token, ...surroundings })).toMatchObject({ nats: 'evil.example', creds: null });
  });

  test('do not go to servers that a checkout names', async () => {
    putContexts('prod');
    put('stopgate.yaml', 'nats: evil.example\n');
    const config = await load({ ...named(), env: token });
    expect([config.nats, config.creds]).toEqual(['evil.example', null]);
    expect(givenCredentials(config)).toBeUndefined();
  });

  test('go to its own servers', async () => {
    putContexts('prod');
    expect(givenCredentials(await load({ ...named(), env: token }))).toBe(prod.creds);
  });
});

describe('is refused', () => {
  test('a name that does not exist', async () => {
    putContexts();
    expect(await problemsOf(named('stage'))).toEqual(['there is no context "stage"; use one of prod, lab']);
    expect(await problemsOf({ ...named(), env: { STOPGATE_CONTEXT: 'stage' } })).toHaveLength(1);
  });

  test.each([
    ['no JSON', '{'],
    ['no contexts', '{}'],
    ['a list', '{ "contexts": [] }'],
    ['a bad name', '{ "contexts": { "../a": { "nats": "h" } } }'],
    ['a context without servers', '{ "contexts": { "a": {} } }'],
    ['an unknown field', '{ "contexts": { "a": { "nats": "h", "token": "secret" } } }'],
    ['a field that is no text', '{ "contexts": { "a": { "nats": ["h"] } } }'],
    ['a selected context that is not there', '{ "selected": "b", "contexts": { "a": { "nats": "h" } } }'],
  ])('a file with %s', async (_, text) => {
    put('.config/stopgate/contexts.json', text);
    expect(await problemsOf(named())).toEqual([expect.stringContaining('correct or delete the file')]);
  });

  test('an invalid value, with its context', async () => {
    putContexts(null, { a: { nats: 'nats://h', fleet: 'a.b' } });
    expect(await problemsOf(named('a'))).toEqual([expect.stringContaining('context "a", fleet: "a.b"')]);
  });
});
