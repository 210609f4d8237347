/** Entries that the fold refused: they are in the log, and changed nothing. */
import type { WorkerView } from '../../../../machines/index.ts';
import { time } from '../ui/format.ts';
import { Text } from '../ui/text.tsx';

export const RefusedEntries = ({ refused }: { refused: WorkerView['refused'] }) =>
  refused.length === 0 ? null : (
    <section aria-label="Refused entries">
      <h3>Refused entries</h3>
      <ul class="plain">
        {refused.map((it, index) => (
          <li key={index}>
            <time>{time(Date.parse(it.at))}</time> <b>{it.type}</b> <Text value={it.reason} />
          </li>
        ))}
      </ul>
    </section>
  );
