import { Observable } from 'rxjs';

/** How many requests run at once: as many as allowed, and fewer while the service pushes back. */
export interface Throttle {
  /** Lets the source be subscribed when a place is free; its end gives the place back. */
  throttled<T>(request$: Observable<T>): Observable<T>;
  /** The service asked for less: half of the places, at least one. */
  pushback(): void;
  /** The service answered: after enough answers in a row one more place. */
  ease(): void;
}

/** Answers in a row that earn a place back. */
const answersPerPlace = 20;

/** @param most Requests at once when the service does not complain, at least 1. */
export function createThrottle(most: number): Throttle {
  let places = most;
  let running = 0;
  let answers = 0;
  const waiting = new Set<() => void>();

  function admit(): void {
    for (const start of waiting) {
      if (running >= places) return;
      waiting.delete(start);
      start();
    }
  }

  return {
    throttled: (request$) =>
      new Observable((subscriber) => {
        let entered = false;
        const start = () => {
          entered = true;
          running += 1;
          subscriber.add(request$.subscribe(subscriber));
        };
        waiting.add(start);
        admit();
        return () => {
          waiting.delete(start);
          if (!entered) return;
          running -= 1;
          admit();
        };
      }),
    pushback: () => {
      places = Math.max(1, Math.floor(places / 2));
      answers = 0;
    },
    ease: () => {
      answers += 1;
      if (answers < answersPerPlace || places >= most) return;
      answers = 0;
      places += 1;
      admit();
    },
  };
}
