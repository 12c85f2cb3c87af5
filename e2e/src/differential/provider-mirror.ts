import { copyFile, link, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildTools, discoverTools, toolVariable } from "@stackwright-tools/go";

/** Where providers that are not HashiCorp's come from. */
const SOURCES: Readonly<Record<string, string>> = {
  "terraform-provider-lab": "example.test/lab/lab",
};

/**
 * The provider programs that cases need, laid out as a mirror from which either command installs them: what `TEST_TOOL_*`
 * name, else what is in the cache of built programs or can be built.
 */
export class ProviderMirror implements AsyncDisposable {
  /** The CLI configuration file that names the mirror. */
  readonly configuration: string;
  readonly #folder: string;
  readonly #missing: ReadonlyMap<string, string>;

  private constructor(folder: string, missing: ReadonlyMap<string, string>) {
    this.#folder = folder;
    this.configuration = join(folder, "mirror.tfrc");
    this.#missing = missing;
  }

  static async make(needs: Iterable<string>): Promise<ProviderMirror> {
    const folder = await mkdtemp(join(tmpdir(), "diff-mirror-"));
    const missing = new Map<string, string>();
    const tools = discoverTools();
    for (const name of new Set(needs)) {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined) {
        missing.set(name, `there is no tool ${name}`);
        continue;
      }
      const variable = toolVariable(tool.name);
      let program = process.env[variable];
      if (program === undefined) {
        const [result] = await buildTools([tool]);
        if (result === undefined || result.status === "failed") {
          missing.set(name, `needs ${variable}: ${result?.message ?? "not built"}`);
          continue;
        }
        program = result.path;
      }
      await place(folder, name, tool.version, program);
    }
    const mirror = new ProviderMirror(folder, missing);
    await writeFile(
      mirror.configuration,
      `provider_installation {\n  filesystem_mirror {\n    path = "${folder}"\n  }\n}\n`,
    );
    return mirror;
  }

  /** Why a case cannot be run, where it cannot. */
  reasonAgainst(needs: readonly string[]): string | undefined {
    const reasons = needs.flatMap((name) => this.#missing.get(name) ?? []);
    return reasons.length === 0 ? undefined : reasons.join("; ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function place(
  folder: string,
  name: string,
  version: string,
  program: string,
): Promise<void> {
  const type = name.slice("terraform-provider-".length);
  const source = SOURCES[name] ?? `registry.terraform.io/hashicorp/${type}`;
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  const target = join(folder, source, version, platform);
  await mkdir(target, { recursive: true });
  const file = join(target, `${name}_v${version}`);
  // Twenty megabytes each: a second name where the file system can give one.
  await link(program, file).catch(async () => copyFile(program, file));
}
