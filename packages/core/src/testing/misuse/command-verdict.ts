import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { errorsOf } from "./errors-of.ts";
import { MISUSE_HEAD, type MisuseCase, type MisuseVerdict } from "./misuse-case.ts";

const run = promisify(execFile);

/** Executables of the providers that the cases need, by source. */
const MISUSE_PROGRAMS = {
  "example.com/acme/lab": process.env.TEST_TOOL_TERRAFORM_PROVIDER_LAB ?? "",
  "registry.terraform.io/hashicorp/archive": process.env.TEST_TOOL_TERRAFORM_PROVIDER_ARCHIVE ?? "",
};

interface Shown {
  readonly severity: string;
  readonly summary: string;
}

/** Why the command cannot be asked here. */
export async function commandMissing(): Promise<string | undefined> {
  if (Object.values(MISUSE_PROGRAMS).includes("")) return "lab and archive are not built";
  try {
    const { stdout } = await run("terraform", ["version", "-json"]);
    const { terraform_version: version } = JSON.parse(stdout) as { terraform_version: string };
    return version.startsWith("1.11.") ? undefined : `terraform ${version} is not 1.11`;
  } catch {
    return "the command terraform is not installed";
  }
}

/** Asks the reference command, in a folder of its own. */
export async function commandVerdict({ text, child }: MisuseCase): Promise<MisuseVerdict> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "misuse-"));
  const folder = scratch.path;
  const settings = join(folder, "cli.tfrc");
  const overrides = Object.entries(MISUSE_PROGRAMS).map(
    ([source, path]) => `"${source}" = "${dirname(path)}"\n`,
  );
  await writeFile(
    settings,
    `provider_installation {\n dev_overrides {\n${overrides.join("")}}\n direct {}\n}`,
  );
  await writeFile(join(folder, "main.tf"), `${MISUSE_HEAD}${text}\n`);
  if (child !== undefined) {
    await mkdir(join(folder, "m"));
    await writeFile(join(folder, "m", "main.tf"), child);
  }
  const terraform = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env.PATH, HOME: folder, TF_CLI_CONFIG_FILE: settings };
    const done = run("terraform", args, { cwd: folder, env: { ...env, CHECKPOINT_DISABLE: "1" } });
    // It fails where something is wrong, and says it all the same.
    return done.then(
      ({ stdout }) => stdout,
      ({ stdout }: { readonly stdout: string }) => stdout,
    );
  };
  if (child !== undefined) await terraform("get");
  const { diagnostics } = JSON.parse(await terraform("validate", "-json")) as {
    readonly diagnostics: readonly Shown[];
  };
  const lines = (await terraform("plan", "-json", "-input=false")).split("\n").filter(Boolean);
  const planned = lines
    .map((line) => JSON.parse(line) as { readonly diagnostic?: Shown })
    .flatMap(({ diagnostic }) => diagnostic ?? []);
  return { validate: errorsOf(diagnostics), plan: errorsOf(planned) };
}
