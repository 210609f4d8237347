import type { WorkerView } from '../../../machines/index.ts';
import { time } from './terms.ts';
import { Text } from './text.tsx';

/** Entries that made no sense when they came: they changed nothing. */
export const Refused = ({ refused }: { refused: WorkerView['refused'] }) =>
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
