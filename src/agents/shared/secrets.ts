/** Hides secrets in a check's output, recognised by how tools print them: the text goes to an agent's model and logs. */
import { cutMiddle } from './text.ts';

const hidden = '[hidden]';
const shapes: readonly (readonly [RegExp, string])[] = [
  [/\b((?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?)[^\s"',;]+/gi, `$1${hidden}`],
  [/\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}/gi, `$1${hidden}`],
  [
    /([A-Za-z0-9_-]{0,60}(?:api[_-]?key|access[_-]?key|secret|passw(?:or)?d|auth[_-]?token|_token|_pat)["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi,
    `$1${hidden}`,
  ],
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{1,100}:)[^\s@/]{1,200}(?=@)/gi, `$1${hidden}`],
  [/\b(?:gh[pousr]_|github_pat_|sk-|xox[abprs]-|AKIA|glpat-|npm_)[A-Za-z0-9_-]{12,}/g, hidden],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
];

/** Masks secrets. The same text always gives the same result, so that a block can be recognised later. */
export function hideSecrets(text: string): string {
  return shapes.reduce((shown, [shape, instead]) => shown.replace(shape, instead), text);
}

/**
 * A search takes up to a second per million characters, and a hook's body may have 16 MiB. So much more than what is shown
 * is searched that a key at the edge of what is shown is still seen whole.
 */
export const searchedPerShown = 10;

/** At most `max` UTF-16 units of it, its middle cut. */
export const shownText = (text: string, max: number): string =>
  cutMiddle(hideSecrets(cutMiddle(text, max * searchedPerShown)), max);

/** As JSON, with the secrets in its texts hidden; hidden in the JSON itself, they would take quotes with them. Null: too long for it. */
export const shownJson = (value: object, max: number): string | null =>
  JSON.stringify(value).length > max * searchedPerShown ? null : JSON.stringify(value, hideIn);

/** At most `max` UTF-16 units. What is cut is no JSON. */
export function shownInput(input: object, max: number): string {
  const whole = shownJson(input, max);
  return whole === null ? shownText(`(cut) ${JSON.stringify(input)}`, max) : cutMiddle(whole, max);
}

/** Objects whose keys are secrets become pairs, since hidden keys may be equal. */
function hideIn(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return hideValue(key, value);
  if (Array.isArray(value) || Object.keys(value).every((it) => hideSecrets(it) === it)) return value;
  return Object.entries(value).map(([name, it]) => [name, hideValue(name, it)]);
}

/** Its key may be what tells that it is a secret: `"password": "…"`. */
function hideValue(key: string, value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const prefix = `${key}: `;
  const shown = hideSecrets(`${prefix}${value}`);
  const hiddenIn = shown.startsWith(prefix) ? shown.slice(prefix.length) : hideSecrets(`${value}`);
  return hiddenIn === `${value}` ? value : hiddenIn;
}
