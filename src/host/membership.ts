/** Membership: an entry `replica.joined` every 10 s shows that this replica is alive; `replica.left` ends it. */
import { type HostContext, subject } from './context.ts';
import { rulesOffered } from './rules-upgrade.ts';

const joinEveryMs = 10_000;
const leaveTimeoutMs = 1_000;

export type Membership = {
  join(): Promise<void>;
  /** Joins again and again. */
  open(): void;
  close(): void;
  /** Appends `replica.left`, if the log takes it soon enough. */
  leave(): Promise<void>;
};

export function createMembership(context: HostContext): Membership {
  const { log, replica, logger } = context;
  let timer: NodeJS.Timeout | null = null;
  const rules = rulesOffered(context.fleet, context.rulesMax);
  const dataOf = (type: string) => (type === 'replica.joined' ? { replica, rules } : { replica });
  const append = (type: 'replica.joined' | 'replica.left') =>
    log.append(subject(context, `own.fleet.${context.fleet.name}.${type}`), JSON.stringify(dataOf(type)), { replica });
  const join = async () => {
    try {
      await append('replica.joined');
    } catch (error) {
      logger.warn({ err: error }, 'replica.joined not stored');
    }
  };
  const close = () => {
    if (timer !== null) clearInterval(timer);
  };
  return {
    join,
    open() {
      timer = setInterval(() => void join(), joinEveryMs);
    },
    close,
    async leave() {
      close();
      const left = append('replica.left').catch(() => {});
      await Promise.race([left, new Promise((done) => setTimeout(done, leaveTimeoutMs).unref())]);
    },
  };
}
