/** Collects a command's output while it runs, with bounded memory. */
import { StringDecoder } from 'node:string_decoder';
import type { CommandConfig } from '../config/file.ts';

/** `tail`: the last 2,000 characters of both streams, interleaved. `json`: stdout, parsed. `none`: nothing. */
type FeedbackMode = CommandConfig['feedback'];
type Stream = 'stdout' | 'stderr';
type Output = {
  add(stream: Stream, chunk: Buffer): void;
  /** Returns the feedback, or undefined. Call it once, at the end. */
  feedback(): unknown;
};

const tailCharactersMax = 2_000; // code points
const rawCharactersMax = 32_768; // UTF-16 units including escape codes, which may be most of a coloured line
const jsonBytesMax = 32_768;
export const jsonDepthMax = 64; // other code recurses into the value

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

export function collectTail() {
  // One decoder per stream: a character may be split over two chunks, with a chunk of the other stream in between.
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

// `esc` is a variable because the linter forbids control characters in patterns.
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

/**
 * Removes escape codes and control characters except \n and \t. A lone \r, as printed by progress bars, ends a line.
 */
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
        // Serialising may lengthen the text: 1e20 becomes 21 digits.
        if (Buffer.byteLength(JSON.stringify(value)) <= jsonBytesMax) return { value };
        return { why: `stdout is over ${jsonBytesMax} bytes, too large for JSON feedback` };
      } catch {
        return { why: 'stdout is not JSON' };
      }
    },
  };
}

export function isShallow(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depthMax > 0 && Object.values(value).every((member) => isShallow(member, depthMax - 1));
}
