import { runRoom } from '../support/suites.js';

await runRoom('pipeline-a-h');
