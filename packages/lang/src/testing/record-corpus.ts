import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { CorpusEntry } from "./corpus.ts";
import { findTerraform } from "./terraform-command.ts";

/*
 * Records results of the reference command: reads lines of `category TAB expression` from standard
 * input, writes the lines of a corpus file.
 *
 *   node src/testing/record-corpus.ts < expressions.txt > corpus.jsonl
 */

interface Answer {
  readonly ok: boolean;
  readonly output: string;
  readonly errors: string;
}

/** What one console process answers to one line, in a folder of its own: the command locks it. */
async function ask(command: string, line: string): Promise<Answer> {
  const folder = await mkdtemp(join(tmpdir(), "corpus-"));
  try {
    return await askIn(folder, command, line);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function askIn(folder: string, command: string, line: string): Promise<Answer> {
  const env = { ...process.env, TF_CLI_CONFIG_FILE: "/dev/null", CHECKPOINT_DISABLE: "1" };
  return new Promise((resolve, reject) => {
    const child = spawn(command, ["console", "-no-color"], { env, cwd: folder });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      const text = Buffer.concat(output).toString("utf8").replace(/\n$/, "");
      resolve({ ok: code === 0, output: text, errors: Buffer.concat(errors).toString("utf8") });
    });
    child.stdin.end(`${line}\n`);
  });
}

/** The reference command's result for one expression. */
export async function recordEntry(
  command: string,
  id: string,
  category: string,
  expr: string,
): Promise<CorpusEntry> {
  const shown = await ask(command, expr);
  if (!shown.ok) {
    const summary = /Error: (.*)/.exec(shown.errors)?.[1] ?? "";
    return { id, category, expr, error: true, summary };
  }
  const type = await ask(command, `type(${expr})`);
  const json = await ask(command, `nonsensitive(base64encode(jsonencode(${expr})))`);
  const encoded = /^"([A-Za-z0-9+/=]*)"$/.exec(json.output)?.[1];
  const sensitive = shown.output.includes("(sensitive value)");
  return {
    id,
    category,
    expr,
    error: false,
    type: type.output,
    json: encoded === undefined ? null : Buffer.from(encoded, "base64").toString("utf8"),
    ...(encoded === undefined && { console: shown.output }),
    ...(sensitive && { sensitive }),
  };
}

async function main(): Promise<void> {
  const found = findTerraform();
  if ("missing" in found) {
    process.stderr.write(`${found.missing}\n`);
    process.exitCode = 1;
    return;
  }
  const { command } = found;
  const counts = new Map<string, number>();
  const pending: Promise<CorpusEntry>[] = [];
  const flush = async (): Promise<void> => {
    const entry = await pending.shift();
    if (entry !== undefined) process.stdout.write(`${JSON.stringify(entry)}\n`);
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const [category, expr] = line.split("\t");
    if (category === undefined || expr === undefined) continue;
    const count = (counts.get(category) ?? 0) + 1;
    counts.set(category, count);
    const id = `o-${category}-${String(count).padStart(3, "0")}`;
    pending.push(recordEntry(command, id, category, expr));
    if (pending.length >= 3) await flush();
  }
  while (pending.length > 0) await flush();
}

if (import.meta.main) await main();
