import { runRoom } from '../support/suites.js';

await runRoom('pipeline-s-z');
