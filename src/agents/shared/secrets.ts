/** Hides secrets in a check's output, recognised by how tools print them: the text goes to an agent's model and logs. */

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

/** The same text always gives the same result, so that a block can be recognised later. */
export function hideSecrets(text: string): string {
  return shapes.reduce((shown, [shape, instead]) => shown.replace(shape, instead), text);
}
