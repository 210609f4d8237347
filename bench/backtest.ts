/**
 * `npm run bench:backtest`: judges 1,000 generated sessions of Claude Code (`--sessions N`) with the packaged command,
 * and reports time, CPU and memory. The sessions are about as long as real ones: 10 prompts, 80 tool calls, 300 KiB.
 * `--folder DIR` keeps them there.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Figure, figure, formatFigures } from './figures.ts';
import { cpuUsOf, rssOf } from './process-cpu.ts';

const { values: flags } = parseArgs({
  options: { sessions: { type: 'string' }, folder: { type: 'string' }, json: { type: 'boolean' } },
});
const sessions = Number(flags.sessions ?? 1_000);
const promptsEach = 10;
const toolsPerPrompt = 8;
const resultBytes = 2_000;
/** The size of lines that the readers skip: system prompts, requests and file snapshots. */
const skippedBytes = 8_000;
const polledMs = 20;

const program = fileURLToPath(new URL('../src/main.js', import.meta.url));
const folder = flags.folder ?? mkdtempSync(join(tmpdir(), 'stopgate-backtest-'));
try {
  const bytes = generate();
  const figures = await measure(bytes);
  process.stdout.write(flags.json ? `${JSON.stringify(figures)}\n` : formatFigures(figures));
} finally {
  if (flags.folder === undefined) rmSync(folder, { recursive: true, force: true });
}

/** @returns the size of all files */
function generate(): number {
  const project = join(folder, 'projects', '-srv-project');
  mkdirSync(project, { recursive: true });
  let bytes = 0;
  for (let index = 0; index < sessions; index += 1) {
    const lines = linesOf(`session-${index}`, Date.now() - (sessions - index) * 60_000);
    bytes += Buffer.byteLength(lines);
    writeFileSync(join(project, `session-${index}.jsonl`), lines);
  }
  return bytes;
}

function linesOf(session: string, startMs: number): string {
  const lines: string[] = [];
  const add = (fields: object) => {
    const uuid = `${session}-${lines.length}`;
    const timestamp = new Date(startMs + lines.length * 1_000).toISOString();
    const common = { isSidechain: false, uuid, timestamp, sessionId: session, cwd: '/srv/project', version: '2.1.330' };
    lines.push(JSON.stringify({ ...fields, ...common }));
  };
  const answer = (id: string, content: object, stop_reason: string) =>
    add({
      type: 'assistant',
      message: { id, content: [content], stop_reason, usage: { input_tokens: 900, output_tokens: 90 } },
    });
  for (let prompt = 0; prompt < promptsEach; prompt += 1) {
    add({ type: 'user', message: { content: `Prompt ${prompt} of ${session}` }, promptSource: 'typed' });
    add({ attachment: { type: 'prompt_snapshot', systemPrompt: ['x'.repeat(skippedBytes)] }, type: 'attachment' });
    for (let tool = 0; tool < toolsPerPrompt; tool += 1) {
      const id = `${prompt}-${tool}`;
      answer(`m-${id}`, { type: 'tool_use', id, ...toolAt(prompt, tool) }, 'tool_use');
      const content = [{ type: 'tool_result', tool_use_id: id, content: 'x'.repeat(resultBytes) }];
      add({ type: 'user', message: { content }, toolUseResult: { stdout: 'x', stderr: '', interrupted: false } });
    }
    answer(`m-${prompt}`, { type: 'text', text: 'Done.' }, 'end_turn');
  }
  return `${lines.join('\n')}\n`;
}

function toolAt(prompt: number, tool: number): object {
  if (tool === 0) return { name: 'TodoWrite', input: { todos: [{ content: 'One', status: 'completed' }] } };
  if (tool % 3 === 1) return { name: 'Edit', input: { file_path: `/srv/project/src/${tool}.ts` } };
  return { name: 'Bash', input: { command: prompt % 3 === 0 ? 'npm test' : 'git diff | head' } };
}

async function measure(bytes: number): Promise<Figure[]> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, 'backtest', '--json', folder], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  const exited = once(child, 'exit');
  let memory = 0;
  let cpuUs = 0;
  const timer = setInterval(() => {
    memory = Math.max(memory, rssOf(child.pid ?? 0) || 0);
    cpuUs = cpuUsOf(child.pid ?? 0) || cpuUs;
  }, polledMs);
  const [code] = await exited;
  clearInterval(timer);
  const tookMs = performance.now() - startedMs;
  const { summary } = JSON.parse(await output) as { summary: { sessions: number; stops: number } };
  if (code !== 0 || summary.sessions !== sessions || summary.stops !== sessions * promptsEach)
    throw new Error(
      `the backtest judged ${summary.sessions} sessions and ${summary.stops} stops, with exit code ${code}`,
    );
  return [
    figure('backtest: sessions', sessions, ''),
    figure('backtest: size of the transcripts', bytes, 'B'),
    figure('backtest: time', tookMs, 'ms'),
    figure('backtest: CPU', cpuUs / 1_000, 'ms'),
    figure('backtest: memory, at most', memory, 'B'),
  ];
}
