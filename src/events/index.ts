export { eventError } from './event-error.js';
export { connectionId, Events } from './events.js';
export type {
  EventError,
  MomentEvent,
  MomentName,
  Moments,
  OperationEvent,
  OperationName,
  Operations,
  RequestBegun,
  RequestDone,
} from './map.js';
export { type Logger, loggerProblem, logging } from './logger.js';
export { watch, type Watcher, type Watchers, watchersProblem } from './watcher.js';
