/**
 * Imitates the commands of the NATS command line tool that the pages use. If STOPGATE_TEST_NATS names the real tool,
 * as in the nightly run, that is used instead.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { readEnvironment, readVariable } from '../../src/config/environment.ts';
import type { Answer, Call } from './shell.ts';

const timeoutMs = 30_000;
const done: Answer = { code: 0, stdout: '', stderr: '' };

export async function runNats(call: Call, server: string): Promise<Answer> {
  const real = readVariable('STOPGATE_TEST_NATS');
  if (real !== undefined) return runReal(real, call, server);
  const [verb = '', subject = '', body = ''] = call.argv;
  const nc = await connect({ servers: server });
  try {
    return await (verbs[verb]?.(nc, subject, body) ?? {
      code: 127,
      stdout: '',
      stderr: `no test runs 'nats ${verb}'\n`,
    });
  } finally {
    await nc.close();
  }
}

/** A command that runs until Ctrl-C gets it as soon as it prints that it listens. */
async function runReal(program: string, { argv, cwd, env }: Call, server: string): Promise<Answer> {
  const child = spawn(program, ['-s', server, '--timeout=30s', ...argv], {
    cwd,
    env: { ...readEnvironment(), HOME: env.HOME },
    stdio: ['ignore', 'pipe', 'pipe'] as const,
  });
  const texts = { stdout: '', stderr: '' };
  let interrupted = false;
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
      if (argv[0] !== 'sub' || interrupted || !/Subscribing on/.test(texts.stdout + texts.stderr)) return;
      interrupted = true;
      child.kill('SIGINT');
    });
  const [code] = (await once(child, 'close')) as [number | null];
  const failed = /Nats-Service-Error-Code|nats: error/.test(texts.stdout + texts.stderr);
  return { code: interrupted ? 0 : failed ? 1 : (code ?? 1), ...texts };
}

const verbs: Readonly<Record<string, (nc: NatsConnection, subject: string, body: string) => Promise<Answer>>> = {
  async pub(nc, subject, body) {
    nc.publish(subject, body);
    await nc.flush();
    return done;
  },
  /** Presses Ctrl-C once the command listens. */
  async sub(nc, subject) {
    const refusals: Error[] = [];
    nc.subscribe(subject, { callback: (error) => void (error === null || refusals.push(error)) });
    await nc.flush();
    return refusals.length === 0 ? done : { code: 1, stdout: '', stderr: `${refusals[0]}\n` };
  },
  async req(nc, subject, body) {
    const reply = await nc.request(subject, body, { timeout: timeoutMs });
    const status = reply.headers?.get('Nats-Service-Error-Code') ?? '';
    return { code: status === '' ? 0 : 1, stdout: `${reply.string()}\n`, stderr: status };
  },
  /** `micro ls` */
  async micro(nc) {
    const reply = await nc.request('$SRV.PING.stopgate', '', { timeout: timeoutMs });
    return { ...done, stdout: `${reply.string()}\n` };
  },
};
