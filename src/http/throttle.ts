import { Observable } from 'rxjs';

/** Limits how many requests run at once: as many as allowed, and fewer while the service pushes back. */
export interface Throttle {
  /** Delays subscription to the source until a place is free. Its end frees the place. */
  throttled<T>(request$: Observable<T>): Observable<T>;
  /** Halves the places, down to at least one, because the service asked for less. */
  pushback(): void;
  /** Counts an answer of the service. After enough answers in a row, adds one more place. */
  ease(): void;
}

/** Answers in a row that earn a place back. */
const answersPerPlace = 20;

/** @param most Requests at once while the service does not push back, at least 1. */
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
