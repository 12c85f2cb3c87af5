import type { StackStatus, StackStatusChange } from "@stackwright/client";
import { expect, it, vi } from "vitest";
import { StackStore } from "./stack-store.ts";

const one: StackStatus = {
  id: "1",
  project: "p",
  name: "one",
  waiting: 0,
  outdated: [],
  reads: [],
};

it("says why the stream was refused, and forgets it when it is followed again", async () => {
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setImmediate(run));
  try {
    const store = new StackStore();
    const refusal = new Error("refused");
    const { signal } = new AbortController();
    // oxlint-disable-next-line require-yield -- it fails at once
    async function* refused(): AsyncGenerator<StackStatusChange> {
      throw refusal;
    }
    async function* answered(): AsyncGenerator<StackStatusChange> {
      yield { topic: "stacks", type: "snapshot", set: [one], delete: [] };
    }
    await store.follow({ watchStacks: refused }, signal);
    await expect.poll(() => store.snapshot().error).toBe(refusal);
    expect(store.snapshot()).toMatchObject({ state: "failed", isLoaded: false });
    await store.follow({ watchStacks: answered }, signal);
    await expect.poll(() => store.snapshot().isLoaded).toBe(true);
    expect(store.snapshot()).toMatchObject({ state: "live", error: undefined, stacks: [one] });
  } finally {
    vi.unstubAllGlobals();
  }
});
