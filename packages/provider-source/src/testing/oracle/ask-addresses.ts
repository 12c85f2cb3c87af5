import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Command,
  inBatches,
  requirementAtLine,
  requirementsTemplate,
  Workspace,
} from "./command.ts";

/** What the command makes of a `source`: the address in full, or null if it refuses it. */
export interface AddressAnswer {
  readonly source: string;
  readonly address: string | null;
}

interface Diagnostics {
  readonly diagnostics: readonly {
    readonly severity: string;
    readonly range?: { readonly start: { readonly line: number } };
  }[];
}

/**
 * Asks the command for the canonical forms of sources, in two runs for many: `validate` names those that
 * are wrong, `providers` lists the others. Each has a version of its own, by which it is found again.
 */
export function askAddresses(
  command: Command,
  sources: readonly string[],
): Promise<AddressAnswer[]> {
  return inBatches(sources, (batch) => askBatch(command, batch));
}

async function askBatch(command: Command, sources: readonly string[]): Promise<AddressAnswer[]> {
  await using workspace = await Workspace.create(command);
  const directory = workspace.path("module");
  await mkdir(directory);
  const requirements = new Map(
    sources.map((source, index) => [index, { source, version: `0.0.${index + 1}` }] as const),
  );
  const file = join(directory, "main.tf.json");
  const template = requirementsTemplate(requirements);
  await writeFile(file, template);
  const { stdout } = await workspace.run(directory, "validate", "-json");
  for (const { severity, range } of (JSON.parse(stdout) as Diagnostics).diagnostics) {
    if (severity !== "error" || range === undefined) continue;
    const index = requirementAtLine(template, range.start.line);
    if (index !== undefined) requirements.delete(index);
  }
  await writeFile(file, requirementsTemplate(requirements));
  const listed = await workspace.run(directory, "providers");
  if (listed.exitCode !== 0) throw new Error(`providers failed: ${listed.stderr}`);
  const addresses = new Map<number, string>();
  for (const [, address = "", versions = ""] of listed.stdout.matchAll(/provider\[(.*?)\] (.*)/g)) {
    for (const [, patch] of versions.matchAll(/0\.0\.(\d+)/g))
      addresses.set(Number(patch) - 1, address);
  }
  return sources.map((source, index) => ({ source, address: addresses.get(index) ?? null }));
}
