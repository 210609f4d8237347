/**
 * All checks and hooks that a client serves over one connection, which is opened with the first one and closed with the
 * client.
 */
import type { ClientLink } from '../nats/client-link.ts';
import type { TaskCompletionChecker } from './checkers.ts';
import { type CheckFunction, type ServedCheck, type ServeOptions, serveCheck } from './serve-check.ts';

export type Serve = (
  name: string,
  check: CheckFunction | TaskCompletionChecker,
  options?: ServeOptions,
) => Promise<ServedCheck>;
export type ServedChecks = { readonly serve: Serve; close(): Promise<void> };

/** @param openLink `isOwn` false: the connection belongs to the caller, who closes it */
export function createServedChecks(openLink: () => Promise<{ link: ClientLink; isOwn: boolean }>): ServedChecks {
  let opening: ReturnType<typeof openLink> | null = null;
  const open = new Set<ServedCheck>();
  const linkForChecks = async () => {
    opening ??= openLink();
    try {
      return (await opening).link;
    } catch (error) {
      opening = null;
      throw error;
    }
  };
  return {
    async serve(name, check, options) {
      const served = await serveCheck(await linkForChecks(), name, check, options);
      const handle: ServedCheck = {
        name,
        async close() {
          open.delete(handle);
          await served.close();
        },
      };
      open.add(handle);
      return handle;
    },
    async close() {
      await Promise.all([...open].map((it) => it.close()));
      const opened = await opening;
      if (opened?.isOwn) await opened.link.close();
    },
  };
}
