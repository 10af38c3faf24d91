/** The look of a report, in light and dark. */
export const style = `
:root { color-scheme: light dark; --back: #fff; --text: #1d2329; --faint: #d5dae0; --way: #2f6fb4; --lost: #b4552f; --added: #3c8a4f; }
@media (prefers-color-scheme: dark) { :root { --back: #14181c; --text: #e2e6ea; --faint: #39424b; --way: #6ea8e6; --lost: #e39470; --added: #7cc78d; } }
body { margin: 0 auto; max-width: 900px; padding: 1rem; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 1rem 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 0.4rem; }
.published { color: var(--added); font-weight: 600; }
.failed { color: var(--lost); font-weight: 600; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0; border-bottom: 1px solid var(--faint); }
th, td:first-child { white-space: nowrap; }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
.refused td, .overridden td { color: var(--lost); }
svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
@media (max-width: 620px) {
  .narrow { display: block; }
  .wide { display: none; }
  tr { display: block; padding: 0.3rem 0; border-bottom: 1px solid var(--faint); }
  tr:has(th), td:empty { display: none; }
  td { display: grid; grid-template-columns: 6.5rem 1fr; padding: 0; border: 0; white-space: normal; overflow-wrap: anywhere; }
  td::before { content: attr(data-head); opacity: 0.7; }
  .facts td { display: block; }
  .facts td:first-child { opacity: 0.7; }
}
`;
