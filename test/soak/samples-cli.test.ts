/** What system takes a sample of: the command. */
import '../system/cli/explain-row.test.js';
import '../system/cli/cli.test.js';
import '../system/cli/test.test.js';
import '../system/cli/plugins.test.js';
