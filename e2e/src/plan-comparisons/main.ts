import { mkdir, mkdtempDisposable, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { ProviderMirror } from "../differential/provider-mirror.ts";
import {
  openToolRun,
  stackwrightTool,
  type Tool,
  type ToolRun,
  terraformTool,
} from "../differential/tool.ts";
import type { Comparison } from "./comparison.ts";
import { COMPARISONS } from "./comparisons.ts";
import { commentsPage, comparisonsPage, type PlannedComparison } from "./pages.ts";

// Plans every comparison with the real command and with ours, and writes both texts side by side into the pages of packages/plan-view.

const PAGES = join(import.meta.dirname, "../../../packages/plan-view/docs");
const PROVIDERS = [
  "terraform-provider-lab",
  "terraform-provider-random",
  "terraform-provider-local",
];

/** What one tool shows of the plan of a comparison. */
async function planWith(
  comparison: Comparison,
  toolIn: (scratch: string) => Tool,
  configuration: string,
  show: (run: ToolRun, planned: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const { before, after, options = [], taint, drift = {} } = comparison;
  await using scratch = await mkdtempDisposable(join(tmpdir(), "plan-comparison-"));
  const work = join(scratch.path, "work");
  await mkdir(join(scratch.path, "lab"), { recursive: true });
  await mkdir(work);
  const tool = toolIn(scratch.path);
  const run = openToolRun(tool, { scratch: scratch.path, work, configuration });
  const must = async (...words: readonly string[]): Promise<string> => {
    const { code, output, error } = await run.run(words);
    if (code !== 0) throw new Error(`${tool.name} ${words.join(" ")}: ${output}${error}`);
    return output;
  };
  const main = join(work, "main.tf");
  if (before !== "") {
    await writeFile(main, before);
    await must("init", "-input=false");
    await must(
      ...(tool.apply === "up" ? ["up", "--yes"] : ["apply", "-auto-approve", "-input=false"]),
    );
  }
  if (taint !== undefined) await tool.stateEdits(run, ["taint", taint], {});
  for (const [path, text] of Object.entries(drift)) {
    if (text === null) await rm(join(work, path));
    else await writeFile(join(work, path), text);
  }
  await writeFile(main, after);
  await must("init", "-input=false");
  const planned = await must("plan", "-no-color", "-input=false", ...options, "-out=plan");
  return await show(run, planned);
}

async function compare(comparison: Comparison, configuration: string): Promise<PlannedComparison> {
  const terraform = process.env.TEST_TERRAFORM ?? "terraform";
  const [reference = ""] = await planWith(
    comparison,
    () => terraformTool(terraform),
    configuration,
    async (_run, planned) => [planned],
  );
  const [view = "", comment = ""] = await planWith(
    comparison,
    (scratch) => stackwrightTool(undefined, join(scratch, "store")),
    configuration,
    async (opened) => {
      const forms = ["text", "markdown"].map(async (form) => {
        const { code, output, error } = await opened.run(["show", "--view", form, "plan"]);
        if (code !== 0) throw new Error(`show --view ${form}: ${error}`);
        return output;
      });
      return Promise.all(forms);
    },
  );
  return { comparison, reference, view, comment };
}

const wanted = process.argv.slice(2);
await using mirror = await ProviderMirror.make(PROVIDERS);
const missing = mirror.reasonAgainst(PROVIDERS);
if (missing !== undefined) throw new Error(missing);
const done: PlannedComparison[] = [];
for (const comparison of COMPARISONS) {
  if (wanted.length > 0 && !wanted.some((word) => comparison.title.includes(word))) continue;
  process.stderr.write(`${comparison.title}\n`);
  done.push(await compare(comparison, mirror.configuration));
}
if (wanted.length > 0) {
  process.stdout.write(comparisonsPage(done) + commentsPage(done));
} else {
  await write("comparisons.md", comparisonsPage(done));
  await write("pull-request-comments.md", commentsPage(done));
}

async function write(name: string, text: string): Promise<void> {
  const path = join(PAGES, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
