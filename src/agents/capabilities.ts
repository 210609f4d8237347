/** The table of what each agent can do, assembled from the agents' own columns. docs/agents.md shows it; a test compares. */
import { agents } from './index.ts';
import { type CapabilityKey, type Cell, capabilityTitles, type Evidence } from './shared/capability.ts';

const marks: Readonly<Partial<Record<Evidence, string>>> = { live: ' °', docs: ' \\*' };

/** As Markdown, without a line end at its end. */
export function renderCapabilities(): string {
  const columns = [...agents.values()].map(({ capabilities }) => capabilities);
  const rows = Object.entries(capabilityTitles).map(([key, title]) => [
    title,
    ...columns.map(({ cells }) => renderCell(cells[key as CapabilityKey])),
  ]);
  const table = [['', ...columns.map(({ title }) => title)], ['---', ...columns.map(() => '---')], ...rows];
  return table.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const renderCell = (cell: Cell): string => (cell === null ? '–' : cell[0] + (marks[cell[1]] ?? ''));
