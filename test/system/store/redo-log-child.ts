/**
 * A run that is killed while it publishes: writes the intent in argument 1, does the first n moves (argument 3) of those in it
 * (argument 2, JSON), and ends as by `kill -9`.
 */
import { publish, writeIntent, type Intent } from '../../../src/store/index.js';

const [folder = '', text = '', moves = ''] = process.argv.slice(2);
const intent = JSON.parse(text) as Intent;
await writeIntent(folder, intent);
await publish(intent.moves.slice(0, Number(moves)));
process.kill(process.pid, 'SIGKILL');
