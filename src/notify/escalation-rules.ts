/** Where notices of escalations go, from the configuration: to a webhook, or to the service's own log. */

import { readVariable } from '../config/environment.ts';
import type { ConfigFile } from '../config/file.ts';
import type { EscalationRules } from '../host/notice.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Io } from '../process-io.ts';
import { createWebhook } from './webhook.ts';

export function escalationRules(
  escalation: ConfigFile['escalation'],
  env: Io['env'],
  metrics: Metrics,
  logger: Logger,
): EscalationRules {
  const { remindMs = null, webhook = null } = escalation ?? {};
  if (webhook === null) return { remindMs, notify: null };
  const { url, secretEnv } = webhook;
  const secret = secretEnv === null ? null : (readVariable(secretEnv, env) ?? null);
  const count = (outcome: string) => metrics.webhooks.inc({ outcome });
  const onWaiting = (change: number) => metrics.webhooksWaiting.inc(change);
  return { remindMs, notify: createWebhook({ url, secret, clock: Date.now, logger, count, onWaiting }) };
}
