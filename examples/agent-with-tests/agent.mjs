// A tiny agent: one prompt, one tool that writes a file, and the model's last message on stdout.
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';

const { OPENAI_BASE_URL = 'https://api.openai.com/v1', OPENAI_API_KEY = '', MODEL = 'gpt-5-mini' } = process.env;
const parameters = {
  type: 'object',
  properties: { name: { type: 'string' }, text: { type: 'string' } },
  required: ['name', 'text'],
};
const tools = [{ type: 'function', function: { name: 'write_file', description: 'Writes a file here.', parameters } }];
const messages = [{ role: 'user', content: process.argv[2] ?? '' }];

for (let call = 0; call < 20; call += 1) {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model: MODEL, messages, tools }),
  });
  if (!response.ok) throw new Error(`the model answered ${response.status}`);
  const { message } = (await response.json()).choices[0];
  messages.push(message);
  if (message.tool_calls === undefined) {
    process.stdout.write(`${message.content}\n`);
    break;
  }
  for (const { id, function: asked } of message.tool_calls) {
    const { name, text } = JSON.parse(asked.arguments);
    await writeFile(basename(name), text); // only in this folder
    messages.push({ role: 'tool', tool_call_id: id, content: 'written' });
  }
}
