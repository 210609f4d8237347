/** Reads the files of one session line by line, in chronological order. */
import type { RecordedStep, Recording } from '../agents/recording.ts';
import { parseLine, type ReadLines, type SessionFile, type SessionFiles } from './session-files.ts';

export type StepCounts = { damaged: number };
type FileStep = { readonly step: RecordedStep; readonly file: string };

/**
 * A sub-agent's file is opened when the clock reaches its first line, and closed at its end, so only the files of
 * sub-agents that worked at the same time are open.
 */
export async function* readSteps(
  { main, children, recording }: SessionFiles,
  readLines: ReadLines,
  counts: StepCounts,
): AsyncGenerator<FileStep> {
  const waiting = [...main, ...children].sort((a, b) => (a.fromMs ?? 0) - (b.fromMs ?? 0));
  const open: { steps: AsyncGenerator<FileStep>; next: FileStep; atMs: number }[] = [];
  const advance = async (stream: { steps: AsyncGenerator<FileStep>; atMs: number }) => {
    const { value, done } = await stream.steps.next();
    return done === true ? null : { ...stream, next: value, atMs: Math.max(stream.atMs, value.step.atMs ?? 0) };
  };
  for (;;) {
    const first = open.reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY);
    const [following] = waiting;
    if (following !== undefined && (open.length === 0 || (following.fromMs ?? 0) <= first)) {
      waiting.shift();
      const stream = await advance({ steps: stepsOf(following, recording, readLines, counts), atMs: 0 });
      if (stream !== null) open.push(stream);
      continue;
    }
    if (open.length === 0) return;
    const index = open.findIndex(({ atMs }) => atMs === first);
    const stream = open[index];
    if (stream === undefined) return;
    yield stream.next;
    const moved = await advance(stream);
    if (moved === null) open.splice(index, 1);
    else open[index] = moved;
  }
}

async function* stepsOf(
  { path, identity }: SessionFile,
  recording: Recording,
  readLines: ReadLines,
  counts: StepCounts,
): AsyncGenerator<FileStep> {
  const reader = recording.open(identity);
  for await (const lines of readLines(path))
    for (const line of lines) {
      const fields = parseLine(line, recording.canSkip);
      if (fields === null) counts.damaged += 1;
      if (fields === null || fields === undefined) continue;
      for (const step of reader.read(fields)) yield { step, file: path };
    }
  for (const step of reader.end()) yield { step, file: path };
}
