/** A connection that records permission violations, and assertions about them. */
import { type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';
import { expect } from 'vitest';

/** `refused` contains `publish <subject>` and `subscription <subject>`. */
export type RoleClient = { readonly nc: NatsConnection; readonly refused: string[] };

export function keepRefusals(nc: NatsConnection): RoleClient {
  const refused: string[] = [];
  void (async () => {
    for await (const status of nc.status()) {
      const error = status.type === 'error' ? status.error : undefined;
      if (error instanceof PermissionViolationError) refused.push(`${error.operation} ${error.subject}`);
    }
  })();
  return { nc, refused };
}

export async function refusesPublish({ nc, refused }: RoleClient, subject: string): Promise<void> {
  nc.publish(subject, '{"by":"nobody"}');
  await nc.flush(); // the server reports the violation before its reply to the flush
  await expect.poll(() => refused, { message: subject }).toContain(`publish ${subject}`);
}

export async function refusesSubscribe({ nc, refused }: RoleClient, subject: string, queue?: string): Promise<void> {
  refused.length = 0;
  nc.subscribe(subject, { ...(queue === undefined ? {} : { queue }), callback: () => undefined });
  await nc.flush();
  await expect.poll(() => refused, { message: subject }).toContain(`subscription ${subject}`);
}
