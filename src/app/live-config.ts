/**
 * Applies stopgate.yaml, and each change of it, to all fleets of the process: policies, escalation, commands, tokens,
 * fleets.
 */
import { type Config, danglingNamesIn, selectFleets, tokensWithoutFleets } from '../config/config.ts';
import type { ConfigFile, PolicyForm, RetentionRules } from '../config/file.ts';
import { readFleetSelection } from '../config/fleet-selection.ts';
import { followConfigFile } from '../config/follow-config-file.ts';
import { isPrivate } from '../config/values.ts';
import type { EscalationRules } from '../host/effects/notices.ts';
import type { Logger } from '../log.ts';
import type { AnswerLinks } from '../notify/answer-links.ts';
import { createNoticeRules } from '../notify/notice-rules.ts';
import type { ReloadingRunner } from '../runner/runner.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Io } from '../terminal/process-io.ts';
import type { AccessTokens } from './access.ts';
import type { Fleets } from './fleets.ts';

export type LiveConfigOptions = {
  readonly config: Config;
  readonly checks: ReloadingRunner;
  readonly access: AccessTokens;
  readonly metrics: Metrics;
  readonly env: Io['env'];
  readonly logger: Logger;
};

/**
 * `policies` is null to leave the log's policies unchanged. All fleets share one escalation, so that its limits hold
 * for all.
 */
type Current = {
  readonly file: ConfigFile;
  readonly policies: PolicyForm | null;
  readonly escalation: EscalationRules;
  readonly answerLinks: AnswerLinks | null;
  readonly retention: RetentionRules;
};

export type LiveConfig = {
  /** Returns the configuration for a fleet that is being opened. */
  current(): Current;
  /** Starts to apply changes of the file to the fleets. */
  follow(fleets: Fleets): { close(): void };
};

export function createLiveConfig({ config, checks, access, metrics, env, logger }: LiveConfigOptions): LiveConfig {
  const { http, publicUrl } = config;
  const isReachable = http !== null && !isPrivate({ host: http.host, publicUrl });
  const readNotices = (file: ConfigFile) => createNoticeRules(file.escalation, env, metrics, logger, isReachable);
  let file = config.file;
  let current: Current = { file, policies: file.policyForm, ...readNotices(file), retention: file.retention };
  const apply = (changed: ConfigFile, { replicas }: Fleets) => {
    // A file that never had policies leaves those of the log alone. Removing them from the file removes them from the
    // log.
    const hadPolicies = file.policyForm !== null;
    const policies = changed.policyForm ?? (hadPolicies ? { policies: {} } : null);
    // Changes elsewhere in the file do not restart a delivery in progress.
    const sameEscalation = JSON.stringify(file.escalation) === JSON.stringify(changed.escalation);
    const { escalation, answerLinks } = sameEscalation ? current : readNotices(changed);
    // Everything that can fail is done. From here on the new file takes effect as a whole.
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
          const changed = { ...read, path: config.filePath };
          const served = config.fleetsInFile ? selectFleets(config, selectionIn(read.file)) : config.fleets;
          return [
            ...danglingNamesIn(changed, env),
            ...missingTokens(config, read.file),
            ...tokensWithoutFleets(changed, { fleets: served, shard: config.shard }),
          ];
        },
      ),
  };
}

/** Rejects a change that would leave HTTP without any token although others can reach it. */
function missingTokens({ http, token, publicUrl }: Config, { tokens }: ConfigFile): string[] {
  if (http === null || token !== null || tokens.length > 0) return [];
  if (isPrivate({ host: http.host, publicUrl })) return [];
  return ['others can reach HTTP, so it needs a token: keep one under "tokens", or restart with STOPGATE_TOKEN'];
}

const selectionIn = ({ fleets }: ConfigFile) =>
  fleets === null ? null : (readFleetSelection(fleets.join(',')) ?? null);
