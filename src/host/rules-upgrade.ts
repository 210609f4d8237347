/**
 * Puts a new version of the rules in force (protocol.md §15): one replica appends `rules.set`, once, when every member
 * knows it. A replica of an older release that joins later says which version it would need, and serves nothing.
 */
import { type Fleet, ownerFor, rulesMessageId, rulesOfMembers, rulesRange } from '../../machines/index.ts';
import type { HostContext } from './context.ts';

/** What `replica.joined` says of this replica: `rulesMax` holds a newer version back that it knows. */
export function rulesOffered({ rulesKnown }: Fleet, rulesMax: number | undefined): readonly [min: number, max: number] {
  const [min, max] = rulesRange(rulesKnown);
  return [min, Math.max(min, Math.min(max, rulesMax ?? max))];
}

/** To be called at the log's head, and whenever a replica came or left. */
export function upgradeRules(context: HostContext): void {
  const { fleet, replica, logger } = context;
  const isNeeded = () => context.life.isRunning() && fleet.rules.version < version;
  const version = rulesOfMembers(fleet);
  if (!context.life.isAtHead() || !isNeeded() || ownerFor(fleet, 'rules', null) !== replica) return;
  logger.info({ version, before: fleet.rules.version }, 'every replica knows these rules: putting them in force');
  void context.entries.untilFolded({
    tail: `own.fleet.${fleet.name}.rules.set`,
    data: { version },
    messageId: rulesMessageId(version),
    isNeeded: () => isNeeded() && rulesOfMembers(fleet) >= version,
  });
}
