import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { isStackName, StackDirectory } from "./stack-directory.ts";
import { NO_MIRROR, type StackOrigin } from "./stack-origin.ts";

const project = { account: "acme", project: "web" };

describe("stacks by their names", () => {
  it("get an id once and keep it", async () => {
    await using storage = createMemoryStorage();
    const stacks = new StackDirectory({ storage });
    const first = await stacks.ensure(project, "prod");
    const again = await new StackDirectory({ storage }).ensure(project, "prod");
    expect(again).toEqual(first);
    expect(first.reference).toMatchObject({ account: "acme", project: "web" });
  });

  it("are one where two make the same at once", async () => {
    await using storage = createMemoryStorage();
    const made = await Promise.all(
      Array.from({ length: 8 }, async () =>
        new StackDirectory({ storage }).ensure(project, "prod"),
      ),
    );
    expect(new Set(made.map(({ reference }) => reference.stack)).size).toBe(1);
  });

  it("are listed by name, and only those of the project", async () => {
    await using storage = createMemoryStorage();
    const stacks = new StackDirectory({ storage });
    await stacks.ensure(project, "prod");
    await stacks.ensure(project, "dev");
    await stacks.ensure({ ...project, project: "other" }, "prod");
    expect((await stacks.list(project)).map(({ name }) => name)).toEqual(["dev", "prod"]);
  });

  it("are read in pages by name, of which the last one has no next", async () => {
    await using storage = createMemoryStorage();
    const stacks = new StackDirectory({ storage });
    for (const name of ["e", "b", "A", "d", "c"]) await stacks.ensure(project, name);
    const pages: string[][] = [];
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page: Awaited<ReturnType<typeof stacks.page>> = await stacks.page(project, {
        limit: 2,
        after,
      });
      pages.push(page.stacks.map(({ name }) => name));
      after = page.next;
    }
    expect(pages).toEqual([["A", "b"], ["c", "d"], ["e"]]);
    expect(await stacks.page(project, { limit: 5, after: "" })).not.toHaveProperty("next");
    expect(await stacks.page(project, { limit: 5, after: "e" })).toEqual({ stacks: [] });
  });

  it("are gone when they are removed", async () => {
    await using storage = createMemoryStorage();
    const stacks = new StackDirectory({ storage });
    const first = await stacks.ensure(project, "prod");
    await stacks.remove(first);
    expect(await stacks.find(project, "prod")).toBeUndefined();
    const second = await stacks.ensure(project, "prod");
    expect(second.reference.stack).not.toBe(first.reference.stack);
    await stacks.remove(first);
    expect(await stacks.find(project, "prod")).toEqual(second);
  });

  it.each(["", "a b", "-x", "ä", "x".repeat(129)])("cannot be called %j", async (name) => {
    await using storage = createMemoryStorage();
    await expect(new StackDirectory({ storage }).ensure(project, name)).rejects.toMatchObject({
      code: "ENGINE_CONFIG_INVALID",
    });
  });
});

it("a name of a stack may have 128 characters", () => {
  expect(isStackName("x".repeat(128))).toBe(true);
  expect(isStackName("a.b_c-D9")).toBe(true);
});

const STATE = {
  kind: "state",
  timeMs: 1_000,
  actor: "ann",
  lineage: "L1",
  serial: 7n,
  backend: "s3",
  place: "s3://bucket/key",
  placeDigest: "P1",
  workspace: "default",
  sha256: "ab",
  terraformVersion: "1.11.4",
  acceptedChanges: 2,
  lockId: "lock",
  renamedTo: "renamed",
  mirror: {
    enabled: true,
    revision: 3n,
    serial: 4n,
    timeMs: 5_000,
    problem: "no",
    sha256: "cd",
    previousSha256: "ef",
  },
  handedBack: false,
} as const satisfies StackOrigin;

const FRESH = {
  kind: "fresh",
  timeMs: 1_000,
  actor: "ann",
  evidence: ["terraform.tfstate"],
  forced: true,
} as const satisfies StackOrigin;

/** A store with a directory that counts its own ids and has a clock. */
function start() {
  const storage = createMemoryStorage();
  let ids = 0;
  const stacks = new StackDirectory({ storage, nextId: () => `id${++ids}`, wallMs: () => 4_321 });
  return { storage, stacks };
}

describe("where the objects of a stack come from", () => {
  it.each<[string, StackOrigin]>([
    ["another command's state", STATE],
    ["a state without a mirror", { ...STATE, mirror: NO_MIRROR }],
    ["nothing", FRESH],
  ])("is recorded as %s, with the stack where there was none", async (_what, origin) => {
    const { stacks } = start();
    const recorded = await stacks.recordOrigin(project, "prod", origin);
    expect(recorded).toMatchObject({ name: "prod", createdAtMs: 4_321, adoption: origin });
    expect(await stacks.find(project, "prod")).toEqual(recorded);
  });

  it("changes nothing else of the stack", async () => {
    const { stacks } = start();
    const first = await stacks.ensure(project, "prod");
    expect(first.adoption).toBeUndefined();
    expect(await stacks.recordOrigin(project, "prod", FRESH)).toEqual({
      ...first,
      adoption: FRESH,
    });
  });

  it("is recorded by all who record it at once, one after the other", async () => {
    const { stacks } = start();
    const all = Array.from({ length: 5 }, async (_, at) =>
      stacks.recordOrigin(project, "prod", { ...FRESH, actor: `u${at}` }),
    );
    expect(new Set((await Promise.all(all)).map(({ adoption }) => adoption?.actor)).size).toBe(5);
  });
});

describe("a stack that was written before it had a name", () => {
  it("gets the name, with the state that it has adopted", async () => {
    const { stacks } = start();
    const bound = { stack: "S1", replaces: undefined, origin: STATE };
    const stack = await stacks.bind(project, "prod", bound);
    expect(stack).toEqual({
      name: "prod",
      reference: { ...project, stack: "S1" },
      description: "",
      createdAtMs: 4_321,
      adoption: STATE,
    });
    expect(await stacks.find(project, "prod")).toEqual(stack);
    expect(await stacks.findAdopter(project, { lineage: "L1" })).toEqual(stack);
    expect(await stacks.findAdopter(project, { placeDigest: "P1" })).toEqual(stack);
    expect(await stacks.findAdopter(project, { lineage: "L2" })).toBeUndefined();
    expect(await stacks.findAdopter(project, { placeDigest: "L1" })).toBeUndefined();
    expect(
      await stacks.findAdopter({ ...project, project: "x" }, { lineage: "L1" }),
    ).toBeUndefined();
  });

  it("takes the name of the stack that it replaces, and its time", async () => {
    const { storage, stacks } = start();
    const earlier = new StackDirectory({ storage, wallMs: () => 1_111 });
    const replaces = await earlier.ensure(project, "prod");
    const stack = await stacks.bind(project, "prod", { stack: "S1", replaces, origin: FRESH });
    expect(stack).toMatchObject({
      reference: { stack: "S1" },
      createdAtMs: 1_111,
      adoption: FRESH,
    });
  });

  it("does not take the name of a stack that another process made meanwhile", async () => {
    const { stacks } = start();
    const other = await stacks.ensure(project, "prod");
    const bound = { stack: "S1", replaces: undefined, origin: FRESH };
    await expect(stacks.bind(project, "prod", bound)).rejects.toMatchObject({
      code: "ENGINE_STATE_NOT_EMPTY",
      message: 'another process wrote the stack "prod" at the same time',
    });
    expect(await stacks.find(project, "prod")).toEqual(other);
  });

  it("does not take the place of one that is gone", async () => {
    const { stacks } = start();
    const replaces = await stacks.ensure(project, "prod");
    await stacks.remove(replaces);
    const binding = stacks.bind(project, "prod", { stack: "S1", replaces, origin: FRESH });
    await expect(binding).rejects.toMatchObject({ code: "ENGINE_STATE_NOT_EMPTY" });
  });

  it("does not get a name that is none", async () => {
    const { stacks } = start();
    const bound = { stack: "S1", replaces: undefined, origin: FRESH };
    await expect(stacks.bind(project, "a b", bound)).rejects.toMatchObject({
      code: "ENGINE_CONFIG_INVALID",
    });
  });

  it("is one of those that bind the name at once", async () => {
    const { stacks } = start();
    const all = ["S1", "S2", "S3"].map(async (stack) =>
      stacks.bind(project, "prod", { stack, replaces: undefined, origin: STATE }),
    );
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect(outcome.reason).toMatchObject({ code: "ENGINE_STATE_NOT_EMPTY" });
      }
    }
  });
});

describe("an adopted state", () => {
  const adopt = async ({ stacks }: ReturnType<typeof start>, name: string, origin: StackOrigin) =>
    stacks.bind(project, name, { stack: `S-${name}`, replaces: undefined, origin });

  it("belongs to one stack of a project", async () => {
    const test = start();
    await adopt(test, "one", STATE);
    await expect(adopt(test, "two", STATE)).rejects.toMatchObject({
      code: "ENGINE_STATE_ADOPTED",
      message: 'the stack "one" has adopted the state with lineage L1',
    });
    expect(await test.stacks.find(project, "two")).toBeUndefined();
    expect((await test.stacks.findAdopter(project, { lineage: "L1" }))?.name).toBe("one");
  });

  it("may belong to stacks of several projects", async () => {
    const test = start();
    await adopt(test, "one", STATE);
    const other = { ...project, project: "other" };
    const bound = { stack: "S9", replaces: undefined, origin: STATE };
    expect((await test.stacks.bind(other, "two", bound)).name).toBe("two");
  });

  it("is free again once it was handed back", async () => {
    const test = start();
    await adopt(test, "one", STATE);
    await test.stacks.recordOrigin(project, "one", { ...STATE, handedBack: true });
    for (const state of [{ lineage: "L1" }, { placeDigest: "P1" }]) {
      expect(await test.stacks.findAdopter(project, state)).toBeUndefined();
    }
    await adopt(test, "two", STATE);
    for (const state of [{ lineage: "L1" }, { placeDigest: "P1" }]) {
      expect((await test.stacks.findAdopter(project, state))?.name).toBe("two");
    }
  });

  it("is free again once its stack is gone, or has adopted another one", async () => {
    const test = start();
    await test.stacks.remove(await adopt(test, "one", STATE));
    expect(await test.stacks.findAdopter(project, { lineage: "L1" })).toBeUndefined();
    await adopt(test, "two", STATE);
    await test.stacks.recordOrigin(project, "two", { ...STATE, lineage: "L2", placeDigest: "P2" });
    for (const state of [{ lineage: "L1" }, { placeDigest: "P1" }]) {
      expect(await test.stacks.findAdopter(project, state)).toBeUndefined();
    }
    expect((await adopt(test, "three", STATE)).name).toBe("three");
  });

  it("without a lineage or a place belongs to nothing", async () => {
    const test = start();
    await adopt(test, "one", { ...STATE, lineage: "" });
    await adopt(test, "two", { ...STATE, lineage: "" });
    expect(await test.stacks.findAdopter(project, { lineage: "" })).toBeUndefined();
    await adopt(test, "three", { ...STATE, placeDigest: "" });
    expect(await test.stacks.findAdopter(project, { placeDigest: "" })).toBeUndefined();
    expect((await test.stacks.findAdopter(project, { lineage: "L1" }))?.name).toBe("three");
  });
});

it("the stacks of an account are those of all its projects", async () => {
  const { stacks } = start();
  await stacks.ensure(project, "a");
  await stacks.ensure({ ...project, project: "other" }, "b");
  await stacks.ensure({ ...project, account: "x" }, "c");
  expect((await stacks.listAccount("acme")).map(({ name }) => name).toSorted()).toEqual(["a", "b"]);
});
