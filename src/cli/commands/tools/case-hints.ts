/** Finds the parts of a case that have no effect, although they are valid. */
import { createReplay, readSubject } from '../../../../machines/index.ts';
import type { PolicyCase } from '../../../config/case-schema.ts';
import type { PolicyForm } from '../../../config/file.ts';
import { findUnread } from '../../unread-fields.ts';
import { lineOf, setPolicies } from './policy-cases.ts';

/** Returns one sentence per field. A misspelled one is valid. */
export const findUnreadFields = ({ entries }: PolicyCase): string[] =>
  entries.flatMap((entry, index) => {
    if ('raw' in entry) return [];
    const address = readSubject(wholeSubject(entry.subject));
    if (address === null || 'code' in address) return [];
    return findUnread(address.area, address.type, entry.data).map(({ field, meant }) => {
      const hint = meant === null ? '' : `; did you mean '${meant}'?`;
      return `entry ${index + 1}: ${address.type} has no field '${field}'${hint}`;
    });
  });

/**
 * Checks run in the order of the policy, and a result is read only while its check is awaited.
 * @returns one sentence per result that was not read
 */
export function findUnreadResults({ entries }: PolicyCase, policies: PolicyForm | null): string[] {
  const folded = createReplay();
  setPolicies(folded, entries, policies);
  return entries.flatMap((entry, index) => {
    const awaited = 'raw' in entry ? null : awaitedBy(folded, entry.subject);
    const unread = awaited === null || 'raw' in entry || awaited.includes(String(entry.data.check)) ? null : awaited;
    folded.fold(lineOf(entry));
    if (unread === null || 'raw' in entry) return [];
    const instead = unread.length === 0 ? 'no attempt was open' : `the attempt waited for ${unread.join(', ')}`;
    return `entry ${index + 1}: the result of check '${entry.data.check}' was not read, because ${instead}; checks run one after the other, in the order of the policy`;
  });
}

/** Returns the checks that the open attempts of a worker wait for, or null if the entry is not a result of a check. */
function awaitedBy({ open }: ReturnType<typeof createReplay>, subject: string): string[] | null {
  const address = readSubject(wholeSubject(subject));
  if (address === null || 'code' in address) return null;
  if (address.area !== 'ownWorker' || address.type !== 'check.finished') return null;
  return open().flatMap((line) => ('waitsFor' in line && line.worker === address.id ? [line.waitsFor] : []));
}

const wholeSubject = (subject: string): string =>
  subject.startsWith('!') ? subject.slice(1) : `stopgate.main.${subject}`;
