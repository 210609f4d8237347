/** Patterns of ids: an id in which `*` stands for any characters, none included. Pure. */
import { isId } from '../../machines/values/id.ts';

export const isPattern = (text: string): boolean => text.includes('*');

export const isIdOrPattern = (text: string): boolean => isId(isPattern(text) ? `x${text.replaceAll('*', '')}` : text);

/** Matches in linear time, unlike a regular expression with several `.*`: each part is found where it comes first. */
export function matchesPattern(pattern: string, id: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return id === pattern;
  if (!id.startsWith(start)) return false;
  let from = start.length;
  for (const part of parts) {
    const at = id.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return id.endsWith(end) && id.length - end.length >= from;
}
