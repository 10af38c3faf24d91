import { runRoom } from '../support/suites.js';

await runRoom('cli-m-z');
