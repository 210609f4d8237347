/**
 * The part of stopgate.yaml for all fleets of a process: policies, escalation and commands, and the selection of
 * fleets.
 */
import { type Config, deadNamesIn, selectFleets, tokensWithoutFleets } from '../config/config.ts';
import type { ConfigFile, PolicyForm, RetentionRules } from '../config/file.ts';
import { readFleetSelection } from '../config/fleet-selection.ts';
import { isPrivate } from '../config/values.ts';
import { followConfigFile } from '../config/watch.ts';
import type { EscalationRules } from '../host/effects/notices.ts';
import type { Logger } from '../log.ts';
import type { AnswerLinks } from '../notify/answer-links.ts';
import { createNoticeRules } from '../notify/notice-rules.ts';
import type { ReloadingRunner } from '../runner/runner.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Io } from '../terminal/process-io.ts';
import type { AccessTokens } from './access.ts';
import type { Fleets } from './fleets.ts';

export type RulesOptions = {
  readonly config: Config;
  readonly checks: ReloadingRunner;
  readonly access: AccessTokens;
  readonly metrics: Metrics;
  readonly env: Io['env'];
  readonly logger: Logger;
};

/** `policies` null: the log's stay as they are. The escalation is shared, so that its receiver is not hit by each fleet. */
type Current = {
  readonly file: ConfigFile;
  readonly policies: PolicyForm | null;
  readonly escalation: EscalationRules;
  readonly answerLinks: AnswerLinks | null;
  readonly retention: RetentionRules;
};

export type Rules = {
  /** For a fleet that is opened now. */
  current(): Current;
  /** From now on a changed file is passed on to the fleets. */
  follow(fleets: Fleets): { close(): void };
};

export function createRules({ config, checks, access, metrics, env, logger }: RulesOptions): Rules {
  const { http, publicUrl } = config;
  const isReachable = http !== null && !isPrivate({ host: http.host, publicUrl });
  const readNotices = (file: ConfigFile) => createNoticeRules(file.escalation, env, metrics, logger, isReachable);
  let file = config.file;
  let current: Current = { file, policies: file.policyForm, ...readNotices(file), retention: file.retention };
  const apply = (changed: ConfigFile, { replicas }: Fleets) => {
    // A file that never had policies does not change them; one that drops its policies withdraws them.
    const hadPolicies = file.policyForm !== null;
    const policies = changed.policyForm ?? (hadPolicies ? { policies: {} } : null);
    // A delivery in progress is not restarted because of a change elsewhere.
    const sameEscalation = JSON.stringify(file.escalation) === JSON.stringify(changed.escalation);
    const { escalation, answerLinks } = sameEscalation ? current : readNotices(changed);
    // What may go wrong was made above, and is not in force until all of it is.
    checks.configure(changed);
    access.configure(changed.tokens);
    if (policies !== null) for (const replica of replicas()) replica.setPolicies(policies);
    if (!sameEscalation) for (const replica of replicas()) replica.setEscalation(escalation);
    for (const replica of replicas()) replica.setRetention(changed.retention);
    current = { file: changed, policies, escalation, answerLinks, retention: changed.retention };
    file = changed;
  };
  return {
    current: () => current,
    follow: (fleets) =>
      followConfigFile(
        config,
        logger,
        ({ file }) => {
          apply(file, fleets);
          if (config.fleetsInFile) void fleets.select(selectFleets(config, selectionIn(file)));
        },
        (read) => {
          const at = { ...read, path: config.filePath };
          const served = config.fleetsInFile ? selectFleets(config, selectionIn(read.file)) : config.fleets;
          return [
            ...deadNamesIn(at, env),
            ...missingTokens(config, read.file),
            ...tokensWithoutFleets(at, { fleets: served, shard: config.shard }),
          ];
        },
      ),
  };
}

/** HTTP that others can reach must not become open while it runs. */
function missingTokens({ http, token, publicUrl }: Config, { tokens }: ConfigFile): string[] {
  if (http === null || token !== null || tokens.length > 0) return [];
  if (isPrivate({ host: http.host, publicUrl })) return [];
  return ['others can reach HTTP, so it needs a token: keep one under "tokens", or restart with STOPGATE_TOKEN'];
}

const selectionIn = ({ fleets }: ConfigFile) =>
  fleets === null ? null : (readFleetSelection(fleets.join(',')) ?? null);
