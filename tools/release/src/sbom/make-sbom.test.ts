import { readdirSync, readFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { expect, it } from "vitest";
import { allowedLicenses, licenseProblem } from "./licenses.ts";
import { makeSbom } from "./make-sbom.ts";

const ROOT = join(import.meta.dirname, "../../../..");

async function bill(): Promise<string> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-bill-"));
  await makeSbom({
    root: ROOT,
    output: scratch.path,
    version: "1.2.3",
    commit: "0123456789012345678901234567890123456789",
    time: new Date("2026-01-02T03:04:05Z"),
    nodes: [],
  });
  const [name = ""] = readdirSync(scratch.path);
  expect(name).toBe("stackwright-1.2.3.cdx.json");
  return readFileSync(join(scratch.path, name), "utf8");
}

it("is a bill of CycloneDX with all that is published and what it needs, the same twice", async () => {
  const text = await bill();
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(text)).toBeNull();
  const { components, dependencies } = JSON.parse(text) as {
    readonly components: readonly { readonly purl: string; readonly hashes?: object[] }[];
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: string[] }[];
  };
  const names = components.map(({ purl }) => purl.replace(/@[^@]*$/, ""));
  expect(names).toContain("pkg:npm/%40stackwright/lang");
  expect(names).toContain("pkg:npm/fastify");
  // Bundled, so no package of the lock file needs it to run.
  expect(names).toContain("pkg:npm/react");
  expect(names).not.toContain("pkg:npm/vitest");
  expect(components.map(({ purl }) => purl)).toContain(`pkg:generic/node@${process.versions.node}`);
  const refs = new Set(dependencies.map(({ ref }) => ref));
  expect(
    dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref)),
  ).toEqual([]);
  expect(await bill()).toBe(text);
});

it("refuses licenses that are not allowed, and takes one of several that are offered", () => {
  const allowed = allowedLicenses(ROOT);
  const one = { name: "a", version: "1.0.0", integrity: "", needs: [] };
  expect(licenseProblem(one, "MIT", allowed)).toBeUndefined();
  expect(licenseProblem(one, "(MIT OR GPL-3.0)", allowed)).toBeUndefined();
  expect(licenseProblem(one, "MIT AND GPL-3.0", allowed)).toBe("a@1.0.0 is under MIT AND GPL-3.0");
  expect(licenseProblem(one, "AGPL-3.0", allowed)).toBe("a@1.0.0 is under AGPL-3.0");
  expect(licenseProblem(one, undefined, allowed)).toBe("a@1.0.0 does not state its license");
});
