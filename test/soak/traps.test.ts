import '../system/source/traps.test.js';
