import { runRoom } from '../support/suites.js';

await runRoom('pipeline-i-r');
