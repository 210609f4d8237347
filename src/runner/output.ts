/** Collects the output of a command while it runs: never more than is needed, however much it prints. */
import { StringDecoder } from 'node:string_decoder';

/** `tail`: the last 2,000 characters of both streams as they came; `json`: stdout's value; `none`: nothing. */
export type FeedbackMode = 'tail' | 'json' | 'none';
type Stream = 'stdout' | 'stderr';
export type Output = {
  add(stream: Stream, chunk: Buffer): void;
  /** Returns the feedback. Call it once, at the end. Undefined: there is none. */
  feedback(): unknown;
};

const tailCharactersMax = 2_000; // code points
const rawCharactersMax = 32_768; // UTF-16 units, escape codes among them: colours may take most of a line
const jsonBytesMax = 32_768;
const jsonDepthMax = 64; // later code recurses into the value

export function collectOutput(mode: FeedbackMode): Output {
  if (mode === 'none') return { add: () => {}, feedback: () => undefined };
  const tail = collectTail();
  if (mode === 'tail') return { add: tail.add, feedback: () => tail.text() || undefined };
  const json = collectJson();
  return {
    add(stream, chunk) {
      tail.add(stream, chunk);
      if (stream === 'stdout') json.add(chunk);
    },
    feedback() {
      const found = json.read();
      if ('value' in found) return found.value;
      const text = tail.text();
      return text === '' ? `(${found.why})` : `(${found.why}; the end of the output:)\n${text}`;
    },
  };
}

function collectTail() {
  // One decoder a stream: a character may be split over two chunks, with a chunk of the other stream between.
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  let raw = '';
  return {
    add(stream: Stream, chunk: Buffer) {
      raw += decoders[stream].write(chunk);
      if (raw.length > 2 * rawCharactersMax) raw = raw.slice(-rawCharactersMax);
    },
    text() {
      const whole = (raw + decoders.stdout.end() + decoders.stderr.end()).replace(/^[\uDC00-\uDFFF]/, '');
      return [...stripControls(whole).trimEnd()].slice(-tailCharactersMax).join('');
    },
  };
}

// `esc` is a variable because the linter refuses control characters in a pattern.
const esc = '\u001B';
const bell = '\u0007';
const escapes = new RegExp(
  [
    `${esc}[\\]PX^_][^${esc}${bell}]*(?:${bell}|${esc}\\\\)`, // strings: titles, links, device control
    `(?:${esc}\\[|\u009B)[0-?]*[ -/]*[@-~]`, // control sequences: colours, cursor
    `${esc}[ -/]*[0-~]`, // all others (ECMA-48, 5.3 to 5.6)
  ].join('|'),
  'g',
);

/** Removes escape codes and control characters except \n and \t. A lone \r, as progress bars print, ends a line. */
const stripControls = (text: string) =>
  text
    .replace(escapes, '')
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '');

function collectJson() {
  let chunks: Buffer[] = [];
  let bytes = 0;
  return {
    add(chunk: Buffer) {
      bytes += chunk.length;
      if (bytes <= jsonBytesMax) chunks.push(chunk);
      else chunks = [];
    },
    read(): { value: unknown } | { why: string } {
      if (bytes === 0) return { why: 'stdout is empty, not JSON' };
      if (bytes > jsonBytesMax) return { why: `stdout is over ${jsonBytesMax} bytes, too large for JSON feedback` };
      try {
        const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
        if (!isShallow(value, jsonDepthMax)) return { why: `stdout nests deeper than ${jsonDepthMax}` };
        // Text that was short may be long when it is written again: 1e20 has 21 digits.
        if (Buffer.byteLength(JSON.stringify(value)) <= jsonBytesMax) return { value };
        return { why: `stdout is over ${jsonBytesMax} bytes, too large for JSON feedback` };
      } catch {
        return { why: 'stdout is not JSON' };
      }
    },
  };
}

function isShallow(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depthMax > 0 && Object.values(value).every((member) => isShallow(member, depthMax - 1));
}
