/**
 * Session states in Linear and Slack (docs/session-states.md): a receiver of the webhook that says where people work already that
 * an agent waits for them. HOOK_SECRET is that of the service. SESSIONS names a JSON file, read at each notice, that says which
 * session a worker or a task belongs to: { "w1": { "linear": "AGENT-SESSION-ID", "slack": { "channel": "C1", "thread": "1.2" } } }
 * It answers 2xx when everybody has it: until then the service sends it again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const { HOOK_SECRET, SESSIONS, LINEAR_TOKEN, SLACK_TOKEN, LISTEN = '127.0.0.1:4291' } = process.env;
const { LINEAR_URL = 'https://api.linear.app/graphql', SLACK_URL = 'https://slack.com/api' } = process.env;
const ageMaxMs = 300_000; // a recorded notice cannot be sent a day later
const bodyBytesMax = 1_000_000;
const seenMax = 10_000; // deliveries that are remembered: a notice may come twice
const timeoutMs = 5_000;

if (!HOOK_SECRET || !SESSIONS || !(LINEAR_TOKEN || SLACK_TOKEN)) {
  console.error('set HOOK_SECRET, SESSIONS, and LINEAR_TOKEN or SLACK_TOKEN');
  process.exit(2);
}

function isSigned(headers, body) {
  const time = headers['stopgate-timestamp'] ?? '';
  const made = `sha256=${createHmac('sha256', HOOK_SECRET).update(`${time}.${body}`).digest('hex')}`;
  const given = String(headers['stopgate-signature'] ?? '');
  return (
    Buffer.byteLength(given) === made.length &&
    timingSafeEqual(Buffer.from(made), Buffer.from(given)) &&
    Math.abs(Date.now() - time * 1_000) < ageMaxMs
  );
}

/** What an agent does, as Linear and Slack show it. Null: the notice is about no session. */
function stateOf({ kind, reason, sentence, link, cause }) {
  const words = `${sentence ?? reason}${link ? `\n\n${link}` : ''}`;
  switch (kind) {
    case 'input': // somebody may allow a tool, or answer a question
    case 'waiting':
      return { activity: { type: 'elicitation', body: words }, status: 'is waiting for an answer' };
    case 'escalation':
    case 'reminder':
      return cause === 'stuck'
        ? { activity: { type: 'error', body: words }, status: 'is stuck' }
        : { activity: { type: 'elicitation', body: words }, status: 'needs a person' };
    default:
      return null;
  }
}

async function send(url, token, body) {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error', // a redirect would get the token
    signal: AbortSignal.timeout(timeoutMs),
    headers: { 'content-type': 'application/json', authorization: token },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status}`);
  return response.json();
}

async function toLinear({ linear }, { activity }) {
  const query = 'mutation ($input: AgentActivityCreateInput!) { agentActivityCreate(input: $input) { success } }';
  const input = { agentSessionId: linear, content: activity };
  const { data, errors } = await send(LINEAR_URL, `Bearer ${LINEAR_TOKEN}`, { query, variables: { input } });
  if (data?.agentActivityCreate?.success !== true) throw new Error(`Linear refused: ${errors?.[0]?.message}`);
}

async function toSlack({ slack: { channel, thread } }, { status }) {
  const body = { channel_id: channel, thread_ts: thread, status };
  const { ok, error } = await send(`${SLACK_URL}/assistant.threads.setStatus`, `Bearer ${SLACK_TOKEN}`, body);
  if (ok !== true) throw new Error(`Slack refused: ${error}`);
}

const seen = new Set();

async function receive(request) {
  if (!(Number(request.headers['content-length']) <= bodyBytesMax)) return 413;
  const body = await text(request);
  if (request.method !== 'POST' || !isSigned(request.headers, body)) return 401;
  const notice = JSON.parse(body);
  const sessions = JSON.parse(await readFile(SESSIONS, 'utf8'));
  const session = Object.hasOwn(sessions, notice.id) ? sessions[notice.id] : {};
  const state = stateOf(notice);
  if (state === null) return 204;
  const targets = [
    ...(LINEAR_TOKEN && session.linear ? [['linear', toLinear]] : []),
    ...(SLACK_TOKEN && session.slack ? [['slack', toSlack]] : []),
  ];
  for (const [name, deliver] of targets) {
    const delivery = `${name} ${notice.delivery}`;
    if (seen.has(delivery)) continue;
    await deliver(session, state);
    seen.add(delivery);
    if (seen.size > seenMax) seen.delete(seen.values().next().value);
  }
  return 204;
}

const server = createServer(async (request, response) => {
  const status = await receive(request).catch((error) => {
    console.error(error.message);
    return 502;
  });
  response.writeHead(status).end();
});
const [, host, port] = /^(.*):(\d+)$/.exec(LISTEN) ?? [];
server.listen(Number(port), host, () => console.log(`receives at http://${host}:${server.address().port}/`));
process.once('SIGTERM', () => server.close());
