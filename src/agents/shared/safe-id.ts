/** Ids made of an agent's own names. */
import { createHash } from 'node:crypto';
import { isId } from '../../../machines/index.ts';

const keptMax = 100;

/**
 * `text` itself if it is an id. Otherwise its valid characters and a hash of the whole text, so that two names stay two
 * ids no matter what was cut or replaced.
 */
export function toId(text: string): string {
  if (isId(text)) return text;
  const kept = text
    .slice(0, keptMax)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[_-]+/, '');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${kept === '' ? 'id' : kept}-${hash}`;
}
