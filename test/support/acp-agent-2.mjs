/**
 * A small ACP agent of the official SDK that speaks version 2 if its editor does, and version 1 otherwise. It follows a
 * script: a list of turns, each a list of plan steps with their status; the last turn is repeated.
 */
import { Readable, Writable } from 'node:stream';
import { agent as agentOf1, methods as methods1 } from '@agentclientprotocol/sdk';
import { agent, agentProtocolRouter, methods, ndJsonStream } from '@agentclientprotocol/sdk/experimental/v2';

const turns = JSON.parse(process.argv[2] ?? '[]');
const info = { name: 'scripted-agent', version: '1.0.0' };
const prompts = [];
let count = 0;
const nextPlan = () => turns[Math.min(prompts.length, turns.length) - 1] ?? {};
const entriesOf = (plan) => Object.entries(plan).map(([content, status]) => ({ content, status, priority: 'medium' }));

const v2 = agent({ name: info.name })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: 2, info, capabilities: { session: {} } }))
  .onRequest(methods.agent.session.new, async ({ client }) => {
    count += 1;
    const sessionId = `session-${count}-${process.pid}`;
    // Before the answer that names the session, which the protocol allows.
    await client.notify(methods.client.session.update, {
      sessionId,
      update: {
        sessionUpdate: 'plan_update',
        plan: { type: 'items', planId: 'early', entries: entriesOf({ Early: 'completed' }) },
      },
    });
    return { sessionId };
  })
  .onRequest(methods.agent.session.prompt, ({ params: { sessionId, prompt }, client }) => {
    prompts.push(prompt.map(({ text }) => text).join(''));
    const messageId = `user-${prompts.length}`;
    const update = (it) => client.notify(methods.client.session.update, { sessionId, update: it });
    const plan = { type: 'items', planId: 'main', entries: entriesOf(nextPlan()) };
    const say = { type: 'text', text: `Turn ${prompts.length} is done.` };
    void (async () => {
      await update({ sessionUpdate: 'user_message', messageId, content: prompt });
      await update({ sessionUpdate: 'state_update', state: 'running' });
      await update({ sessionUpdate: 'plan_update', plan });
      await update({ sessionUpdate: 'agent_message_chunk', messageId: `agent-${prompts.length}`, content: say });
      await update({ sessionUpdate: 'state_update', state: 'idle', stopReason: 'end_turn' });
    })();
    return { messageId };
  });

const v1 = agentOf1({ name: info.name })
  .onRequest(methods1.agent.initialize, () => ({ protocolVersion: 1, agentInfo: info, agentCapabilities: {} }))
  .onRequest(methods1.agent.session.new, () => ({ sessionId: `session-1-${process.pid}` }))
  .onRequest(methods1.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    prompts.push(prompt.map(({ text }) => text).join(''));
    const update = { sessionUpdate: 'plan', entries: entriesOf(nextPlan()) };
    await client.notify(methods1.client.session.update, { sessionId, update });
    return { stopReason: 'end_turn' };
  });

const stream = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
const { closed } = agentProtocolRouter().withV1(v1).withV2(v2).connect(stream);
await closed;
process.exit(0);
