import { describe, expect, it } from "vitest";
import { ensurePrograms, type Machine } from "./debian-packages.ts";

const PROGRAMS = ["docker", "dockerd", "debootstrap"];

/** A machine with some programs, where a package of Debian brings others. */
function machine(has: readonly string[], brings: readonly string[] = []) {
  const there = new Set(has);
  const calls: string[] = [];
  const made: Machine = {
    isRoot: true,
    has: (program) => there.has(program),
    aptGet: async (args) => {
      calls.push(args.join(" "));
      for (const program of brings) there.add(program);
    },
  };
  return { made, calls };
}

describe("ensurePrograms", () => {
  const said: string[] = [];
  const say = (text: string) => void said.push(text);

  it("does nothing where all are there", async () => {
    const { made, calls } = machine(PROGRAMS);
    expect(await ensurePrograms(PROGRAMS, say, made)).toBe(undefined);
    expect(calls).toEqual([]);
  });

  it("installs the packages of those that are missing", async () => {
    const { made, calls } = machine(["apt-get", "docker"], PROGRAMS);
    expect(await ensurePrograms(PROGRAMS, say, made)).toBe(undefined);
    expect(calls).toEqual([
      "update -qq",
      "install -y -qq --no-install-recommends docker.io debootstrap",
    ]);
  });

  it.each([
    ["another user", { isRoot: false }, /only root/],
    ["another system", { has: () => false }, /no apt-get/],
    ["no network", { aptGet: async () => Promise.reject(new Error("no route")) }, /no route/],
    ["packages that bring nothing", {}, /missing after/],
  ])("says why not: %s", async (_, change, why) => {
    const { made } = machine(["apt-get"]);
    expect(await ensurePrograms(PROGRAMS, say, { ...made, ...change })).toMatch(why);
  });
});
