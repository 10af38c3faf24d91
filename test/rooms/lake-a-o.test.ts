import { runRoom } from '../support/suites.js';

await runRoom('lake-a-o');
