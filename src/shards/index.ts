export type { OpenedPart } from './parts.js';
export { committed, openCommit } from './commit.js';
export { planShards, type PlanOptions } from './plan.js';
export { openShard } from './shard.js';
