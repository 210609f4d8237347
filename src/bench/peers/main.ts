/**
 * `npm run bench:peers`: an agent reports a tool event, asks for a stop and gets a decision, with a durable record of the
 * attempt and the decision: by stopgate, and by what one would use or write instead. All run in turn, in rounds.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connect } from '@nats-io/transport-node';
import { openScene } from '../scene.ts';
import { openCache } from './cache.ts';
import { openBareResponder, type NatsPlace } from './nats-peers.ts';
import { openPeers, peerNames } from './peers.ts';
import { compare, formatGoals, formatSummaries, type Named, summarise } from './report.ts';
import { type Measured, measureRound, nothingMeasured, warmUp } from './rounds.ts';

const help = `npm run bench:peers -- [--only NAME,NAME] [--rounds N] [--resume] [--json]

Compares stopgate with what one would use or write instead: ${peerNames.join(', ')}.
What is not here is installed into ~/.cache/stopgate/bench ($STOPGATE_CACHE), and left out if that fails.
--only    these alone; the ratios to the floor need it, so it is always among them
--rounds  how often each has its turn (6); a round takes about half a minute
--resume  goes on with the rounds of a run that was ended early
`;
