import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runSuiteCommand } from "./command.ts";
import { addTallies, type Tally, tallyCommand } from "./tally.ts";
import { listPackages, type WorkspacePackage } from "./workspace.ts";

/** One fenced block of a README that is a whole module. */
interface Snippet {
  readonly line: number;
  readonly code: string;
}

const FOLDER = ".readme-snippets";

/**
 * Runs every ```ts block of every package README as a module inside that package, after checking
 * its types under the package's own settings; each has to print something, so that who tries it sees what it does. Other languages (`text`, `sh`, `json`) are prose.
 */
export async function checkReadmeSnippets(root: string): Promise<Tally> {
  const tallies: Tally[] = [];
  for (const owner of listPackages(root)) {
    if (!owner.folder.startsWith("packages/")) continue;
    tallies.push(await checkPackage(root, owner));
  }
  return addTallies(tallies);
}

async function checkPackage(root: string, { path, folder }: WorkspacePackage): Promise<Tally> {
  let text: string;
  try {
    text = readFileSync(join(path, "README.md"), "utf8");
  } catch {
    return { passed: 0, failed: [`${folder} has no README.md`], skipped: [] };
  }
  const snippets = snippetsOf(text);
  if (snippets.length === 0) {
    return { passed: 0, failed: [`${folder}/README.md shows no runnable example`], skipped: [] };
  }
  const target = join(path, FOLDER);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  try {
    writeFileSync(
      join(target, "tsconfig.json"),
      JSON.stringify({
        extends: "../../../tsconfig.base.json",
        compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
        include: ["*.ts"],
      }),
    );
    for (const { line, code } of snippets) writeFileSync(join(target, `line-${line}.ts`), code);
    const types = await runSuiteCommand([join(root, "node_modules/.bin/tsc"), "-p", target], {
      cwd: path,
      timeoutMs: 120_000,
    });
    const tallies = [tallyCommand(`${folder}/README.md: types of the examples`, types)];
    for (const { line } of snippets) {
      const run = await runSuiteCommand([process.execPath, join(target, `line-${line}.ts`)], {
        cwd: target,
        timeoutMs: 60_000,
        capture: true,
      });
      const name = `${folder}/README.md: the example at line ${line}`;
      tallies.push(tallyCommand(name, run));
      if (run.code === 0 && run.stdout.trim() === "") {
        tallies.push({ passed: 0, failed: [`${name} prints nothing`], skipped: [] });
      }
    }
    return addTallies(tallies);
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** The ```ts blocks of a markdown text, with the line of their fence. */
export function snippetsOf(markdown: string): Snippet[] {
  const snippets: Snippet[] = [];
  let open: { line: number; code: string[] | undefined } | undefined;
  for (const [index, line] of markdown.split("\n").entries()) {
    const fence = /^```\s*(\S*)/.exec(line);
    if (open === undefined) {
      if (fence !== null) open = { line: index + 1, code: fence[1] === "ts" ? [] : undefined };
    } else if (fence !== null && fence[1] === "") {
      if (open.code !== undefined) {
        snippets.push({ line: open.line, code: `${open.code.join("\n")}\nexport {};\n` });
      }
      open = undefined;
    } else {
      open.code?.push(line);
    }
  }
  return snippets;
}
