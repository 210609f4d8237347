/** Hides secrets in texts that go to a model or to logs. Secrets are recognised by how tools print them. */
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

/** Deterministic, so that a block text can be recognised when it comes back. */
export function hideSecrets(text: string): string {
  return shapes.reduce((shown, [shape, replacement]) => shown.replace(shape, replacement), text);
}

/**
 * How many characters are searched per character shown. Searching takes up to a second per million characters and a
 * hook's body may have 16 MiB, so the search is limited, but wide enough to see a secret at the edge completely.
 */
export const searchedPerShown = 10;

/** The text with secrets hidden and its middle cut, at most `max` UTF-16 units. */
export const shownText = (text: string, max: number): string =>
  cutMiddle(hideSecrets(cutMiddle(text, max * searchedPerShown)), max);

/**
 * The value as JSON, with secrets hidden. They are replaced value by value: a replacement in the JSON text could remove
 * quotes. Returns null if the JSON is too long to search.
 */
export const shownJson = (value: object, max: number): string | null =>
  JSON.stringify(value).length > max * searchedPerShown ? null : JSON.stringify(value, hideIn);

/** The input as JSON with secrets hidden, at most `max` UTF-16 units. If cut, it is not valid JSON. */
export function shownInput(input: object, max: number): string {
  const whole = shownJson(input, max);
  return whole === null ? shownText(`(cut) ${JSON.stringify(input)}`, max) : cutMiddle(whole, max);
}

/** An object with secret keys becomes a list of pairs, because hidden keys may collide. */
function hideIn(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return hideValue(key, value);
  if (Array.isArray(value) || Object.keys(value).every((name) => hideSecrets(name) === name)) return value;
  return Object.entries(value).map(([name, field]) => [name, hideValue(name, field)]);
}

/** Searches key and value together, because the key may reveal the secret: `"password": "…"`. */
function hideValue(key: string, value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const prefix = `${key}: `;
  const shown = hideSecrets(`${prefix}${value}`);
  const masked = shown.startsWith(prefix) ? shown.slice(prefix.length) : hideSecrets(`${value}`);
  return masked === `${value}` ? value : masked;
}
