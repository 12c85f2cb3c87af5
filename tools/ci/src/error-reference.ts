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

/** The page of all error codes, of the tables that packages export. */
export async function errorReference(root: string): Promise<string> {
  const parts: string[] = [];
  for (const path of globSync("packages/*/src/errors.ts", { cwd: root }).toSorted()) {
    const module = (await import(pathToFileURL(join(root, path)).href)) as Record<string, unknown>;
    const [, table] = Object.entries(module).find(([name]) => name.endsWith("_ERRORS")) ?? [];
    if (table === undefined) continue;
    const name = path.split("/")[1] ?? "";
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
package say it. This page is written from the tables: \`node tools/ci/src/write-error-reference.ts\`.
`;
