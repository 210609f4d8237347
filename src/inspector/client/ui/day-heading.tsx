/** The date, in a list of times that comes to another day. The first line is compared with today. */
import { nowMs } from '../data/connection.ts';
import { date } from './format.ts';

type Props = { readonly atMs: number; readonly previousMs: number | undefined };

export const DayHeading = ({ atMs, previousMs = nowMs.peek() }: Props) =>
  date(atMs) === date(previousMs) ? null : <li class="day">{date(atMs)}</li>;
