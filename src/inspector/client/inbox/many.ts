/** One action on all items of the inbox that are marked. */
import type { WorkerView } from '../../../../machines/index.ts';
import { get } from '../data/api.ts';
import { type OperatorAction, requestAction } from '../operator/operator-actions.ts';
import { suggestForMany } from '../operator/suggestions.ts';
import { marked } from './card.tsx';
import { type Waiting, waiting, waitingKey } from './waiting.ts';

export const chosenItems = (): readonly Waiting[] => waiting.value.filter((it) => marked.value.has(waitingKey(it)));

/** More views than these would only delay the question. */
const viewsMax = 20;

export async function requestForMany(action: OperatorAction, targets: readonly Waiting[]): Promise<void> {
  const workers = action === 'resume' ? targets.filter(({ entity }) => entity === 'worker').slice(0, viewsMax) : [];
  const views = await Promise.all(
    workers.map(({ id }) => get<WorkerView>(`get/worker/${encodeURIComponent(id)}`).catch(() => null)),
  );
  const suggestions = workers.length === 0 ? [] : suggestForMany(views.filter((it) => it !== null));
  requestAction({ action, targets, suggestions });
}
