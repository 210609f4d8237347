/** Parses request bodies, and refuses those that would block the only thread. */
import type { FastifyInstance } from 'fastify';
import { hasMoreValues, isTextTooDeep } from '../../machines/entries/json.ts';
import { AppError } from '../errors.ts';
import { decodeBody, withoutBareNumbers } from '../text/body-text.ts';

/** The stricter limit for entries and arguments has its own error message. */
const bodyDepthMax = 1_000;
/**
 * An empty list takes 2 bytes in a body but 16 or more in memory, so this limits memory to about 25 MB. The largest
 * calls of agents have a few thousand values.
 */
const bodyValuesMax = 250_000;

/** Bodies are JSON objects; an empty body means `{}`, as it does on NATS. */
export function addBodyParser(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('remove', 'remove');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const json = decodeBody(body as Buffer);
    if (json.trim() === '') return done(null, {});
    // Parsing ten million brackets blocks the thread for seconds.
    if (isTextTooDeep(json, bodyDepthMax))
      return done(new AppError('input.bad', `the body nests deeper than ${bodyDepthMax} levels`));
    if (hasMoreValues(json, bodyValuesMax))
      return done(new AppError('input.bad', `the body has more than ${bodyValuesMax} values`));
    const finish = (error: Error | null, value: unknown) => {
      if (error !== null) return done(error);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isObject ? done(null, value) : done(new AppError('input.bad', 'the body must be a JSON object'));
    };
    return parseJson(request, json, (error, value) => {
      const repaired = error === null ? json : withoutBareNumbers(json);
      return repaired === json ? finish(error, value) : parseJson(request, repaired, finish);
    });
  });
}
