/** The page in a file: the history of one worker, at any of its entries. There is no service, and nothing is sent. */
import { effect } from '@preact/signals';
import { render } from 'preact';
import type { IncidentFile } from '../../incident.ts';
import { App } from '../app.tsx';
import { identifyService } from '../data/api.ts';
import { connection } from '../data/connection.ts';
import { startOutline } from '../data/outline.ts';
import { startPast } from '../data/past.ts';
import { startKeys } from '../keys.ts';
import { startListing } from '../lists/listed-ids.ts';
import { renderByFrames } from '../measure.ts';
import { fileKeys } from '../page-keys.ts';
import { navigate, route } from '../route.ts';
import { createOfflineService } from './offline.ts';
import '../styles/index.css';

const file: IncidentFile = JSON.parse(document.querySelector('#incident')?.textContent ?? '{}');
const answer = createOfflineService(file);
globalThis.fetch = async (input) => {
  const { status, body } = await answer(String(input));
  // What takes long is asked for in lines, of which the last is the result; a short answer is one line.
  const isInLines = /\/(?:at\/|outline\?)/.test(String(input)) && status === 200;
  const text = isInLines ? `${JSON.stringify({ result: body })}\n` : JSON.stringify(body);
  return new Response(text, { status });
};

connection.value = 'file';
const lastSeq = file.entries.at(-1)?.[0] ?? 0;
// There is no present in a file: where it ends is where it begins.
effect(() => {
  if (route.value.at === null) navigate({ at: lastSeq }, 'replace');
});
if (route.peek().worker === null) navigate({ worker: file.worker }, 'replace');
renderByFrames();
startListing();
startPast();
startOutline();
startKeys(fileKeys);
void identifyService();
render(<App />, document.querySelector('#app') as HTMLElement);
