/** A service killed while it has an escalation to deliver: it is delivered once, under the same delivery id. */
import { expect, onTestFinished, test } from 'vitest';
import { deploy } from '../../support/deployment.ts';
import { openReceiver } from '../../support/receiver.ts';
import { endService, serveShipped, startService } from '../../support/service.ts';

const eventually = <T>(read: () => T) => expect.poll(read);

/** A shipped service, which can be killed. Its successor runs in this process. */
async function place() {
  const receiver = await openReceiver();
  onTestFinished(() => receiver.close());
  const config = `policies: { default: { promises: true } }\nescalation: { remind: null, webhook: { url: "${receiver.url}" } }\n`;
  const at = await deploy({ config, start: serveShipped });
  onTestFinished(() => at.close());
  const { client, server, folder, service } = at;
  return {
    receiver,
    service,
    giveUp: (worker: string) => client.ask(`decide.${worker}`, { attempt: 'a1', output: '<promise>BLOCKED</promise>' }),
    notices: (worker: string) =>
      client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.escalation.notified`),
    async startSecond() {
      const second = await startService(['serve', '--nats', server.url, '--http', 'off'], folder.path);
      onTestFinished(() => endService(second));
    },
  };
}

test('kill -9 and a restart repeat no delivery, and make up for the missing one', async () => {
  const { receiver, service, giveUp, notices, startSecond } = await place();
  await giveUp('w1');
  await eventually(() => notices('w1')).toHaveLength(1);
  receiver.answer(() => {});
  await giveUp('w2');
  await eventually(() => receiver.received.length).toBe(2);
  await service.kill('SIGKILL');
  receiver.answer(200);
  await startSecond();
  await eventually(() => notices('w2')).toHaveLength(1);
  expect(receiver.received.map(({ body }) => body.id)).toEqual(['w1', 'w2', 'w2']);
  expect(receiver.received[2]?.body.delivery).toBe(receiver.received[1]?.body.delivery);
});

test('another service takes over a delivery if its sender is killed', async () => {
  const { receiver, service, giveUp, notices, startSecond } = await place();
  receiver.answer(() => {});
  await giveUp('w1');
  await eventually(() => receiver.received.length).toBe(1);
  await startSecond();
  await service.kill('SIGKILL');
  receiver.answer(200);
  await eventually(() => notices('w1')).toHaveLength(1);
  const [first, ...more] = receiver.received.map(({ body }) => body.delivery);
  expect(more).toEqual([first]);
});
