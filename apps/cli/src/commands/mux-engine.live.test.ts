import { spawn } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/* Pulumi's own engine, unmodified, starts `mux serve` as one of its providers. */

const LAB = process.env.TEST_TOOL_PULUMI_RESOURCE_LAB ?? "";
const ENGINE = process.env.TEST_TOOL_PULUMI_ENGINE ?? "";
const RANDOM = process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "";
const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));

interface Result {
  readonly error?: string;
  readonly steps: readonly string[] | null;
  readonly resources: readonly {
    readonly urn: string;
    readonly id: string;
    readonly outputs: Readonly<Record<string, unknown>>;
  }[];
  readonly invoked?: readonly unknown[];
  readonly diagnostics?: readonly string[];
}

async function setUp(entry: object) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "mux-engine-"));
  const at = (...parts: string[]): string => join(scratch.path, ...parts);
  await mkdir(at("home", "plugins", "resource-lab-v1.0.0"), { recursive: true });
  await symlink(LAB, at("home", "plugins", "resource-lab-v1.0.0", "pulumi-resource-lab"));
  await mkdir(at("work"));
  await writeFile(
    at("work", "stackwright.providers.json"),
    JSON.stringify({ providers: { "example.com/acme/platform": entry } }),
  );
  const overrides = `dev_overrides { "hashicorp/random" = ${JSON.stringify(dirname(RANDOM))} }`;
  await writeFile(at("rc"), `provider_installation {\n  ${overrides}\n  direct {}\n}\n`);
  await mkdir(at("bin"));
  const words = `"${process.execPath}" "${MAIN}" "--chdir=${at("work")}" mux serve`;
  await writeFile(at("bin", "pulumi-resource-platform"), `#!/bin/sh\nexec ${words} -- "$@"\n`, {
    mode: 0o755,
  });
  const settings = { directory: at("notes") };
  return {
    at,
    /** What the engine says of each operation. */
    async run(operations: readonly object[]): Promise<readonly Result[]> {
      const engine = spawn(ENGINE, [], {
        cwd: at("work"),
        env: {
          PATH: `${at("bin")}:${process.env.PATH}`,
          HOME: scratch.path,
          PULUMI_HOME: at("home"),
          TF_CLI_CONFIG_FILE: at("rc"),
        },
        stdio: ["pipe", "pipe", "inherit"],
      });
      const given = operations.map((operation) => ({
        package: "platform",
        settings,
        ...operation,
      }));
      engine.stdin.end(JSON.stringify(given));
      const lines = (await text(engine.stdout)).trim().split("\n");
      return lines.map((line) => JSON.parse(line) as Result);
    },
    [Symbol.asyncDispose]: () => scratch.remove(),
  };
}

const pet = { type: "platform:index:random_pet", name: "pet", inputs: { length: 2 } };
const note = (fault?: string) => ({
  type: "lab:index:Note",
  name: "note",
  inputs: { title: "t", text: "x", ...(fault !== undefined && { fault }) },
});
const binder = {
  type: "lab:index:Binder",
  name: "binder",
  remote: true,
  inputs: { titles: ["a", "b"], text: "x" },
};
const join3 = { token: "lab:index:join", args: { separator: "-", parts: ["a", "b"] } };

describe("Pulumi's engine with mux serve as its provider", { timeout: 180_000 }, () => {
  it("previews, makes, refreshes and destroys resources of a Pulumi and of a Terraform provider", async (ctx) => {
    ctx.skip(ENGINE === "", "TEST_TOOL_PULUMI_ENGINE is not set");
    ctx.skip(LAB === "", "TEST_TOOL_PULUMI_RESOURCE_LAB is not set");
    ctx.skip(RANDOM === "", "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM is not set");
    await using tried = await setUp({
      programs: [{ source: "stackwright.local/pulumi/lab" }, { source: "hashicorp/random" }],
    });
    const program = { resources: [pet, note(), binder], invokes: [join3] };
    const [preview, up, refresh, destroy] = await tried.run([
      { kind: "preview", ...program },
      { kind: "up", ...program },
      { kind: "refresh" },
      { kind: "destroy" },
    ]);
    expect(preview?.error).toBe(undefined);
    expect(preview?.steps?.toSorted()).toEqual(
      ["own", "pet", "note", "binder", "binder-a", "binder-b"]
        .map((name) => `create ${name}`)
        .toSorted(),
    );
    expect(up?.error).toBe(undefined);
    expect(up?.invoked).toEqual([{ text: "a-b" }]);
    const types = up?.resources.map(({ urn }) => urn.split("::").slice(2).join(" "));
    expect(types?.toSorted()).toEqual([
      "lab:index:Binder binder",
      "lab:index:Binder$lab:index:Note binder-a",
      "lab:index:Binder$lab:index:Note binder-b",
      "lab:index:Note note",
      "platform:index:random_pet pet",
    ]);
    expect(up?.resources.find(({ urn }) => urn.endsWith("::pet"))?.id).toMatch(/^\w+-\w+$/);
    // What a program logs comes with the engine's diagnostics.
    expect(up?.diagnostics?.join("\n")).toContain('makes "t"');
    expect(refresh?.error).toBe(undefined);
    expect(refresh?.resources).toHaveLength(5);
    expect(destroy?.error).toBe(undefined);
    expect(destroy?.resources).toEqual([]);
    expect(await readdir(tried.at("notes"))).toEqual([]);
  });

  it("works with the programs that are there, and is told of calls that take too long", async (ctx) => {
    ctx.skip(ENGINE === "", "TEST_TOOL_PULUMI_ENGINE is not set");
    ctx.skip(LAB === "", "TEST_TOOL_PULUMI_RESOURCE_LAB is not set");
    await using tried = await setUp({
      programs: [
        { source: "stackwright.local/pulumi/lab", deadlines: { create: 2 } },
        { source: "stackwright.local/pulumi/absent" },
      ],
      package: { degradedStart: true },
    });
    const [up, destroy] = await tried.run([
      { kind: "up", resources: [note("hang-create")] },
      { kind: "destroy" },
    ]);
    expect(up?.error).not.toBe(undefined);
    const said = up?.diagnostics?.join("\n") ?? "";
    expect(said).toContain('The program "absent" of example.com/acme/platform is absent');
    expect(said).toMatch(/lab did not answer create|deadline/i);
    expect(destroy?.error).toBe(undefined);
  });
});
