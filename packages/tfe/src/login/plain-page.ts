/** A page without scripts. */
export function plainPage(content: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stackwright</title>
<meta name="viewport" content="width=device-width"><style>
body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}
label,button{display:block;margin:1rem 0}input[type=password],input[type=text]{display:block;width:100%;font:inherit;padding:.4rem}
button{font:inherit;padding:.4rem 1.2rem}.problem{color:#a00}dt{font-weight:600}dd{margin:0 0 .6rem}</style></head><body>${content}</body></html>`;
}

/** What such a page may load and where its form leads: nothing, and to `formAction`. No other page shows it. */
export function plainPolicy(formAction: string): string {
  return `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action ${formAction}`;
}

/** A text as it is written into a page. */
export function escapedText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
