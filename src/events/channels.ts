import { channel, tracingChannel, type Channel, type TracingChannel } from 'node:diagnostics_channel';
import type { MomentName, OperationName } from './map.js';

/** Node finds a channel by name as long as it is referenced here or has subscribers. */
export const moments: Readonly<Record<MomentName, Channel>> = {
  retry: channel('leadstream:retry'),
  page: channel('leadstream:page'),
  wait: channel('leadstream:wait'),
  step: channel('leadstream:step'),
  warning: channel('leadstream:warning'),
};

export const operations: Readonly<Record<OperationName, TracingChannel>> = {
  run: tracingChannel('leadstream:run'),
  read: tracingChannel('leadstream:read'),
  request: tracingChannel('leadstream:request'),
  write: tracingChannel('leadstream:write'),
  finish: tracingChannel('leadstream:finish'),
  commit: tracingChannel('leadstream:commit'),
};

/** The phases of an operation that are published. */
export const phases = ['start', 'error', 'asyncEnd'] as const;

export type Phase = (typeof phases)[number];
