/** Ends streams when their token is revoked, although they outlive the request that opened them. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Access, checkAccess } from './access.ts';
import { type Admission, findCaller } from './admission.ts';

/** A token that was taken away can still read for this long. */
const recheckMs = 1_000;

/** Calls `end` once the request would be refused. @returns what ends the checks */
export function onceRevoked(
  headers: IncomingHttpHeaders,
  params: unknown,
  access: Access,
  admission: Admission,
  end: () => void,
): () => void {
  const check = () => {
    try {
      checkAccess(findCaller(headers, admission), access, params);
    } catch {
      clearInterval(timer);
      end();
    }
  };
  const timer = setInterval(check, recheckMs).unref();
  return () => clearInterval(timer);
}
