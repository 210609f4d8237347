/** Cursor documents no setting that turns its hooks off. */
import { skip } from '../doctor/doctor.ts';
import type { ReadSwitches } from '../doctor/switches.ts';

export const readCursorSwitches: ReadSwitches = ({ hooked }) =>
  hooked.length === 0
    ? []
    : [
        skip(
          'not checked: whether Cursor trusts this workspace, and whether team or enterprise settings turn hooks off',
        ),
      ];
