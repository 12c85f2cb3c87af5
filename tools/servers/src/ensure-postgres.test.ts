import { describe, expect, it } from "vitest";
import { ensurePostgres, type Machine } from "./ensure-postgres.ts";
import type { PostgresInstallation } from "./postgres-installation.ts";

const DEBIAN: PostgresInstallation = { version: "15.1", major: 15, bin: "/d", source: "system" };
const NPM: PostgresInstallation = { version: "18.1", major: 18, bin: "/n", source: "npm" };

/** A machine on which `apt-get install` brings `after`, unless a step has a problem. */
function machine(options: {
  readonly before?: readonly PostgresInstallation[];
  readonly after?: readonly PostgresInstallation[];
  readonly isRoot?: boolean;
  readonly problems?: Readonly<Record<string, string>>;
}): { machine: Machine; steps: string[] } {
  const steps: string[] = [];
  let installed = options.before ?? [];
  return {
    steps,
    machine: {
      isRoot: options.isRoot ?? true,
      findPostgres: () => installed,
      aptGet: ([verb = ""]) => {
        steps.push(verb);
        const problem = options.problems?.[verb];
        if (verb === "install" && problem === undefined) installed = options.after ?? [];
        return problem;
      },
    },
  };
}

function run(options: Parameters<typeof machine>[0]) {
  const { machine: here, steps } = machine(options);
  const said: string[] = [];
  const found = ensurePostgres((text) => said.push(text), here);
  return { found, steps, last: said.at(-1) };
}

describe("ensurePostgres", () => {
  it("does nothing where it is installed", () => {
    expect(run({ before: [DEBIAN, NPM] })).toEqual({ found: DEBIAN, steps: [], last: undefined });
  });

  it("installs it beside the one of the npm package", () => {
    const { found, steps } = run({ before: [NPM], after: [DEBIAN, NPM] });
    expect([found, steps]).toEqual([DEBIAN, ["--version", "update", "install"]]);
  });

  it("does not try without root", () => {
    const { found, steps, last } = run({ isRoot: false, after: [DEBIAN] });
    expect([found, steps]).toEqual([undefined, []]);
    expect(last).toContain("as root would add it");
  });

  it("does not try where there is no apt-get", () => {
    const { found, last } = run({ problems: { "--version": "ENOENT" }, after: [DEBIAN] });
    expect(found).toBeUndefined();
    expect(last).toContain("PostgreSQL is not installed");
  });

  it.each(["update", "install"])("stops when %s fails and says why", (verb) => {
    const { found, steps, last } = run({ problems: { [verb]: "no space left" }, after: [DEBIAN] });
    expect([found, steps.at(-1)]).toEqual([undefined, verb]);
    expect(last).toBe(`PostgreSQL could not be installed: apt-get ${verb}: no space left`);
  });

  it("says so when the package brought no server", () => {
    expect(run({ after: [NPM] }).last).toContain("not where they belong");
  });
});
