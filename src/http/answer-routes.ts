/**
 * `/answer`: the page behind a signed link, on which anyone who has the link can answer an agent's request. `GET` only
 * shows the request, because mail and chat scanners open links; `POST` answers it, as a form or as JSON. The signature
 * grants access, so no token is needed and the checks of host and origin do not apply.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type InputAnswer, idSchema, parseIsoTime, type WorkerView } from '../../machines/index.ts';
import { readQuestions, toMessage } from '../../machines/values/questions.ts';
import type { HeldRequest } from '../agents/index.ts';
import { AppError, errorCodes } from '../errors.ts';
import { type Answerable, type AnswerLinks, answerPath } from '../notify/answer-links.ts';
import type { Service } from '../service/index.ts';
import { parseInput } from '../service/parse-input.ts';
import { type Access, open } from './access.ts';
import { answerPageHeaders, renderAnswered, renderRefusal, renderRequest } from './answer-page.ts';
import type { FleetDirectory } from './fleet-directory.ts';
import { toAppError } from './replies.ts';
import { contentOf, errorSchema } from './route-schemas.ts';

const formType = 'application/x-www-form-urlencoded';
/** Enough for a verdict and a message. */
const formBytesMax = 64 * 1_024;
const answerSchema = z.object({
  verdict: z.enum(['allow', 'deny']),
  message: z.string().trim().optional(),
  /** The form's answers, a list for each question. */
  answers: z.array(z.array(z.string())).optional(),
});

/** The query of a signed link. */
const linkSchema = z.object({
  fleet: idSchema,
  worker: idSchema,
  request: z.string(),
  seq: z.string(),
  expires: z.string(),
  by: z.string(),
  signature: z.string(),
});

type Route = { Querystring: Record<string, unknown> };

/** The signature grants access: from a phone, through a proxy, under any host name. */
const access: Access = { ...open, isSigned: true };

export function addAnswerRoutes(
  app: FastifyInstance,
  fleets: FleetDirectory,
  linksNow: () => AnswerLinks | null,
): void {
  const linkOf = (query: Record<string, unknown>) => {
    const links = linksNow();
    if (links === null)
      throw new AppError('actor.unknown', 'answer links are off; "escalation.webhook.links" turns them on');
    return links.read(query);
  };
  void app.register((page, _options, done) => {
    page.addContentTypeParser(formType, { parseAs: 'string', bodyLimit: formBytesMax }, (_request, body, parsed) =>
      parsed(null, readForm(new URLSearchParams(body as string))),
    );
    page.setErrorHandler((error, request, reply) => {
      const ours = toAppError(error as AppError);
      if (ours === null || !wantsPage(request)) throw error;
      return sendPage(reply.code(errorCodes[ours.code].status), renderRefusal(ours.message, ours.code !== 'input.bad'));
    });
    const show = {
      config: { access },
      schema: {
        tags: ['operator'],
        summary: 'The request of an agent, through a signed link',
        querystring: linkSchema,
        response: { 200: contentOf('text/html', 'application/json'), 404: errorSchema, 409: errorSchema },
      },
    };
    page.get<Route>(answerPath, show, async (request, reply) => {
      const link = linkOf(request.query);
      const { service } = fleets.find(link.fleet);
      const view = await service.peek(link.worker, link.seq);
      const input = inputOf(view, link);
      if (input === undefined) throw new AppError('entry.refused', whyOver(link, view?.lastAnswer ?? null));
      return wantsPage(request) ? sendPage(reply, renderRequest(link, input)) : reply.send({ ...link, input });
    });
    const answer = {
      config: { access },
      schema: {
        tags: ['operator'],
        summary: 'Answers the request of an agent, through a signed link',
        consumes: ['application/json', formType],
        querystring: linkSchema,
        body: answerSchema,
        response: { 200: contentOf('text/html', 'application/json'), 404: errorSchema, 409: errorSchema },
      },
    };
    page.post<Route>(answerPath, answer, async (request, reply) => {
      const link = linkOf(request.query);
      const { fleet, worker: id, request: asked, seq, by } = link;
      const { verdict, message, answers } = parseInput(answerSchema, request.body ?? {});
      const { service } = fleets.find(fleet);
      const view = answers === undefined ? null : await service.peek(id, seq);
      const questions = readQuestions(inputOf(view, link)?.detail ?? null);
      const isAnswered = verdict === 'allow' && questions !== null && answers !== undefined;
      const text = isAnswered ? toMessage(questions, answers) : message;
      const given = { id, by, verdict, request: asked, seq, ...(text ? { message: text } : {}) };
      await service.operate('answer', given);
      return wantsPage(request)
        ? sendPage(reply, renderAnswered(id, verdict, by))
        : reply.send({ worker: id, verdict, by });
    });
    done();
  });
}

/** Notifies people of a held request. `over` aborts when nobody waits for its answer any longer. Never rejects. */
export async function announceRequest(
  links: AnswerLinks | null,
  service: Service,
  { worker, request, seq, askMs }: HeldRequest,
  over: AbortSignal,
): Promise<void> {
  if (links === null) return;
  const view = await service.peek(worker, seq).catch(() => null);
  const input = view?.inputs.find((open) => open.seq === seq);
  const sinceMs = parseIsoTime(input?.since ?? '');
  if (input === undefined || sinceMs === null || over.aborted) return;
  const { since, kind, tool, message, detail } = input;
  const held = { fleet: service.fleet, worker, request, seq, since, expiresMs: sinceMs + askMs };
  await links.notify({ ...held, kind, tool, message, detail }, over);
}

/** Reads the fields `choice-0`, `own-0` and so on of `renderRequest`. */
function readForm(form: URLSearchParams): object {
  const answers: string[][] = [];
  for (let index = 0; form.has(`own-${index}`); index += 1) {
    const all = [...form.getAll(`choice-${index}`), ...form.getAll(`own-${index}`)].map((answer) => answer.trim());
    answers.push(all.filter((answer) => answer !== ''));
  }
  return {
    verdict: form.get('verdict'),
    message: form.get('message') ?? '',
    ...(answers[0] === undefined ? {} : { answers }),
  };
}

const inputOf = (view: WorkerView | null, { request, seq }: Answerable) =>
  view?.inputs.find((input) => input.request === request && input.seq === seq);

const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') === true;

const sendPage = (reply: FastifyReply, html: string): FastifyReply => reply.headers(answerPageHeaders).send(html);

function whyOver({ worker, request }: Answerable, last: InputAnswer | null): string {
  return last?.request === request
    ? `request ${request} of worker ${worker} was answered by ${last.by}: ${last.verdict}`
    : `worker ${worker} no longer waits for this answer: it was answered, withdrawn or replaced by another request`;
}
