/** Names of many actors, in a text. */
import { visible } from '../../visible-text.ts';

/** More would fill the dialog of a phone. */
const namesMax = 12;

export function namesOf(ids: readonly string[]): string {
  const names = ids.slice(0, namesMax).map((id) => visible(id));
  return ids.length > namesMax ? `${names.join(', ')} and ${ids.length - namesMax} more` : names.join(', ');
}
