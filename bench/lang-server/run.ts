import { readFileSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseFile } from "@stackwright/lang";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { Editor } from "./editor.ts";
import { COMPLETION, DECLARATION, SHARED, writeRepository } from "./repository.ts";

/*
 * What an editor waits for, by the number of modules of a repository: a server that has just started, and one that has the
 * repository in memory. The baseline of a cold answer is to read and parse all files; of a warm one, to read them and look for the name,
 * and to parse those that have it, which is what the best tool without an index does.
 */

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 7);
const SIZES = (process.argv[2] ?? "50,150,500").split(",").map(Number);

async function timed(task: () => unknown): Promise<number> {
  const start = performance.now();
  await task();
  return performance.now() - start;
}

async function rounds(task: () => unknown): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await timed(task));
  return times;
}

function parseAll(paths: readonly string[]): void {
  for (const path of paths) parseFile({ name: path, text: readFileSync(path) });
}

function searchAll(paths: readonly string[]): void {
  for (const path of paths) {
    const text = readFileSync(path);
    if (text.includes(SHARED)) parseFile({ name: path, text: text });
  }
}

const rows: object[] = [];
for (const size of SIZES) {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "lang-server-bench-"));
  const paths = await writeRepository(scratch.path, size);
  const read = async (path: string) => readFile(join(scratch.path, path), "utf8");
  const cold: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await using editor = await Editor.start(scratch.path);
    await editor.open(DECLARATION.path, await read(DECLARATION.path));
    cold.push(await timed(async () => references(editor)));
  }
  await using editor = await Editor.start(scratch.path);
  const before = editor.memory();
  const opened = await timed(async () => editor.open("main.tf", await read("main.tf")));
  await editor.open(DECLARATION.path, await read(DECLARATION.path));
  const found = await references(editor);
  // The declaration, one use, and what each other module and the root pass.
  if (found !== size + 2) throw new Error(`${found} references in ${size} modules`);
  const completed = await editor.ask<unknown[]>("textDocument/completion", COMPLETION);
  if (completed.length === 0) throw new Error("nothing is completed");
  const warm = await rounds(async () => references(editor));
  const renamed = await rounds(async () =>
    editor.ask("textDocument/rename", DECLARATION, { newName: "region" }),
  );
  const completion = await rounds(async () => editor.ask("textDocument/completion", COMPLETION));
  const memory = editor.memory();
  const parsed = spreadOf("all files parsed", await rounds(() => parseAll(paths)));
  const searched = spreadOf("the name searched", await rounds(() => searchAll(paths)));
  const all = {
    cold: spreadOf("a server that has just started", cold),
    warm: spreadOf("a server that knows the repository", warm),
  };
  const point = { unit: "ms", size, of: "modules" };
  recordFigure({ name: "editor: first references", ...point, ours: all.cold, baseline: parsed });
  recordFigure({ name: "editor: references again", ...point, ours: all.warm, baseline: searched });
  rows.push({
    modules: size,
    files: paths.length,
    "opened, ms": opened.toFixed(0),
    "completion, ms": spreadOf("", completion).middle.toFixed(1),
    "first references, ms": all.cold.middle.toFixed(0),
    "references, ms": all.warm.middle.toFixed(1),
    "rename, ms": spreadOf("", renamed).middle.toFixed(1),
    "all parsed, ms": parsed.middle.toFixed(0),
    "searched, ms": searched.middle.toFixed(1),
    "memory, MiB": memory.toFixed(0),
    "at its start": before.toFixed(0),
  });
}
console.log(`node ${process.version}, ${process.platform}-${process.arch}, ${ROUNDS} rounds`);
console.table(rows);

async function references(editor: Editor): Promise<number> {
  const context = { includeDeclaration: true };
  const found = await editor.ask<unknown[]>("textDocument/references", DECLARATION, { context });
  return found.length;
}
