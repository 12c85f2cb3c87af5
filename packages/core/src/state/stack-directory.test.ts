import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { StackDirectory } from "./stack-directory.ts";

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
