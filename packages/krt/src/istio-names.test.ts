import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

/** What stands for the names of Istio in the README: texts of code in the second column of its table. */
function ourNames(): readonly string[] {
  const [, section = ""] = read("../README.md").split("\n## Names in Istio's krt\n");
  const [table = ""] = section.split("\n## ");
  return table
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[2] ?? "").matchAll(/`([^`]+)`/g)])
    .map(([, code = ""]) => code);
}

/** Names that entries export, and members of what they describe. */
function declaredNames(): ReadonlySet<string> {
  const entries = readdirSync(new URL("./", import.meta.url), { withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map(({ name }) => `./${name}/index.ts`)
    .filter((path) => path !== "./core/index.ts" && isThere(path));
  const exported = ["./index.ts", ...entries].flatMap((path) =>
    [...read(path).matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names = ""]) =>
      names.split(",").map((name) => name.trim()),
    ),
  );
  const members = ["scope", "collection", "context", "kind", "secondary-index", "external"].flatMap(
    (file) =>
      [...read(`./${file}.ts`).matchAll(/^ {2}(?:readonly )?([a-zA-Z]+)\??[<(:]/gm)].map(
        ([, name = ""]) => name,
      ),
  );
  const ofRuntime = read("./runtime.ts").matchAll(/^ {2}(?:readonly )?([a-zA-Z]+)\??[<(:]/gm);
  return new Set([...exported, ...members, ...[...ofRuntime].map(([, name = ""]) => name)]);
}

function isThere(path: string): boolean {
  try {
    return read(path) !== "";
  } catch {
    return false;
  }
}

/** Names of examples, and words of the language. */
const OTHERS = new Set(["rt", "ctx", "object", "collection", "groups", "true", "undefined"]);

it("what the README names for the names of Istio is there", () => {
  const names = ourNames();
  expect(names.length).toBeGreaterThan(60);
  const declared = declaredNames();
  const { exports } = JSON.parse(read("../package.json")) as { exports: Record<string, string> };
  for (const code of names) {
    if (code.startsWith("@stackwright/krt/")) {
      expect(Object.keys(exports), code).toContain(code.replace("@stackwright/krt", "."));
      continue;
    }
    for (const name of code.match(/[a-zA-Z]+/g) ?? []) {
      if (!OTHERS.has(name)) expect(declared, code).toContain(name);
    }
  }
});
