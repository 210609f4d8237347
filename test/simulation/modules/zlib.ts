/** `node:zlib` for the simulated service: real compression, as scheduler steps instead of threads. */
import { Transform, type TransformCallback } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';

type Callback = (error: Error | null, result: Buffer | undefined) => void;

const stepMs = 1;
const later = (run: () => void) => void setTimeout(run, stepMs);

export function createGzip(options: object): Transform {
  const given: Buffer[] = [];
  return new Transform({
    transform(chunk: Buffer, _encoding: string, done: TransformCallback) {
      given.push(chunk);
      later(() => done());
    },
    flush(done: TransformCallback) {
      later(() => done(null, gzipSync(Buffer.concat(given), options)));
    },
  });
}

export const gzip = (text: string, done: Callback) => later(() => done(null, gzipSync(text)));

export function gunzip(
  bytes: Uint8Array,
  ...rest: readonly [Callback] | readonly [options: object, done: Callback]
): void {
  const [options, done] = rest.length === 1 ? [{}, rest[0]] : rest;
  later(() => {
    try {
      done(null, gunzipSync(bytes, { ...options, chunkSize: 65_536 }));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}
