import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Command,
  inBatches,
  requirementAtLine,
  requirementsTemplate,
  Workspace,
} from "./command.ts";

/** One version that is on offer, and a constraint on it; null for none. */
export interface ConstraintQuestion {
  readonly version: string;
  readonly constraint: string | null;
}

/** What the command makes of it. */
export interface ConstraintAnswer extends ConstraintQuestion {
  readonly outcome: "allowed" | "refused" | "invalid";
  /** The canonical form, for constraints that are valid. */
  readonly canonical: string | null;
}

/**
 * Asks the command which versions constraints allow: each question is a provider of its own, of
 * which a mirror folder offers that one version. `init` says for each whether it installs it. Wrong
 * constraints are found by `validate`, and by a first `init`, as the command has two readers for
 * them. Takes a fraction of a second for hundreds of questions.
 */
export function askConstraints(
  command: Command,
  questions: readonly ConstraintQuestion[],
): Promise<ConstraintAnswer[]> {
  return inBatches(questions, (batch) => askBatch(command, batch));
}

async function askBatch(
  command: Command,
  questions: readonly ConstraintQuestion[],
): Promise<ConstraintAnswer[]> {
  await using workspace = await Workspace.create(command);
  const directory = workspace.path("module");
  await mkdir(directory);
  const requirements = new Map<number, { source: string; version?: string }>();
  for (const [index, { version, constraint }] of questions.entries()) {
    const source = `example.com/test/p${index}`;
    const platform = workspace.path("mirror", source, version, "linux_amd64");
    await mkdir(platform, { recursive: true });
    await writeFile(join(platform, `terraform-provider-p${index}`), "", { mode: 0o755 });
    requirements.set(index, constraint === null ? { source } : { source, version: constraint });
  }
  await workspace.configure(
    `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(workspace.path("mirror"))}\n  }\n}\n`,
  );
  const init = async () => {
    const template = requirementsTemplate(requirements);
    await writeFile(join(directory, "main.tf.json"), template);
    return { template, result: await workspace.run(directory, "init", "-no-color") };
  };
  const dropLines = (template: string, lines: Iterable<number>) => {
    for (const line of lines) {
      const index = requirementAtLine(template, line);
      if (index !== undefined) requirements.delete(index);
    }
  };

  for (let round = 0; round < 2; round++) {
    const { template, result } = await init();
    const lines = result.stderr.matchAll(/^ {2}on main\.tf\.json line (\d+)/gm);
    dropLines(
      template,
      [...lines].map(([, line]) => Number(line)),
    );
  }
  const { result } = await init();
  if (/on main\.tf\.json line/.test(result.stderr)) throw new Error(result.stderr);

  const canonical = new Map<number, string>();
  const installed = new Set<number>();
  for (const [, index, text] of result.stdout.matchAll(
    /^- Finding example\.com\/test\/p(\d+) versions matching "(.*)"\.\.\.$/gm,
  )) {
    canonical.set(Number(index), text ?? "");
  }
  for (const [, index] of result.stdout.matchAll(/^- Installing example\.com\/test\/p(\d+) /gm)) {
    installed.add(Number(index));
  }
  return questions.map((question, index) => {
    if (!requirements.has(index)) return { ...question, outcome: "invalid", canonical: null };
    const outcome = installed.has(index) ? "allowed" : "refused";
    return { ...question, outcome, canonical: canonical.get(index) ?? "" };
  });
}
