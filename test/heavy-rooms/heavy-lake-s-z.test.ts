import { runRoom } from '../support/suites.js';

await runRoom('heavy-lake-s-z');
