/**
 * A small ACP agent, written with the official SDK. It follows a script: a list of turns, each a list of steps; the
 * last turn is repeated. A session may have its own turns (`_meta.turns`), so that several tests can share one
 * agent. It also supports custom requests that relays between it and its editor do not know: `_prompts` (the received
 * prompts) and `_echo`.
 */
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, RequestError } from '@agentclientprotocol/sdk';

const { turns = [[]], past = [], name = 'scripted-agent' } = JSON.parse(process.argv[2] ?? '{}');
/** Prompts and cancellation of each session, by id. */
const sessions = new Map();
const begin = (id, own = turns) => sessions.set(id, { turns: own, prompts: [], cancel: () => {} }).get(id);
const sessionOf = (id) => sessions.get(id) ?? begin(id);
let count = 0;

const app = agent({ name })
  .onRequest(methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentInfo: { name, version: '1.0.0' },
    agentCapabilities: { loadSession: true, _meta: { theirs: true } },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    count += 1;
    const sessionId = `session-${count}-${process.pid}`;
    begin(sessionId, params._meta?.turns);
    return { sessionId, modes: { currentModeId: 'code', availableModes: [{ id: 'code', name: 'Code' }] } };
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId }, client }) => {
    begin(sessionId);
    for (const update of past) await client.notify(methods.client.session.update, { sessionId, update });
    return {};
  })
  .onRequest(methods.agent.session.resume, () => ({}))
  .onRequest(methods.agent.session.close, ({ params }) => void sessions.delete(params.sessionId))
  .onRequest(methods.agent.session.setMode, () => ({}))
  .onRequest(methods.agent.session.prompt, ({ params, client, signal }) => takeTurn(params, client, signal))
  .onNotification(methods.agent.session.cancel, ({ params }) => sessionOf(params.sessionId).cancel())
  .onRequest(
    '_prompts',
    (params) => params,
    ({ params }) => ({ prompts: sessionOf(params.sessionId).prompts }),
  )
  .onRequest(
    '_echo',
    (params) => params,
    ({ params }) => params,
  );

async function takeTurn({ sessionId, prompt }, client, signal) {
  const session = sessionOf(sessionId);
  session.prompts.push(prompt.map(({ text }) => text).join(''));
  const cancelled = new Promise((resolve) => {
    session.cancel = () => resolve('cancelled');
    signal.addEventListener('abort', () => resolve(null));
  });
  const update = (it) => client.notify(methods.client.session.update, { sessionId, update: it });
  const steps = session.turns[Math.min(session.prompts.length, session.turns.length) - 1];
  for (const [at, step] of steps.entries()) {
    const toolCallId = `call-${session.prompts.length}-${at}`;
    if (step.say !== undefined) await update(chunk(step.say));
    if (step.update !== undefined) await update(step.update);
    if (step.plan !== undefined) await update(planOf(step.plan));
    if (step.edit !== undefined) {
      const call = { toolCallId, title: `Edit ${step.edit}`, kind: 'edit', rawInput: { path: step.edit } };
      await update({ sessionUpdate: 'tool_call', ...call, status: 'in_progress' });
      const content = [{ type: 'diff', path: step.edit, oldText: null, newText: 'x'.repeat(step.length ?? 1) }];
      await update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content });
    }
    if (step.ask !== undefined) {
      const toolCall = { toolCallId, title: step.ask, kind: 'execute', rawInput: { command: step.ask } };
      const { outcome } = await client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall,
        options: [
          { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ],
      });
      await update(chunk(`answered: ${outcome.optionId ?? outcome.outcome}`));
    }
    if (step.read !== undefined) {
      const { content } = await client.request(methods.client.fs.readTextFile, { sessionId, path: step.read });
      await update(chunk(`read: ${content}`));
    }
    if (step.untilCancelled) {
      const stopReason = await cancelled;
      if (stopReason === null) throw RequestError.requestCancelled();
      return { stopReason };
    }
    if (step.fail !== undefined) throw new RequestError(step.fail.code, step.fail.message, step.fail.data);
    if (step.exit !== undefined) process.exit(step.exit);
    if (step.endless) for (;;) await new Promise((done) => process.stdout.write('x'.repeat(1_000_000), done));
    if (step.stop !== undefined) return { stopReason: step.stop, usage: step.usage, _meta: step.meta };
  }
  return { stopReason: 'end_turn' };
}

const chunk = (text) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const planOf = (entries) => ({
  sessionUpdate: 'plan',
  entries: Object.entries(entries).map(([content, status]) => ({ content, status, priority: 'medium' })),
});

const { closed } = app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await closed;
process.exit(0);
