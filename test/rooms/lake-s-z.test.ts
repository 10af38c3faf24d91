import { runRoom } from '../support/suites.js';

await runRoom('lake-s-z');
