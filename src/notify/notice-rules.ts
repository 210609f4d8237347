/** Creates from the configuration the webhook that receives notices, and the links in them. */
import { readVariable } from '../config/environment.ts';
import type { ConfigFile } from '../config/file.ts';
import type { EscalationRules } from '../host/effects/notices.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Io } from '../terminal/process-io.ts';
import { type AnswerLinks, createAnswerLinks } from './answer-links.ts';
import { isRefused, type Reach } from './private-address.ts';
import { createWebhook, type WebhookOutcome, webhookOutcomes } from './webhook.ts';

/**
 * The default: a service that only this machine can reach belongs to one person, who may run a receiver on a private
 * address. Link-local addresses are never meant: clouds keep credentials there.
 */
function reachOf(allowPrivate: boolean | null, isReachable: boolean): Reach {
  if (allowPrivate !== null) return allowPrivate ? 'all' : 'public';
  return isReachable ? 'public' : 'network';
}

/** `answerLinks` is null if no notices of requests are sent. */
type Notices = { readonly escalation: EscalationRules; readonly answerLinks: AnswerLinks | null };

/** @param isReachable whether other machines can reach this service */
export function createNoticeRules(
  escalation: ConfigFile['escalation'],
  env: Io['env'],
  metrics: Metrics,
  logger: Logger,
  isReachable = false,
): Notices {
  const { remindMs = null, webhook = null } = escalation ?? {};
  if (webhook === null) return { escalation: { remindMs, notify: null }, answerLinks: null };
  const { url, secretEnv, links, allowPrivate } = webhook;
  const reach = reachOf(allowPrivate, isReachable);
  if (isRefused(new URL(url).hostname, reach))
    logger.warn(
      'the webhook has a private address and will not be called: set escalation.webhook.allowPrivate to allow it',
    );
  const secret = secretEnv === null ? null : (readVariable(secretEnv, env) ?? null);
  const count = (outcome: WebhookOutcome, by = 1) => metrics.webhooks.inc({ outcome }, by);
  for (const outcome of webhookOutcomes) count(outcome, 0); // see startAtZero in src/app/serve.ts
  const onWaiting = (change: number) => metrics.webhooksWaiting.inc(change);
  const post = createWebhook({ url, secret, reach, clock: Date.now, logger, count, onWaiting });
  const answerLinks =
    links === null || secret === null ? null : createAnswerLinks({ ...links, secret, clock: Date.now, logger, post });
  return { escalation: { remindMs, notify: post, pageUrl: links?.url ?? null }, answerLinks };
}
