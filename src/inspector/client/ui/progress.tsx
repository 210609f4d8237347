/** How far a fold is, with a way to give it up. */
import type { Progress } from '../data/api.ts';
import { count } from './format.ts';

type Props = { readonly progress: Progress; readonly cancel: () => void };

export const FoldProgress = ({ progress: { done, total }, cancel }: Props) => (
  <span class="progress" role="status">
    <progress aria-label="Entries folded" value={done} max={total} />
    <span>
      {count(done)} of {count(total)} entries
    </span>
    <button type="button" onClick={cancel}>
      Cancel
    </button>
  </span>
);
