/**
 * Finds the line of a command's output that says what failed. Runners end with totals, hints and timings, so the last
 * line is the last resort. Knows vitest, jest, playwright, pytest, go, cargo, tsc, eslint and npm. The output is
 * untrusted: it is cut, long lines are skipped, and every pattern takes linear time.
 */

/** A runner's output is cut to 2,000 characters, but remote checks may send more. */
const charsMax = 32_768;
/** Longer lines are data, not messages. */
const lineLengthMax = 300;

/** Lines that name one failure, the most specific kind first. The first match in the output is the first failure. */
const failures: readonly RegExp[] = [
  // tsc, plain and pretty: `src/a.ts(3,7): error TS2322: …`, `src/a.ts:3:7 - error TS2322: …`
  /^\S+?[(:]\d+[,:]\d+\)?:? (?:- )?error(?: TS\d+)?\b/,
  // go and cc: `./main.go:5:2: undefined: x`, `a.c:3:1: error: …`
  /^(?:vet: )?\S+\.(?:go|c|cc|cpp|h):\d+:(?:\d+:)? \S/,
  // cargo: `error[E0425]: cannot find value …`, `error: expected …`, but not its closing lines.
  /^error(?:\[E\d+\])?: (?!aborting|could not compile|test failed|\d+ targets? failed|process didn't)/,
  /^thread '[^']*'.* panicked at /,
  // pytest: `E       assert 1 == 2`
  /^E {2,}\S/,
  /^(?:\w+\.)*\w*(?:Error|Exception)(?: \[\w+\])?: \S/,
  /^(?:panic|fatal): \S/,
  /^Cannot find (?:module|package) /,
  // jest: `● login › signs in`
  /^● (?!Test suite failed|Console)\S/,
  // eslint: `3:7  error  'x' is assigned a value but never used  no-unused-vars`
  /^\d+:\d+ +error +\S/,
  // npm: `npm error Missing script: "test"`, but not its codes, paths and log files.
  /^npm (?:ERR!|error) (?!code|errno|path|command|signal|syscall|cwd|workspace|location|in workspace|at location|A complete log|To see a list|Did you mean|Lifecycle script)\S/,
];

/** Totals that count at least one failure: `1 failed`, `Tests: 2 failed, 3 total`, `Found 3 errors`, `✖ 2 problems`. */
const total = /(?:^|[^\d.])[1-9][\d,]* (?:\w+ )?(?:fail(?:ed|ing|ures?|s)?|errors?|problems?)\b/i;
/** `0 failed`, `no errors`: not a failure, whatever else the line says. */
const none = /\b(?:0|no) (?:\w+ )?(?:fail(?:ed|ing|ures?|s)?|errors?|problems?)\b/i;
const errorWord =
  /\b(?:errors?|fail(?:ed|ing|ure|ures|s)?|fatal|panic(?:ked)?|exception|cannot|could not|unable to|not found|no such|undefined|unexpected|invalid|denied|refused|expected|timed out|missing)\b/i;
/** npm prints the script that it runs. */
const echoed = /^> \S/;
const passWord = /^(?:✓|✔|√|ok\b|PASS(?:ED)?\b)/;

/** @returns null if the output has no line with a word */
export function failingLine(output: string): string | null {
  const lines = linesOf(output);
  for (const pattern of failures) {
    const index = lines.findIndex((line) => pattern.test(line));
    if (index >= 0) return withFile(lines, index);
  }
  return (
    lines.findLast((line) => total.test(line) && !none.test(line)) ??
    lines.findLast((line) => errorWord.test(line) && !none.test(line) && !passWord.test(line)) ??
    lines.findLast((line) => /\p{L}/u.test(line) && !echoed.test(line)) ??
    null
  );
}

const linesOf = (output: string): string[] =>
  output
    .slice(-charsMax)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && line.length <= lineLengthMax);

/** ESLint prints the file once, above its findings. */
function withFile(lines: readonly string[], index: number): string {
  const line = lines[index] ?? '';
  if (!/^\d+:\d+ /.test(line)) return line;
  const file = lines.slice(0, index).findLast((text) => /^\S+[/\\]\S+\.\w+$/.test(text));
  return file === undefined ? line : `${file.split(/[/\\]/).at(-1)}:${line}`;
}

const testFile =
  /^[\w@./-]*[\w-][._](?:test|spec)\.[cm]?[jt]sx?$|^[\w./-]*(?:test_\w+|\w+_test|\w+_spec)\.(?:py|go|rb|exs)$/;
const failWord = /^(?:FAIL(?:ED|URE)?|✗|×|✖|error|fails?|failed|failing)$/i;
const named = /^(?:--- FAIL: (\S+)|test (\S+) \.\.\. FAILED|FAILED (\S+)|not ok \d+ - (.+))/;
/**
 * Playwright lists what failed under the total, after the name of the browser: `[chromium] › login.spec.ts:5:3 › …`.
 */
const listed = /^(?:\[[^\]]+\] › )?([\w@./-]+):\d+:\d+ › /;
/** Longer words are not file names. */
const wordMax = 200;

/** Returns the failed tests that an output names (vitest, jest, playwright, pytest, go, cargo, TAP), each once. */
export function failedTests(output: string): string[] {
  const lines = linesOf(output);
  return [...new Set([...lines.flatMap((line) => failedTest(line) ?? []), ...listedAsFailed(lines)])];
}

function failedTest(line: string): string | null {
  const runner = named.exec(line);
  if (runner !== null) return runner[1] ?? runner[2] ?? runner[4] ?? baseName(runner[3] ?? '');
  if (/\b0 fail/.test(line)) return null;
  // Word by word, to take linear time.
  const words = line.split(/[\s():,|]+/).filter(({ length }) => length <= wordMax);
  const file = words.find((word) => testFile.test(word));
  return file !== undefined && words.some((word) => failWord.test(word)) ? baseName(file) : null;
}

function listedAsFailed(lines: readonly string[]): string[] {
  const after = lines.findIndex((line) => /^\d+ failed$/.test(line));
  if (after < 0) return [];
  const rest = lines.slice(after + 1);
  const end = rest.findIndex((line) => !listed.test(line));
  return rest.slice(0, end < 0 ? rest.length : end).map((line) => baseName(listed.exec(line)?.[1] ?? ''));
}

const baseName = (path: string): string => path.split('::')[0]?.split('/').at(-1) ?? path;
