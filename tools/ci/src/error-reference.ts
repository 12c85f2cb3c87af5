import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** What tables say of a code; the members that older tables call otherwise as well. */
interface Row {
  readonly summary?: string;
  readonly retryable?: boolean;
  readonly httpStatus?: number;
  readonly http?: number;
}

/** The codes of the API of the server, and what the page calls them. */
const SERVER = { path: "apps/engine/src/domain/server-error.ts", name: "the API of the server" };

/** The page of all error codes, of the tables that packages export and that of the server. */
export async function errorReference(root: string): Promise<string> {
  const parts: string[] = [];
  const tables = globSync("packages/*/src/errors.ts", { cwd: root }).toSorted();
  for (const path of [...tables, SERVER.path]) {
    const module = (await import(pathToFileURL(join(root, path)).href)) as Record<string, unknown>;
    const [, table] = Object.entries(module).find(([name]) => name.endsWith("_ERRORS")) ?? [];
    if (table === undefined) continue;
    const name = path === SERVER.path ? SERVER.name : (path.split("/")[1] ?? "");
    const lines = Object.entries(table as Readonly<Record<string, Row>>).map(([code, row]) => {
      const retry = row.retryable === undefined ? "" : row.retryable ? "yes" : "no";
      return `| \`${code}\` | ${row.summary ?? ""} | ${retry} | ${row.httpStatus ?? row.http ?? ""} |`;
    });
    parts.push(
      `## ${name}\n\n| Code | Means | Again | HTTP |\n| --- | --- | --- | --- |\n${lines.join("\n")}\n`,
    );
  }
  return `${HEAD}\n${parts.join("\n")}`;
}

const HEAD = `# Error codes

Codes are part of the contract of a package, texts are not. \`Again\`: the same call may succeed later without a change of its arguments. \`HTTP\`: the status
with which a server answers it. Where a table has no meaning of its own, the message of the error and the README of the
package say it. Every server has a page of each code (\`/help/\`, or \`stackwright docs\`), with the other pages that name it. This page is written from the
tables: \`node tools/ci/src/write-error-reference.ts\`.
`;
