/** The `http` option: valid and refused addresses, and those that need a token. */
import { describe, expect, test } from 'vitest';
import { useHome } from './home.ts';

const { load, put, problemsOf } = useHome();

describe('http', () => {
  test.each([
    ['4280', '127.0.0.1', 4280, 'http://127.0.0.1:4280'],
    ['0', '127.0.0.1', 0, 'http://127.0.0.1:0'],
    ['localhost:65535', 'localhost', 65_535, 'http://localhost:65535'],
    ['127.9.9.9:1', '127.9.9.9', 1, 'http://127.9.9.9:1'],
    ['[::1]:4280', '::1', 4280, 'http://[::1]:4280'],
    ['http://127.0.0.1:4281', '127.0.0.1', 4281, 'http://127.0.0.1:4281'],
    ['http://127.0.0.1:4281/', '127.0.0.1', 4281, 'http://127.0.0.1:4281'],
    ['http://localhost', 'localhost', 80, 'http://localhost:80'],
    ['HTTPS://localhost', 'localhost', 443, 'https://localhost:443'],
    ['http://localhost/tools/stopgate/', 'localhost', 80, 'http://localhost:80/tools/stopgate'],
  ])('%s is understood', async (http, host, port, url) => {
    expect((await load({ flags: { http } })).http).toEqual({ host, port, url });
  });

  test.each([
    ['http: 127.0.0.1:4281', undefined, 'https://127.0.0.1:4281'],
    ['', undefined, 'https://127.0.0.1:4280'],
    ['', '127.0.0.1:9', 'https://127.0.0.1:9'],
    ['', 'http://127.0.0.1:9', 'http://127.0.0.1:9'],
  ])('with tls: in the file (%s, --http %s), it is %s', async (written, http, url) => {
    put('stopgate.yaml', `tls: { cert: tls.crt, key: tls.key }\n${written}\n`);
    expect((await load({ flags: { http } })).http?.url).toBe(url);
  });

  test.each(['off', 'none'])('%s turns HTTP off', async (http) => {
    expect((await load({ flags: { http } })).http).toBeNull();
  });

  test.each([
    'localhost',
    ':4280',
    '127.0.0.1:65536',
    '::1:4280',
    '[::1]',
    '[:::1]:1',
    '*:4280',
    'a b:1',
    'h:1/path',
    'http://h:1/a//b',
    'http://h:1/../a',
    'http://h:1/a?b',
    'ftp://h:1',
    'u@h:1',
    '65536',
    '-1',
  ])('%s is refused', async (http) => {
    expect(await problemsOf({ flags: { http, token: 't' } })).toHaveLength(1);
  });

  test('with a path is for clients behind a proxy, not for a service', async () => {
    expect(await problemsOf({ flags: { http: 'http://127.0.0.1:4280/stopgate' }, serving: true })).toEqual([
      expect.stringContaining('has a path, and a service listens without one: set HOST:PORT'),
    ]);
  });

  test.each(['0.0.0.0:4280', '[::]:4280', '10.0.0.1:1', 'example.com:1', 'https://example.com', '127.evil.com:1'])(
    '%s is reachable from outside, so it needs a token',
    async (http) => {
      expect(await problemsOf({ flags: { http } })).toEqual([
        `--http: "${http}" can be reached from other machines and needs a token: set STOPGATE_TOKEN (or --token) to a long random word or "tokens" in stopgate.yaml, or use 127.0.0.1`,
      ]);
      expect((await load({ flags: { http }, env: { STOPGATE_TOKEN: 't' } })).http).not.toBeNull();
    },
  );

  test.each([
    ['0.0.0.0:4280', 'short', 1],
    ['0.0.0.0:4280', 'long-enough-for-it', 0],
    ['127.0.0.1:4280', 'short', 0],
  ])('of %s with the token %s warns a service %d times', async (http, token, count) => {
    const warned = expect.stringContaining('its token is shorter than 16 characters');
    expect((await load({ flags: { http, token }, serving: true })).warnings).toEqual(Array(count).fill(warned));
  });

  test('that needs a token is reported at its position in the file', async () => {
    put('stopgate.yaml', '# open\nhttp: 0.0.0.0:4280\n');
    expect(await problemsOf({})).toEqual([
      expect.stringMatching(/^stopgate\.yaml:2:7: "0\.0\.0\.0:4280" can be reached/),
    ]);
  });
});
