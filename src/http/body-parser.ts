/** Parses the bodies of requests, and refuses those that would hold the only thread. */
import type { FastifyInstance } from 'fastify';
import { hasMoreValues, isTextTooDeep } from '../../machines/entries/json.ts';
import { AppError } from '../errors.ts';
import { bodyText, withoutBareNumbers } from '../text/body-text.ts';

/** Entries and arguments may nest far less deep, and have a message of their own. */
const bodyDepthMax = 1_000;
/** An empty list takes 2 bytes of a body and 16 or more in memory: these are 25 MB at most. The largest calls of agents have some thousands. */
const bodyValuesMax = 250_000;

/** Bodies are JSON objects; an empty body means `{}`, as it does on NATS. */
export function addBodyParser(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('remove', 'remove');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const json = bodyText(body as Buffer);
    if (json.trim() === '') return done(null, {});
    // A parser of ten million brackets holds the only thread for seconds.
    if (isTextTooDeep(json, bodyDepthMax))
      return done(new AppError('input.bad', `the body nests deeper than ${bodyDepthMax} levels`));
    if (hasMoreValues(json, bodyValuesMax))
      return done(new AppError('input.bad', `the body has more than ${bodyValuesMax} values`));
    const take = (error: Error | null, value: unknown) => {
      if (error !== null) return done(error);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isObject ? done(null, value) : done(new AppError('input.bad', 'the body must be a JSON object'));
    };
    return parseJson(request, json, (error, value) => {
      const repaired = error === null ? json : withoutBareNumbers(json);
      return repaired === json ? take(error, value) : parseJson(request, repaired, take);
    });
  });
}
