/** Names tasks in reasons. Imports no schemas, because the page uses it too. */
import { shortTitle } from '../policy/plan.ts';
import type { NextTask } from './attempt.ts';

/** Names the first tasks by id and title, with `…` if `all` counts more. */
export const nameTasks = (first: readonly NextTask[], all: number): string =>
  [...first.map(nameOf), ...(first.length < all ? ['…'] : [])].join(', ');

const nameOf = ({ task, title }: NextTask): string => (title === null ? task : `${task} ${shortTitle(title)}`);
