import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newestSection, pendingChangesets, trialSection } from "./changelog.ts";
import { publishedPackages } from "./packages.ts";

const ROOT = join(import.meta.dirname, "../../..");

it("takes the newest version of a package", () => {
  const changelog =
    "# @stackwright/krt\n\n## 0.2.0\n\n### Minor Changes\n\n- b\n\n## 0.1.0\n\n- a\n";
  expect(newestSection(changelog)).toBe("## @stackwright/krt 0.2.0\n\n### Minor Changes\n\n- b\n");
});

it("a trial says in its changelog the version that its packages have", () => {
  const section = "## @stackwright/krt 0.2.0\n\n### Minor Changes\n\n- b\n";
  expect(trialSection(section, "0.1.0")).toBe(
    section.replace("0.2.0", "0.1.0 (trial, not released)"),
  );
});

it("changesets name packages that are published", () => {
  const names = publishedPackages(ROOT).map(
    (folder) =>
      (JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as { name: string })
        .name,
  );
  const unknown = pendingChangesets(ROOT).flatMap((path) =>
    Array.from(
      readFileSync(join(ROOT, path), "utf8").matchAll(/^"?([^":\n]+)"?: (?:patch|minor|major)$/gm),
      ([, name = ""]) => (names.includes(name) ? [] : [`${path}: ${name}`]),
    ).flat(),
  );
  expect(unknown).toEqual([]);
});
