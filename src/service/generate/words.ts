/** Words that the generator draws from. Apostrophes and letters beyond ASCII are intentional. */

export const firstNames = [
  'Mary',
  'Linda',
  'Mateo',
  'Priya',
  'Wei',
  'Kwame',
  'Amélie',
  'José',
  'Zoë',
  'Søren',
  'Łukasz',
  "D'Angelo",
] as const;

export const lastNames = ['Smith', 'Garcia', 'Patel', "O'Brien", 'St. Clair', 'Smith-Jones', 'Nguyễn', 'Müller', 'Gagné', 'Žižka'] as const;

export const niches = ['auto', 'debt', 'home', 'ins', 'legal', 'loan', 'solar', 'tax'] as const;
export const seasons = ['Spring', 'Summer', 'Autumn', 'Winter', 'Year-End', 'Back to School'] as const;
export const referers = ['https://example.com/quote', 'https://example.org/apply?step=2&from=home', 'https://www.example.net/'] as const;
export const tags = ['north', 'call back', 'size 5" screen', 'red, blue', 'päivä', 'two\nlines'] as const;
export const metas = [
  '{"utm_source":"mail","variant":"B"}',
  'said "call after 5", then hung up',
  'line one\nline two, with a comma',
  'C:\\leads\\import.csv',
] as const;
