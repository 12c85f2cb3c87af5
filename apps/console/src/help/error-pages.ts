/** The page that lists all error codes, in a table for each package. */
export const ERROR_CODES = "docs/error-codes.md";

/** A page of one error code, which is in no file of the repository. */
interface ErrorPage {
  /** Where it would be, such as `docs/error-codes/CTY_NULL.md`. */
  readonly path: string;
  readonly code: string;
  readonly markdown: string;
}

const ROW = /^\| `(\w+)` *\|([^|]*)\|([^|]*)\|([^|]*)\|$/;

/** One page for each code that the list has. */
export function errorPages(list: string): readonly ErrorPage[] {
  const pages: ErrorPage[] = [];
  let owner = "";
  for (const line of list.split("\n")) {
    owner = /^## (.*)$/.exec(line)?.[1] ?? owner;
    const [, code, ...cells] = ROW.exec(line) ?? [];
    if (code === undefined) continue;
    const [means = "", again = "", http = ""] = cells.map((cell) => cell.trim());
    const parts = [
      `# \`${code}\``,
      `A code of ${linkOfOwner(owner)}. [All codes](../error-codes.md)`,
    ];
    if (means !== "") parts.push(`**${means.charAt(0).toUpperCase()}${means.slice(1)}.**`);
    if (again === "yes")
      parts.push("The same call may succeed later without a change of its arguments.");
    if (again === "no") parts.push("The same call fails again until something else has changed.");
    if (http !== "") parts.push(`A server answers it with the HTTP status ${http}.`);
    pages.push({ path: pathOf(code), code, markdown: `${parts.join("\n\n")}\n` });
  }
  return pages;
}

/** The list with a link from each code to its page. */
export function linkCodes(list: string): string {
  return list.replace(
    /^\| `(\w+)`/gm,
    (_row, code: string) => `| [\`${code}\`](error-codes/${code}.md)`,
  );
}

/**
 * What the page of a code says of the other pages that name it; empty where none does.
 *
 * @param pages all pages with their texts
 */
export function mentionsOf(
  code: string,
  pages: Iterable<{ readonly path: string; readonly title: string; readonly text: string }>,
): string {
  // A code of one small word means something else in most texts.
  if (!code.includes("_")) return "";
  const name = new RegExp(`\\b${code}\\b`);
  const links = [...pages]
    .filter(({ path, text }) => path !== ERROR_CODES && name.test(text))
    .map(({ path, title }) => {
      const more = path.startsWith("docs/library/") ? ": all that it exports" : "";
      return `- [${title}${more}](../../${path})`;
    });
  return links.length === 0 ? "" : `## Pages that name it\n\n${links.join("\n")}\n`;
}

function pathOf(code: string): string {
  return `docs/error-codes/${code}.md`;
}

/** Packages have a README; the server has a page of its own. */
function linkOfOwner(owner: string): string {
  return owner.includes(" ")
    ? `[${owner}](../../apps/engine/docs/server.md)`
    : `[${owner}](../../packages/${owner}/README.md)`;
}
