import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ReferenceHelp } from "../testing/reference-help.ts";
import { referencePage } from "../testing/reference-page.ts";
import { silentProgram } from "../testing/silent-program.ts";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";
import { commandAt } from "./apply-reference-options.ts";
import { REFERENCE_OPTIONS, REFUSED_COMMANDS, type ReferenceOption } from "./reference-options.ts";

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");
const helps = ["reference-help.json", "reference-help-tofu.json"].map(
  (name) => JSON.parse(read(`../testing/${name}`)) as ReferenceHelp,
);
/** Every command of both with the names of its options. */
const listed = new Map<string, Set<string>>();
for (const { commands } of helps) {
  for (const [words, { options }] of Object.entries(commands)) {
    listed.set(words, new Set([...(listed.get(words) ?? []), ...Object.keys(options)]));
  }
}
const program = silentProgram();

/** What stands behind the words of a command that needs it. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  import: ["terraform_data.a", "one"],
  "state show": ["terraform_data.a"],
  "state mv": ["terraform_data.a", "terraform_data.b"],
  "state rm": ["terraform_data.a"],
  "state push": ["none.tfstate"],
  "state replace-provider": ["a/b", "a/c"],
  taint: ["terraform_data.a"],
  untaint: ["terraform_data.a"],
  "force-unlock": ["id"],
  "workspace new": ["w"],
  "workspace select": ["w"],
  "workspace delete": ["w"],
  "providers mirror": ["mirror"],
};

/** Commands of which only the name is known. */
const refusedCommands = Object.keys(REFUSED_COMMANDS);

/** Every option of the recorded help, and those of the table that the help does not list. */
const all = [...new Set([...listed.keys(), ...Object.keys(REFERENCE_OPTIONS)])]
  .filter((words) => !refusedCommands.includes(words))
  .flatMap((words) => {
    const names = [...(listed.get(words) ?? []), ...Object.keys(REFERENCE_OPTIONS[words] ?? {})];
    return [...new Set(names)].map((name) => ({
      words,
      name,
      treatment: REFERENCE_OPTIONS[words]?.[name],
    }));
  });

/** An option as users write it. */
function written(name: string, treatment: ReferenceOption | undefined): string {
  if (treatment === undefined || treatment.kind === "same") return `-${name}`;
  return `-${name}${{ flag: "", negated: "=false", value: "=x" }[treatment.form]}`;
}

async function run(words: string, options: readonly string[]): Promise<CommandResult> {
  const cwd = await mkdtemp(join(tmpdir(), "stackwright-matrix-"));
  try {
    await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" {}\n');
    return await tryCommand([...words.split(" "), ...options, ...(ARGUMENTS[words] ?? [])], {
      cwd,
    });
  } finally {
    await rm(cwd, { recursive: true, force: true, maxRetries: 3 });
  }
}

describe("the commands of the reference command", () => {
  it.each([...listed.keys()])("%s is a command here, or refused by name", (words) => {
    expect(commandAt(program, words)).toBeDefined();
    expect([...Object.keys(REFERENCE_OPTIONS), ...refusedCommands]).toContain(words);
  });

  it.each(refusedCommands)("%s is refused by name where it is not declared", async (name) => {
    const isDeclared = commandAt(program, name)?.options.some(({ long }) => long === "--no-color");
    if (isDeclared === true) return;
    const { code, error } = await tryCommand([name, "-anything", "x"]);
    expect(code).toBe(1);
    expect(error).toContain(`The command "${name}" is not available`);
  });
});

describe("the options of the reference command", () => {
  it.each(all)("$words -$name is declared as the table says", ({ words, name, treatment }) => {
    expect(treatment, `${words} -${name} is not in the table`).toBeDefined();
    const known = commandAt(program, words)?.options.map(({ long }) => long) ?? [];
    const found = known.filter((long) => long === `--${name}` || long === `--no-${name}`);
    expect(found).toHaveLength(1);
  });

  it.each(all.filter(({ treatment }) => treatment?.kind === "refused"))(
    "$words -$name is refused with what to use instead",
    async ({ words, name, treatment }) => {
      const { code, error } = await run(words, [written(name, treatment)]);
      expect(code).toBe(1);
      expect(error).toContain(`"-${name}`);
      expect(treatment?.kind === "refused" && error.includes(treatment.instead)).toBe(true);
    },
  );

  it.each(Object.keys(REFERENCE_OPTIONS))(
    "%s reports the options without effect",
    async (words) => {
      const own = all.filter((one) => one.words === words);
      const quiet = own.filter(({ treatment }) => treatment?.kind === "mapped");
      const ignored = own.filter(({ treatment }) => treatment?.kind === "ignored");
      if (quiet.length + ignored.length === 0) return;
      const given = [...quiet, ...ignored].map(({ name, treatment }) => written(name, treatment));
      const { error } = await run(words, given);
      expect(error).not.toContain("unknown option");
      for (const { name, treatment } of ignored) {
        const text = treatment?.kind === "ignored" ? treatment.because : "";
        expect(error).toMatch(new RegExp(`Note: the option "-${name}(?:=false)?" has no effect`));
        expect(error).toContain(text);
      }
      for (const { name } of quiet) expect(error).not.toMatch(new RegExp(`"-${name}(?:=false)?"`));
    },
  );

  it("are all in the manual", () => {
    expect(read("../../docs/terraform-commands.md")).toBe(referencePage());
  });
});
