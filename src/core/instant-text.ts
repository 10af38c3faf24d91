import { textOf, type DeclaredType } from './types.js';

const msPerDay = 86_400_000;
/** Number of cached days, about eleven years. */
const maxDays = 4096;

/** Creates a `textOf` for instants that mostly share days: it caches the text of the day, which is the slow part. */
export function instantTexts(): (date: Date, type: DeclaredType) => string {
  const days = new Map<number, string>();

  function textOfDay(day: number): string {
    const known = days.get(day);
    if (known !== undefined) return known;
    if (days.size >= maxDays) days.clear();
    const text = textOf(new Date(day * msPerDay), 'date') ?? '';
    days.set(day, text);
    return text;
  }

  return (date, type) => {
    const time = date.getTime();
    const day = Math.floor(time / msPerDay);
    if (type === 'date') return textOfDay(day);
    const ms = time - day * msPerDay;
    const seconds = Math.floor(ms / 1000);
    const [hour, minute] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return `${textOfDay(day)}T${sixty[hour]}:${sixty[minute]}:${sixty[seconds % 60]}.${String(ms % 1000).padStart(3, '0')}Z`;
  };
}

const sixty = Array.from({ length: 60 }, (_, count) => String(count).padStart(2, '0'));
