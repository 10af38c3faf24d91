import { zipPlaces, type Collection, type GeneratedName } from '../../collections/index.js';

interface Places {
  /** First those of the US. */
  readonly homes: readonly { readonly zip: string; readonly city: City }[];
  readonly firstCanadian: number;
  readonly cities: readonly City[];
}

export interface City {
  readonly position: number;
  readonly name: string;
  /** Two-letter code of its state or province, and the number of that, from 0. */
  readonly state: string;
  readonly stateNumber: number;
  zips: number;
}

let loaded: Places | undefined;

export function places(): Places {
  if (loaded) return loaded;
  const cities = new Map<string, City>();
  const states = new Map<string, number>();
  const homes = zipPlaces().map(([zip, { city: name, state }]) => {
    const stateNumber = states.get(state) ?? states.size;
    states.set(state, stateNumber);
    const key = `${name}|${state}`;
    const city = cities.get(key) ?? { position: cities.size, name, state, stateNumber, zips: 0 };
    cities.set(key, city);
    city.zips += 1;
    return { zip, city };
  });
  return (loaded = { homes, firstCanadian: homes.findIndex(({ zip }) => zip.length === 3), cities: [...cities.values()] });
}

/** A state has ten area codes; a city has one to three of them, more if it is bigger. */
export function areaCodeOf({ position, stateNumber, zips }: City, drawn: number): string {
  const codes = zips > 8 ? 3 : zips > 2 ? 2 : 1;
  return String(200 + 10 * stateNumber + ((mix(0, 5, position) + (drawn % codes)) % 10));
}

export interface World {
  readonly seed: number;
  readonly canadian: boolean;
  /** Leads follow each other every half minute or so. */
  readonly firstSecond: number;
  readonly secondsApart: number;
  readonly counts: Readonly<Record<GeneratedName, number>>;
  readonly ids: { readonly [N in GeneratedName]: ReturnType<typeof numbering> };
}

export type FullRow<C extends Collection> = { readonly [K in keyof C['fields']]: string };

/** Identifiers that map back to their row: one in every `step` numbers from `first`, chosen by the seed. */
export function numbering(plan: { seed: number; purpose: number; first: number; step: number; count: number }) {
  const { seed, purpose, first, step, count } = plan;
  const idOf = (index: number): string => String(first + index * step + (mix(seed, purpose, index) % step));
  return {
    idOf,
    find: (id: string): readonly number[] => {
      const index = Math.floor((Number(id) - first) / step);
      return index >= 0 && index < count && idOf(index) === id ? [index] : [];
    },
  };
}

/** Mixes a seed, a purpose and a position into 32 bits (murmur3's finalizer). Each purpose is used in one place only. */
export function mix(seed: number, purpose: number, position: number): number {
  let h = Math.imul(seed ^ Math.imul(purpose + 1, 0x9e3779b1), 0x85ebca6b);
  h ^= h >>> 15;
  h = Math.imul(h ^ position, 0xc2b2ae35);
  h ^= h >>> 13;
  h = Math.imul(h ^ Math.floor(position / 0x1_0000_0000), 0x27d4eb2f);
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

/** Draws that do not depend on earlier rows (mulberry32). */
export class Draw {
  #state = 0;

  constructor(
    private readonly seed: number,
    private readonly purpose: number,
  ) {}

  seek(position: number): void {
    this.#state = mix(this.seed, this.purpose, position);
  }

  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000) * end);
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }

  digits(length: number): string {
    return String(this.below(10 ** length)).padStart(length, '0');
  }

  hex(): string {
    return this.below(0x1_0000_0000).toString(16).padStart(8, '0');
  }

  sometimes(percent: number, make: () => string): string {
    return this.below(100) < percent ? make() : '';
  }

  /** As a service writes it that never settled on a spelling. */
  flag(percent: number): string {
    return this.pick(this.below(100) < percent ? ['Yes', 'Yes', 'yes', 'yes', '1'] : ['No', 'No', 'no', 'no', '0']);
  }
}
