import { describe, expect, it } from "vitest";
import { ensureDebianProgram } from "./ensure-debian-program.ts";

function run(options: {
  readonly has?: boolean;
  readonly isRoot?: boolean;
  readonly problems?: Readonly<Record<string, string>>;
}) {
  const steps: string[] = [];
  const said: string[] = [];
  let has = options.has ?? false;
  const found = ensureDebianProgram("tmux", (text) => said.push(text), {
    isRoot: options.isRoot ?? true,
    has: () => has,
    aptGet: ([verb = ""]) => {
      steps.push(verb);
      const problem = options.problems?.[verb];
      if (verb === "install" && problem === undefined) has = true;
      return problem;
    },
  });
  return { found, steps, last: said.at(-1) };
}

describe("ensureDebianProgram", () => {
  it("does nothing where it is there", () => {
    expect(run({ has: true })).toEqual({ found: true, steps: [], last: undefined });
  });

  it("installs it where it is missing", () => {
    expect(run({})).toMatchObject({ found: true, steps: ["--version", "update", "install"] });
  });

  it("says what would add it to those who are not root, or have no apt-get", () => {
    expect(run({ isRoot: false })).toMatchObject({ found: false, steps: [] });
    const { found, last } = run({ problems: { "--version": "ENOENT" } });
    expect([found, last]).toEqual([false, expect.stringContaining("as root would add it")]);
  });

  it("says why an installation failed", () => {
    expect(run({ problems: { install: "no space left" } }).last).toBe(
      "tmux could not be installed: apt-get install: no space left",
    );
  });
});
