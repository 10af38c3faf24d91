export { connectionId, eventError, Events } from './events.js';
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
export { watch, type Watcher, type Watchers, watchersProblem } from './watcher.js';
