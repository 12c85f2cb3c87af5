import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A sentence of the security model that says what is protected, and the tests that show it. */
interface SecurityClaim {
  readonly line: number;
  readonly text: string;
  readonly tests: readonly {
    readonly line: number;
    readonly path: string;
    readonly title: string;
  }[];
}

/** The page that makes the claims, relative to the root. */
const SECURITY_PAGE = "docs/security.md";

/** The claims below the heading "What is protected", in their order. */
export function readClaims(page: string): readonly SecurityClaim[] {
  const claims: { line: number; text: string; tests: SecurityClaim["tests"][number][] }[] = [];
  let isWithin = false;
  for (const [index, text] of page.split("\n").entries()) {
    const line = index + 1;
    if (text.startsWith("## ")) isWithin = text === "## What is protected";
    if (!isWithin) continue;
    const claim = claims.at(-1);
    if (text.startsWith("- ")) claims.push({ line, text: text.slice(2), tests: [] });
    else if (text.startsWith("  - ")) {
      const [, path = "", title = ""] = /^ {2}- `([^:`]+): ([^`]+)`$/.exec(text) ?? [];
      claim?.tests.push({ line, path, title });
    } else if (text.startsWith("  ") && claim !== undefined) claim.text += ` ${text.trim()}`;
  }
  return claims;
}

/** What is wrong with the claims of the security model: no test, or one that does not exist or never runs. Each begins with its place. */
export function claimProblems(root: string): {
  readonly claims: number;
  readonly problems: readonly string[];
} {
  const claims = readClaims(readFileSync(join(root, SECURITY_PAGE), "utf8"));
  const problems = claims.flatMap(({ line, text, tests }) => [
    ...(tests.length === 0 ? [`${SECURITY_PAGE}:${line}: no test shows that ${text}`] : []),
    ...tests.flatMap((test) => {
      const problem = problemOf(root, test);
      return problem === undefined ? [] : [`${SECURITY_PAGE}:${test.line}: ${problem}`];
    }),
  ]);
  return { claims: claims.length, problems };
}

function problemOf(
  root: string,
  { path, title }: SecurityClaim["tests"][number],
): string | undefined {
  if (title === "") return "a test is named as `path: title`";
  if (!existsSync(join(root, path))) return `there is no ${path}`;
  const source = readFileSync(join(root, path), "utf8");
  const literals = [`"${title.replaceAll('"', '\\"')}"`, `'${title}'`, `\`${title}\``];
  const at = Math.max(...literals.map((literal) => source.indexOf(literal)));
  if (at === -1) return `${path} has no test "${title}"`;
  // The call that has the title as its first argument.
  const call = /(\w+(?:\.\w+)*)(?:\([^()]*\))?\(\s*$/.exec(source.slice(0, at))?.[1] ?? "";
  const isLeftOut = /\.(?:skip|todo|fails)$/.test(call);
  return isLeftOut ? `the test "${title}" of ${path} never runs` : undefined;
}
