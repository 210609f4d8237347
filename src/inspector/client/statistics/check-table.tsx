/** The checks of the span: how often each passes, how long it takes, whether it can be trusted, what it blocked. */
import type { CheckStatistics } from '../../messages.ts';
import { count, millis } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';

export function CheckTable({ checks }: { checks: readonly CheckStatistics[] }) {
  if (checks.length === 0) return <p class="muted">No check was run, and none blocked a stop.</p>;
  return (
    <div class="check-table">
      <h3>Checks</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens */}
      <section class="scroller" tabIndex={0} aria-label="Checks">
        <table>
          <thead>
            <tr>
              <th scope="col">Check</th>
              <th scope="col">Runs</th>
              <th scope="col">Passed</th>
              <th scope="col" title="It did not answer in time, or could not be run">
                Errors
              </th>
              <th scope="col" title="95 % took no longer">
                p95
              </th>
              <th scope="col" title="The result changed although the worker did nothing in between">
                Flaky
              </th>
              <th scope="col">Blocked stops</th>
            </tr>
          </thead>
          <tbody>
            {checks.map((it) => (
              <Row key={it.check} {...it} />
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

const Row = ({ check, runs, passed, failed, errors, p95Ms, differing, compared, blocks }: CheckStatistics) => (
  <tr data-check={check}>
    <th scope="row">
      <Name value={check} />
    </th>
    <td>{runs === 0 ? '–' : count(runs)}</td>
    <td>{part(passed, passed + failed)}</td>
    <td>{errors === 0 ? '–' : count(errors)}</td>
    <td>{p95Ms === null ? '–' : millis(p95Ms)}</td>
    <td data-flaky={differing > 0 || undefined}>
      {compared === 0 ? <span class="muted">not known</span> : `${part(differing, compared)} of ${count(compared)}`}
    </td>
    <td>{blocks === 0 ? '–' : count(blocks)}</td>
  </tr>
);

/** Never none of them, nor all, if it is not so. */
function part(some: number, all: number): string {
  if (all === 0) return '–';
  const percent = (100 * some) / all;
  if (some > 0 && percent < 1) return '<1 %';
  if (some < all && percent > 99) return '>99 %';
  return `${Math.round(percent)} %`;
}
