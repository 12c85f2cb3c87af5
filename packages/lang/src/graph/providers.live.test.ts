import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { VersionConstraints } from "@stackwright/provider-source";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadModuleTree } from "../config/load-tree.ts";
import { hasErrors } from "../syntax/diagnostic.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { requireTerraform } from "../testing/terraform-command.ts";
import { resolveProviders } from "./resolve-providers.ts";

/*
 * Random declarations and uses of providers in two modules, compared with the reference command:
 * which are refused, and which module requires which versions of what.
 */

const name = fc.constantFrom("p", "q");
const reference = fc.constantFrom("p", "p.w", "q", "r");
const requirement = (aliases: boolean): fc.Arbitrary<string> =>
  fc
    .record({
      name,
      source: fc.constantFrom("x/one", "x/one", "y/two"),
      version: fc.option(fc.constantFrom("1.0", ">= 1.0", "~> 1.2, != 1.5"), { nil: undefined }),
      alias: fc.option(fc.constant("w"), { nil: undefined, freq: 2 }),
    })
    .map((r) => {
      const version = r.version === undefined ? "" : `      version = "${r.version}"\n`;
      const needs =
        r.alias !== undefined && aliases ? `      configuration_aliases = [${r.name}.w]\n` : "";
      return `    ${r.name} = {\n      source = "${r.source}"\n${version}${needs}    }\n`;
    });

function requirements(aliases: boolean): fc.Arbitrary<string> {
  return fc
    .uniqueArray(requirement(aliases), { maxLength: 2, selector: (text) => text.trim().charAt(0) })
    .map((all) =>
      all.length === 0 ? "" : `terraform {\n  required_providers {\n${all.join("")}  }\n}\n`,
    );
}

const blocks = fc
  .subarray([
    'provider "p" { a = 1 }\n',
    'provider "p" {\n  alias = "w"\n  a = 1\n}\n',
    'provider "q" {}\n',
  ])
  .map((all) => all.join(""));

const resources = fc.array(fc.option(reference, { nil: undefined }), { maxLength: 2 }).map((all) =>
  all
    .map((of, at) => {
      const provider = of === undefined ? "" : `  provider = ${of}\n`;
      return `resource "p_thing" "r${at}" {\n${provider}}\n`;
    })
    .join(""),
);

const files = fc
  .record({
    root: fc.tuple(requirements(false), blocks, resources),
    passed: fc.option(
      fc.uniqueArray(fc.tuple(fc.constantFrom("p", "p.w", "q"), fc.constantFrom("p", "p.w", "q")), {
        maxLength: 2,
        selector: ([inside]) => inside,
      }),
      { nil: undefined },
    ),
    child: fc.tuple(
      requirements(true),
      fc.oneof(fc.constant(""), fc.constant(""), blocks),
      resources,
    ),
  })
  .map(({ root, passed, child }): Record<string, string> => {
    const map = passed?.map(([inside, outside]) => `    ${inside} = ${outside}\n`).join("");
    const providers = map === undefined ? "" : `  providers = {\n${map}  }\n`;
    return {
      "main.tf": `${root.join("")}module "m" {\n  source = "./child"\n${providers}}\n`,
      "child/main.tf": `${child.join("")}locals {}\n`,
    };
  });

/**
 * Whether a call passes a name that the caller does not declare, though it declares others. Ours is
 * refused where the providers differ; the command only warns then, and fails when it plans.
 */
function passesUndeclared(main: string): boolean {
  const declared = [...main.matchAll(/^ {4}(\w) = \{$/gm)].map(([, local]) => local);
  const passed = [...main.matchAll(/^ {4}[\w.]+ = (\w)(?:\.w)?$/gm)].map(([, local]) => local);
  return declared.length > 0 && passed.some((local) => !declared.includes(local));
}

/**
 * Whether a call passes a configuration of one name as another name that the caller declares as well. The command takes
 * its source from the entry of the wrong name, so that it refuses what fits and passes over what does not.
 */
function passesByAnotherName(main: string): boolean {
  const declared = [...main.matchAll(/^ {4}(\w) = \{$/gm)].map(([, local]) => local);
  const passed = [...main.matchAll(/^ {4}(\w)(?:\.w)? = (\w)(?:\.w)?$/gm)];
  return passed.some(([, inside, outside]) => inside !== outside && declared.includes(inside));
}

function commandRequirements(command: string, folder: string): string[] | "refused" {
  const env = { ...process.env, TF_CLI_CONFIG_FILE: "/dev/null", CHECKPOINT_DISABLE: "1" };
  const run = (...args: string[]): ReturnType<typeof spawnSync> =>
    spawnSync(command, [...args, "-no-color"], { cwd: folder, encoding: "utf8", env });
  run("get");
  const { status, stdout } = run("providers");
  if (status !== 0) return "refused";
  let module = "";
  const found: string[] = [];
  for (const [, what = "", text = "", version = ""] of String(stdout).matchAll(
    /── (provider\[|module\.)([^\]\n]+)\]?[ ]?(.*)$/gm,
  )) {
    if (what === "module.") module = text;
    else found.push(`${module}: ${text} ${version}`.trimEnd());
  }
  return found;
}

/** What the command notices later, when it looks for providers or plans. */
const LATER = new Set([
  "Conflicting provider version constraints",
  "Provider configuration not present",
]);

async function ourRequirements(given: Record<string, string>): Promise<string[] | "refused"> {
  const { root, diagnostics } = await loadModuleTree(memoryBundle(given));
  const resolution = resolveProviders(root);
  const problems = resolution.diagnostics.filter(({ summary }) => !LATER.has(summary));
  if (hasErrors([...diagnostics, ...problems])) return "refused";
  const versions = new Map<string, VersionConstraints>();
  for (const { address, from } of resolution.requirements.values()) {
    for (const { module, constraints } of from) {
      const key = `${module.path.join(".")}: ${address.toString()}`;
      const known = versions.get(key) ?? VersionConstraints.any;
      versions.set(key, VersionConstraints.intersection(known, constraints));
    }
  }
  return [...versions].map(([key, constraints]) => `${key} ${constraints.toString()}`.trimEnd());
}

describe("providers, compared with the command", () => {
  it("are refused and required alike", { timeout: 1_800_000 }, async (context) => {
    const terraform = requireTerraform(context);
    const numRuns = Math.max(10, Math.round(15 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
    await context.annotate(`${numRuns} configurations`, "count");
    await fc.assert(
      fc.asyncProperty(files, async (given) => {
        const main = given["main.tf"] ?? "";
        fc.pre(!passesUndeclared(main) && !passesByAnotherName(main));
        const folder = mkdtempSync(join(tmpdir(), "providers-"));
        try {
          for (const [path, text] of Object.entries(given)) {
            mkdirSync(dirname(join(folder, path)), { recursive: true });
            writeFileSync(join(folder, path), text);
          }
          const expected = commandRequirements(terraform, folder);
          const actual = await ourRequirements(given);
          const sorted = (all: string[] | "refused"): unknown =>
            all === "refused" ? all : all.toSorted();
          expect(sorted(actual)).toEqual(sorted(expected));
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns },
    );
  });
});
