/** Words that the generator draws from. Apostrophes and letters beyond ASCII are intentional. */

export const firstNames = [
  'James',
  'Mary',
  'Robert',
  'Patricia',
  'John',
  'Jennifer',
  'Michael',
  'Linda',
  'David',
  'Elizabeth',
  'William',
  'Barbara',
  'Aaliyah',
  'Mateo',
  'Priya',
  'Wei',
  'Fatima',
  'Kwame',
  'Yuki',
  'Amélie',
  'José',
  'Zoë',
  'Renée',
  'Søren',
  'Łukasz',
  "D'Angelo",
] as const;

export const lastNames = [
  'Smith',
  'Johnson',
  'Williams',
  'Brown',
  'Jones',
  'Garcia',
  'Miller',
  'Davis',
  'Rodriguez',
  'Martinez',
  'Wilson',
  'Anderson',
  "O'Brien",
  "D'Souza",
  'St. Clair',
  'Smith-Jones',
  'Nguyễn',
  'Müller',
  'Núñez',
  'Gagné',
  'Lévesque',
  'Žižka',
  'Tremblay',
  'Patel',
] as const;

export const niches = ['auto', 'debt', 'home', 'ins', 'legal', 'loan', 'solar', 'tax'] as const;
export const seasons = ['Spring', 'Summer', 'Autumn', 'Winter', 'Year-End', 'Back to School'] as const;
export const statuses = ['new', 'sent', 'sold', 'rejected', 'returned', 'on hold'] as const;
export const sources = ['search', 'social', 'email', 'display', 'partner', 'call center'] as const;
export const referers = ['https://example.com/quote', 'https://example.org/apply?step=2&from=home', 'https://www.example.net/'] as const;
export const leadTypes = ['web', 'call', 'chat'] as const;
export const maritalStatuses = ['single', 'married', 'divorced', 'widowed'] as const;
export const genders = ['F', 'M', 'F', 'M', 'X'] as const;
export const postalLetters = ['A', 'B', 'C', 'E', 'G'] as const;
export const languages = ['en', 'en', 'en', 'es', 'fr'] as const;
export const tags = ['north', 'call back', 'size 5" screen', 'red, blue', 'päivä', 'two\nlines'] as const;
export const metas = [
  '{"utm_source":"mail","variant":"B"}',
  'said "call after 5", then hung up',
  'line one\nline two, with a comma',
  'C:\\leads\\import.csv',
] as const;
