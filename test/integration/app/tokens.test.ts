/** Tokens of a running service: rotated in a file and in stopgate.yaml without a restart. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { deploy, makeFolder } from '../../support/deployment.ts';

test('a token is rotated while the service runs, and a broken file changes nothing', async () => {
  const secrets = await makeFolder({ box: 'first\n' });
  onTestFinished(() => secrets.remove());
  const file = join(secrets.path, 'box');
  const config = (more = '') => `tokens:\n  box: { role: agent, file: ${JSON.stringify(file)} }\n${more}`;
  const at = await deploy({ config: config() });
  onTestFinished(() => at.close());
  const status = async (token: string) =>
    (await fetch(`${at.http}/readyz`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect([await status('first'), await status('second')]).toEqual([200, 401]);

  await writeFile(file, 'second\nfirst\n');
  await expect.poll(() => status('second')).toBe(200);
  expect(await status('first')).toBe(200);
  await writeFile(file, 'second\n');
  await expect.poll(() => status('first')).toBe(401);
  await writeFile(file, '\n');
  await expect.poll(() => at.log().map(({ msg }) => msg)).toContain('the old tokens stay in force');
  expect(await status('second')).toBe(200);
  await writeFile(file, 'second\n');

  const made = await runCommand(['token', 'alice', '--role', 'operator', '--json'], { cwd: at.folder.path });
  const { token, tokens } = JSON.parse(made.stdout);
  await at.folder.write('stopgate.yaml', config(`  alice: ${JSON.stringify(tokens.alice)}\n`));
  await expect.poll(() => status(token)).toBe(200);
  await at.folder.write('stopgate.yaml', config());
  await expect.poll(() => status(token)).toBe(401);
  for (const secret of ['second', token]) expect(at.service.stderr()).not.toContain(secret);
});

test('removing the tokens from the file does not open a service that others can reach', async () => {
  const config = (rest = '') => `publicUrl: https://stopgate.example.com\n${rest}`;
  const made = await runCommand(['token', 'alice', '--role', 'operator', '--json'], { cwd: '/' });
  const { token, tokens } = JSON.parse(made.stdout);
  const at = await deploy({ config: config(`tokens: { alice: ${JSON.stringify(tokens.alice)} }\n`) });
  onTestFinished(() => at.close());
  await at.folder.write('stopgate.yaml', config());
  await expect
    .poll(() => at.log().map(({ problems }) => problems))
    .toContainEqual([expect.stringContaining('others can reach HTTP, so it needs a token')]);
  const status = async (headers: Record<string, string>) => (await fetch(`${at.http}/readyz`, { headers })).status;
  expect([await status({}), await status({ authorization: `Bearer ${token}` })]).toEqual([401, 200]);
});

test('a start with a token that cannot be read is refused', async () => {
  const folder = await makeFolder({
    'stopgate.yaml': 'tokens: { ci: { role: read, env: CI_TOKEN_THAT_IS_NOT_SET } }\n',
  });
  onTestFinished(() => folder.remove());
  const ended = await runCommand(['serve', '--nats', 'nats://127.0.0.1:1'], { cwd: folder.path });
  expect(ended).toMatchObject({
    code: 2,
    stderr: 'stopgate: stopgate.yaml:1:15: token "ci": variable "CI_TOKEN_THAT_IS_NOT_SET" is not set\n',
  });
});
