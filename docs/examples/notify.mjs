/**
 * Escalations in Slack and by e-mail: a receiver of the webhook that passes each one on. Slack takes it at SLACK_URL, an
 * incoming webhook; curl takes it to SMTP_URL (smtp://… or smtps://…, with user and password where it asks for them).
 * HOOK_SECRET is that of the service. It answers 2xx when everybody has it: until then the service sends it again.
 */
import { spawn } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const { HOOK_SECRET, SLACK_URL, SMTP_URL, MAIL_FROM, MAIL_TO, LISTEN = '127.0.0.1:4290' } = process.env;
const ageMaxMs = 300_000; // whoever recorded a notice cannot send it a day later
const seenMax = 10_000; // deliveries that are remembered: a notice may come twice

if (!HOOK_SECRET || !(SLACK_URL || (SMTP_URL && MAIL_FROM && MAIL_TO))) {
  console.error('set HOOK_SECRET, and SLACK_URL or SMTP_URL with MAIL_FROM and MAIL_TO');
  process.exit(2);
}

function isSigned(headers, body) {
  const time = headers['stopgate-timestamp'] ?? '';
  const made = `sha256=${createHmac('sha256', HOOK_SECRET).update(`${time}.${body}`).digest('hex')}`;
  const given = String(headers['stopgate-signature'] ?? '')
    .padEnd(made.length)
    .slice(0, made.length);
  return timingSafeEqual(Buffer.from(made), Buffer.from(given)) && Math.abs(Date.now() - time * 1_000) < ageMaxMs;
}

const oneLine = (value) => String(value ?? '').replace(/\s+/g, ' ');
const titleOf = ({ kind, entity, id, fleet, reminder = 0 }) =>
  oneLine(`${kind === 'reminder' || reminder > 0 ? 'Still waiting' : 'Waiting for you'}: ${entity} ${id} (${fleet})`);
const textOf = (notice) => `${oneLine(notice.reason)}\n${whatToDo(notice)}`;
function whatToDo({ kind, id, link, fleet, missing }) {
  if (link) return `Answer: ${link}`;
  if (kind === 'waiting' || kind === 'unattended') return `To do: ${oneLine(missing[0])}`;
  return `Answer: stopgate resolve ${id} --resume --fleet ${fleet}`;
}

async function toSlack(notice) {
  // What an agent wrote is shown and not interpreted.
  const safe = `*${titleOf(notice)}*\n${textOf(notice)}`.replace(/[&<>]/g, (it) => `&#${it.charCodeAt(0)};`);
  const body = JSON.stringify({
    text: safe.replace(/&#38;/g, '&amp;').replace(/&#60;/g, '&lt;').replace(/&#62;/g, '&gt;'),
  });
  const headers = { 'content-type': 'application/json' };
  const { ok, status } = await fetch(SLACK_URL, { method: 'POST', headers, body, signal: AbortSignal.timeout(5_000) });
  if (!ok) throw new Error(`Slack answered ${status}`);
}

async function toMail(notice) {
  const subject = `=?utf-8?B?${Buffer.from(titleOf(notice).slice(0, 40)).toString('base64')}?=`;
  const head = [`From: ${MAIL_FROM}`, `To: ${MAIL_TO}`, `Subject: ${subject}`, `Date: ${new Date().toUTCString()}`];
  const type = ['MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64'];
  const content = Buffer.from(textOf(notice)).toString('base64').replace(/.{76}/g, '$&\r\n');
  const to = MAIL_TO.split(',').flatMap((each) => ['--mail-rcpt', each.trim()]);
  const folder = await mkdtemp(join(tmpdir(), 'notify-'));
  try {
    await writeFile(join(folder, 'mail'), [...head, ...type, '', content, ''].join('\r\n'), { mode: 0o600 });
    const line = [
      '-sS',
      '--max-time',
      '8',
      '--config',
      '-',
      '--mail-from',
      MAIL_FROM,
      ...to,
      '-T',
      join(folder, 'mail'),
    ];
    const curl = spawn('curl', line, { stdio: ['pipe', 'ignore', 'inherit'] });
    // The URL may hold a password, and everybody sees arguments.
    curl.stdin.on('error', () => {}).end(`url = ${JSON.stringify(SMTP_URL)}\n`);
    const [code] = await once(curl, 'close');
    if (code !== 0) throw new Error(`curl ended with ${code}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const targets = [...(SLACK_URL ? [['slack', toSlack]] : []), ...(SMTP_URL ? [['mail', toMail]] : [])];
const seen = new Set();

async function receive(request) {
  const body = await text(request);
  if (request.method !== 'POST' || !isSigned(request.headers, body)) return 401;
  const notice = JSON.parse(body);
  for (const [name, send] of targets) {
    const delivery = `${name} ${notice.delivery}`;
    if (seen.has(delivery)) continue;
    await send(notice);
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
