/** The NATS command line tool, as far as pages use it: any plain client does the same. */
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Answer } from './shell.ts';

const timeoutMs = 5_000;
const done: Answer = { code: 0, stdout: '', stderr: '' };

export async function runNats(
  [verb = '', subject = '', body = '']: readonly string[],
  server: string,
): Promise<Answer> {
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

const verbs: Readonly<Record<string, (nc: NatsConnection, subject: string, body: string) => Promise<Answer>>> = {
  async pub(nc, subject, body) {
    nc.publish(subject, body);
    await nc.flush();
    return done;
  },
  /** A reader who presses Ctrl-C once it listens. */
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
