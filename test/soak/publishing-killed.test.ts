/** A commit that is killed before each of its renames. */
import '../system/pipeline/publishing-killed.test.js';
