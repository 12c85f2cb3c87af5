/**
 * The lines of a fenced block of shell under a heading of a page, with the names of another place. Heading and block
 * have to exist: otherwise the page is no longer tested.
 */
export function documentedCommands(
  page: string,
  heading: string,
  block: number,
  replacements: readonly (readonly [string, string])[],
): string {
  const section = page.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`the page has no heading "${heading}"`);
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, lines = ""]) => lines);
  const found = blocks[block];
  if (found === undefined) {
    throw new Error(`"${heading}" has ${blocks.length} blocks of shell, not ${block + 1}`);
  }
  return replacements.reduce((text, [from, to]) => text.replaceAll(from, to), found);
}
