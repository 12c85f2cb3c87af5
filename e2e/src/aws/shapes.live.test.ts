import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rotatingSlice } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { type Json, listOf, objectOf, parseExact, textOf } from "../differential/exact-json.ts";
import { COMMAND } from "../testing/cli.ts";

/*
 * What people call most on the real AWS provider, in the shapes that they call it: options with defaults, blocks that are there or
 * not, instances over maps, chains of try and lookup, a switch that leaves everything out. All are called by one root module, as the
 * provider takes seconds to start; they are valid and planned as by the reference command.
 */

const run = promisify(execFile);
const MIRROR = process.env["TEST_AWS_MIRROR"] ?? "/opt/tf-plugins";
const PROVIDER = "registry.terraform.io/hashicorp/aws/5.100.0";
const SHAPES = join(import.meta.dirname, "shapes");
const LIMIT_MS = 5 * 60_000;
/** So many commits in a row plan all shapes. */
const PARTS = 3;

const RC = `
provider_installation {
  filesystem_mirror {
    path    = "${MIRROR}"
    include = ["registry.terraform.io/hashicorp/aws"]
  }
}
`;

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** A root module that calls all of them, and has their outputs. */
function rootOf(names: readonly string[]): string {
  return names
    .map((name) => {
      const text = readFileSync(join(SHAPES, name, "main.tf"), "utf8");
      const outputs = [...text.matchAll(/^output "(\w+)"/gm)].map(
        ([, output = ""]) =>
          `output "${name}-${output}" {\n  value = module.${name}.${output}\n}\n`,
      );
      return `module "${name}" {\n  source = "./${name}"\n}\n${outputs.join("")}`;
    })
    .join("");
}

it("modules as people call them are valid and planned like by the reference command", {
  timeout: 1_200_000,
}, async (ctx) => {
  ctx.skip(!existsSync(join(MIRROR, PROVIDER)), `no mirror at ${MIRROR} has ${PROVIDER}`);
  const terraform = process.env["TEST_TERRAFORM"] ?? "terraform";
  const version = await run(terraform, ["version"]).catch(() => undefined);
  ctx.skip(version === undefined, `${terraform} cannot be run on this machine`);
  const names = rotatingSlice(
    readdirSync(SHAPES).filter((name) => name !== "shared"),
    PARTS,
  );
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-aws-"));
  const rc = join(scratch.path, "rc");
  await writeFile(rc, RC);
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: scratch.path,
    TF_CLI_CONFIG_FILE: rc,
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
  };
  const started = async (folder: string, [program = "", ...first]: readonly string[]) => {
    const cwd = join(scratch.path, folder);
    await mkdir(cwd);
    for (const name of names) await cp(join(SHAPES, name), join(cwd, name), { recursive: true });
    await cp(join(SHAPES, "shared"), cwd, { recursive: true });
    await writeFile(join(cwd, "main.tf"), rootOf(names));
    const options = { cwd, env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
    return async (...words: string[]): Promise<Ended> =>
      run(program, [...first, ...words], options).then(
        ({ stdout }) => ({ code: 0, output: stdout }),
        ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
          code,
          output: stdout + stderr,
        }),
      );
  };
  const theirs = await started("theirs", [terraform]);
  const ours = await started("ours", COMMAND);

  expect(await theirs("init", "-input=false")).toMatchObject({ code: 0 });
  expect(await theirs("plan", "-input=false", "-out=p")).toMatchObject({ code: 0 });
  const expected = objectOf(parseExact((await theirs("show", "-json", "p")).output));
  expect(await ours("init")).toMatchObject({ code: 0 });
  expect(await ours("validate")).toMatchObject({ code: 0 });
  expect(await ours("plan", "--out", "p")).toMatchObject({ code: 0 });
  const shown = objectOf(parseExact((await ours("show", "--json", "p")).output));
  const changes = byAddress(expected.resource_changes);
  expect(changes.size).toBeGreaterThanOrEqual(names.length);
  expect(byAddress(shown.resource_changes)).toEqual(changes);
  expect(shown.output_changes).toEqual(expected.output_changes);
  expect(objectOf(shown.planned_values).outputs).toEqual(objectOf(expected.planned_values).outputs);
});

/** The changes, without values that are sensitive: our command shows none. */
function byAddress(changes: Json | undefined): ReadonlyMap<string, Json> {
  return new Map(
    listOf(changes)
      .map(objectOf)
      .map(({ address, change }) => {
        const { after, after_sensitive: secret, ...rest } = objectOf(change);
        return [
          textOf(address),
          { ...rest, after: hidden(after, secret), after_sensitive: secret ?? null },
        ];
      }),
  );
}

function hidden(value: Json | undefined, secret: Json | undefined): Json {
  if (secret === true || value === undefined) return null;
  if (Array.isArray(value))
    return value.map((item, at) => hidden(item as Json, listOf(secret)[at]));
  if (value === null || typeof value !== "object" || !isMembers(secret)) return value;
  const members = objectOf(secret);
  return Object.fromEntries(
    Object.entries(objectOf(value)).map(([name, one]) => [name, hidden(one, members[name])]),
  );
}

function isMembers(secret: Json | undefined): boolean {
  return typeof secret === "object" && secret !== null && !Array.isArray(secret);
}
