import { runRoom } from '../support/suites.js';

await runRoom('source-a-f');
