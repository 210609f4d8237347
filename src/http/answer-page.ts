/**
 * The page of an answer link (docs/escalations.md): plain HTML without scripts, for a phone. Texts of agents are
 * escaped, and their invisible characters are shown.
 */
import { createHash } from 'node:crypto';
import type { InputAnswer, WorkerView } from '../../machines/index.ts';
import { type Question, readFields, readQuestions } from '../../machines/values/questions.ts';
import { visible } from '../inspector/visible-text.ts';
import type { Answerable } from '../notify/answer-links.ts';

const style = `
:root { color-scheme: light dark; --text: #1b1f24; --muted: #57606a; --page: #fff; --box: #f3f5f7; --line: #8c959f; --allow: #1a6334; --deny: #a31f2b; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --muted: #9aa6b2; --page: #0d1117; --box: #161b22; --line: #6e7681; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 40rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); }
h1 { font-size: 1.4rem; margin: 0.5rem 0; overflow-wrap: anywhere; }
p { margin: 0.5rem 0; overflow-wrap: anywhere; }
.muted { color: var(--muted); }
.field { margin: 0.75rem 0 0; }
pre { max-height: 45vh; margin: 0.25rem 0; padding: 0.75rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; font: 0.9rem/1.45 ui-monospace, monospace; background: var(--box); border: 1px solid var(--line); border-radius: 6px; }
label { display: block; margin: 0.75rem 0 0.25rem; }
textarea { width: 100%; padding: 0.5rem; font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: 6px; }
.buttons { display: grid; grid-template-columns: 1fr 1fr; gap: 0.75rem; margin: 1rem 0; }
fieldset { margin: 1rem 0; padding: 0.25rem 0.75rem 0.75rem; border: 1px solid var(--line); border-radius: 6px; }
legend { font-weight: 600; overflow-wrap: anywhere; }
.choice { display: grid; grid-template-columns: 1.5rem 1fr; padding: 0.5rem 0; }
.choice input { width: 1.15rem; height: 1.15rem; }
button { min-height: 3.25rem; font: inherit; font-weight: 600; color: #fff; background: var(--allow); border: 0; border-radius: 8px; }
button[value='deny'] { background: var(--deny); }
:focus-visible { outline: 3px solid #2f6fdb; outline-offset: 2px; }
`;

/**
 * Nothing is loaded and no script runs. `same-origin` keeps the address, which grants the right to answer, to this
 * server.
 */
export const answerPageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
} as const;

export function renderRequest(link: Answerable, input: WorkerView['inputs'][number]): string {
  const { fleet, worker, by, expiresMs } = link;
  const questions = readQuestions(input.detail);
  const until = formatTime(new Date(expiresMs).toISOString());
  return renderPage(
    `${worker} asks`,
    `<p class="muted">Worker <b>${text(worker)}</b> of fleet ${text(fleet)} asks${input.kind === null ? '' : ` for ${text(input.kind)}`}, at ${formatTime(input.since)}</p>
${questions === null ? renderPermission(input) : renderQuestions(questions)}
<p class="muted">It waits until ${until}. Your answer is stored as that of <b>${text(by)}</b>, and only the first answer counts.</p>`,
  );
}

const renderPermission = ({ tool, message, detail }: WorkerView['inputs'][number]): string =>
  `<h1>${text(tool ?? message ?? 'It asks a person')}</h1>
${tool !== null && message !== null ? `<p>${text(message)}</p>` : ''}
${detail === null ? '' : renderDetail(detail)}
<form method="post">
${renderMessage('Message to the agent (optional)')}
${renderButtons('Allow')}
</form>`;

/** Fields are named by the index of their question: `choice-0` for each selected choice, `own-0` for free text. */
const renderQuestions = (questions: readonly Question[]): string =>
  `<h1>${questions.length === 1 ? 'A question' : `${questions.length} questions`}</h1>
<form method="post">
${questions.map(renderChoices).join('\n')}
${renderMessage('If you deny it: why (optional)')}
${renderButtons('Answer')}
</form>`;

const renderChoices = ({ question, isMultiple, choices }: Question, index: number): string => `<fieldset>
<legend>${text(question)}</legend>
${choices
  .map(
    ({ label, description }) =>
      `<label class="choice"><input type="${isMultiple ? 'checkbox' : 'radio'}" name="choice-${index}" value="${escapeHtml(label)}"><span>${text(label)}${description === '' ? '' : ` <span class="muted">${text(description)}</span>`}</span></label>`,
  )
  .join('\n')}
<label for="own-${index}">${choices.length === 0 ? 'Your answer' : 'Or in your words'}</label>
<textarea id="own-${index}" name="own-${index}" rows="1" maxlength="1000"></textarea>
</fieldset>`;

const renderMessage = (label: string): string => `<label for="message">${label}</label>
<textarea id="message" name="message" rows="2" maxlength="2000"></textarea>`;

const renderButtons = (allow: string): string =>
  `<p class="buttons"><button name="verdict" value="allow">${allow}</button><button name="verdict" value="deny">Deny</button></p>`;

export const renderAnswered = (worker: string, verdict: InputAnswer['verdict'], by: string): string =>
  renderPage(
    `${verdict === 'allow' ? 'Allowed' : 'Denied'}: ${worker}`,
    `<h1>${verdict === 'allow' ? 'Allowed' : 'Denied'}</h1>
<p>Worker <b>${text(worker)}</b> has the answer of ${text(by)}. You can close this page.</p>`,
  );

/** @param isOver the request no longer needs an answer; otherwise the answer was rejected and can be corrected */
export function renderRefusal(message: string, isOver: boolean): string {
  const title = isOver ? 'Nothing to answer here' : 'Not answered';
  return renderPage(
    title,
    `<h1>${title}</h1>\n<p>${text(message)}</p>${isOver ? '' : '\n<p>Go back and answer again.</p>'}`,
  );
}

const renderPage = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · stopgate</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (value: string): string => visible(value).replace(/[&<>"']/g, (char) => entities[char] ?? char);
const text = (value: string): string => `<bdi>${escapeHtml(value)}</bdi>`;

/** `14:03:22 UTC`. The server does not know the reader's time zone. */
const formatTime = (iso: string): string => `<time datetime="${iso}">${iso.slice(11, 19)} UTC</time>`;

/**
 * Renders a tool's input. Each field has a separate box, so that a text cannot pose as another field.
 */
function renderDetail(detail: string): string {
  const box = (value: string, label: string) =>
    `<pre tabindex="0" aria-label="${escapeHtml(label)}">${text(value)}</pre>`;
  const fields = readFields(detail);
  if (fields === null) return box(detail, 'input of the tool');
  return Object.entries(fields)
    .map(([name, value]) => {
      const shown = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
      return `<p class="field muted">${text(name)}</p>\n${box(shown, name)}`;
    })
    .join('\n');
}
