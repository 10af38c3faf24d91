export { committed, openCommit, type OpenedCommit } from './commit.js';
export { planShards, type Planned, type PlanOptions } from './plan.js';
export { openShard, type OpenedShard } from './shard.js';
export type { PartOptions } from './parts.js';
