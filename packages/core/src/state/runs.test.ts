import { systemClock } from "@stackwright/base/clock";
import { Run as RunMessage } from "@stackwright/proto/stackwright";
import { createUlidGenerator, type StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { decodeKind, memberId, STATE_KINDS } from "./kinds.ts";
import { cleanUpRuns } from "./run-cleanup.ts";
import {
  createRuns,
  FIRST_PHASES,
  isRunTransition,
  RUN_TRANSITIONS,
  type RunPhase,
  transitionRuns,
} from "./runs.ts";

function runsOf(storage = createMemoryStorage()) {
  const token = createUlidGenerator({ wallMs: () => Date.now() });
  return createRuns(TEST_STACK, { storage, scheduler: systemClock, token });
}

describe("runs", () => {
  it("of several stacks go on together or not at all", async () => {
    const storage = createMemoryStorage();
    const token = createUlidGenerator({ wallMs: () => Date.now() });
    const options = { storage, scheduler: systemClock, token };
    const all = ["A", "B", "C"].map((end) => ({
      stack: { ...TEST_STACK, stack: `01J9ZC0000000000000000STA${end}` },
      id: "r1",
    }));
    const phases = async () =>
      Promise.all(
        all.map(async ({ stack }) => (await createRuns(stack, options).read("r1"))?.phase),
      );
    for (const { stack } of all) {
      await createRuns(stack, options).create({ id: "r1", cause: "user:ann" });
    }
    await transitionRuns(all, { from: "queued", to: "preparing" }, options);
    expect(await phases()).toEqual(["preparing", "preparing", "preparing"]);
    const [, , last] = all;
    if (last !== undefined) {
      await createRuns(last.stack, options).transition("r1", "preparing", "canceled");
    }
    await expect(
      transitionRuns(all, { from: "preparing", to: "planning" }, options),
    ).rejects.toMatchObject({ code: "ENGINE_STATE_TRANSITION" });
    expect(await phases()).toEqual(["preparing", "preparing", "canceled"]);
  });

  it.each([
    ["ended one of them", "canceled", "ENGINE_STATE_TRANSITION"],
    ["wrote one of them again", "queued", undefined],
  ] as const)(
    "are moved by what is stored where another writer %s just before",
    async (_what, phase, code) => {
      const inner = createMemoryStorage();
      const token = createUlidGenerator({ wallMs: () => Date.now() });
      const runs = runsOf(inner);
      for (const id of ["r1", "r2"]) await runs.create({ id, cause: "user:ann" });
      let isFirst = true;
      const storage: StorageBackend = new Proxy(inner, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== "function") return member;
          return async (...args: unknown[]): Promise<unknown> => {
            if (name === "batch" && isFirst) {
              isFirst = false;
              const id = memberId(TEST_STACK, STATE_KINDS.run, "r2");
              if (phase === "canceled") await runs.transition("r2", "queued", phase);
              else
                await inner.writeCAS({ ...(await inner.read("strong", id)), generation: "other" });
            }
            return Reflect.apply(member, target, args) as unknown;
          };
        },
      });
      const both = ["r1", "r2"].map((id) => ({ stack: TEST_STACK, id }));
      const options = { storage, scheduler: systemClock, token };
      const moving = transitionRuns(both, { from: "queued", to: "preparing" }, options);
      if (code === undefined) await moving;
      else await expect(moving).rejects.toMatchObject({ code });
      const phases = (await runs.list()).map((run) => run.phase);
      expect(phases).toEqual(code === undefined ? ["preparing", "preparing"] : ["queued", phase]);
    },
  );

  it("go from phase to phase and store what they are given", async () => {
    const runs = runsOf();
    await runs.create({ id: "r1", cause: "user:ann" });
    await runs.transition("r1", "queued", "preparing");
    await runs.transition("r1", "preparing", "planning");
    const planDocuments = { documentSha256: "d1", viewSha256: "e2" };
    await runs.transition("r1", "planning", "planned", { planDigest: "ab", planDocuments });
    await runs.transition("r1", "planned", "approved");
    await runs.transition("r1", "approved", "applying", { epoch: 4n });
    await runs.transition("r1", "applying", "partially_applied", {
      revision: 8n,
      reason: "b failed",
    });
    expect(await runs.read("r1")).toMatchObject({
      id: "r1",
      phase: "partially_applied",
      cause: "user:ann",
      planDigest: "ab",
      planDocuments,
      epoch: 4n,
      revision: 8n,
      reason: "b failed",
    });
    expect(await runs.read("r2")).toBeUndefined();
  });

  it("are made once, however many react to one cause", async () => {
    const runs = runsOf();
    const made = await Promise.all(
      [1, 2, 3].map(() => runs.create({ id: "output-x-4", cause: "output:x@4" })),
    );
    expect(new Set(made.map(({ createdAtMs }) => createdAtMs)).size).toBe(1);
    expect(await runs.list()).toHaveLength(1);
  });

  it("are moved only while the guards of the caller hold", async () => {
    const storage = createMemoryStorage();
    const runs = runsOf(storage);
    await runs.create({ id: "r1", cause: "user:ann" });
    const claim = await runs.create({ id: "claim", cause: "the claim of a worker" });
    const id = memberId(TEST_STACK, STATE_KINDS.run, claim.id);
    const { version } = await storage.read("strong", id);
    const guards = [{ id, version }];
    await runs.transition("r1", "queued", "preparing", {}, { guards });
    await runs.transition("claim", "queued", "canceled");
    await expect(
      runs.transition("r1", "preparing", "planning", {}, { guards }),
    ).rejects.toMatchObject({ code: "STORAGE_GUARD_FAILED" });
    expect((await runs.read("r1"))?.phase).toBe("preparing");
  });

  it("keep what a server recorded of them", async () => {
    const storage = createMemoryStorage();
    const runs = runsOf(storage);
    await runs.create({ id: "r1", cause: "user:ann" });
    const stored = await storage.read("strong", memberId(TEST_STACK, STATE_KINDS.run, "r1"));
    const message = { ...decodeKind(stored, RunMessage), configuration: "c0ffee", number: 7n };
    const data = {
      typeUrl: stored.data?.typeUrl ?? "",
      value: RunMessage.encode(message).finish(),
    };
    await storage.writeCAS({ ...stored, data });
    await runs.transition("r1", "queued", "preparing");
    const after = await storage.read("strong", stored.id);
    expect(decodeKind(after, RunMessage)).toMatchObject({ configuration: "c0ffee", number: 7n });
  });

  it("are claimed by one of several", async () => {
    const runs = runsOf();
    await runs.create({ id: "r1", cause: "user:ann" });
    const claims = [1n, 2n, 3n].map((epoch) =>
      runs.transition("r1", "queued", "preparing", { epoch }),
    );
    const outcomes = await Promise.allSettled(claims);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect(outcome.reason).toMatchObject({ code: "ENGINE_STATE_TRANSITION" });
      }
    }
  });

  it("go every way of the table, and no other", async () => {
    const phases = Object.keys(RUN_TRANSITIONS) as RunPhase[];
    let allowed = 0;
    for (const from of phases) {
      for (const to of phases) {
        const runs = runsOf();
        const [first = "queued", ...rest] = wayTo(from);
        const phase = FIRST_PHASES.find((one) => one === first) ?? "queued";
        await runs.create({ id: "r1", cause: "user:ann", phase });
        let at: RunPhase = phase;
        for (const next of rest) {
          await runs.transition("r1", at, next);
          at = next;
        }
        expect(at).toBe(from);
        const moving = runs.transition("r1", from, to, { reason: "because" });
        if (isRunTransition(from, to)) {
          allowed += 1;
          expect(await moving).toMatchObject({ phase: to, reason: "because" });
        } else {
          await expect(moving).rejects.toMatchObject({ code: "ENGINE_STATE_TRANSITION" });
        }
        const left = await runs.read("r1");
        expect(left?.phase).toBe(isRunTransition(from, to) ? to : from);
      }
    }
    expect(allowed).toBe(Object.values(RUN_TRANSITIONS).flat().length);
  });

  it("are not moved by who thinks that they are elsewhere", async () => {
    const runs = runsOf();
    await runs.create({ id: "r1", cause: "user:ann" });
    await runs.transition("r1", "queued", "preparing");
    const code = "ENGINE_STATE_TRANSITION";
    await expect(runs.transition("r1", "queued", "preparing")).rejects.toMatchObject({ code });
    await expect(runs.transition("r2", "queued", "preparing")).rejects.toMatchObject({ code });
  });

  it("are taken away when they have ended, and not before", async () => {
    const runs = runsOf();
    await runs.create({ id: "r1", cause: "user:ann" });
    await expect(runs.remove("r1")).rejects.toMatchObject({ code: "ENGINE_STATE_TRANSITION" });
    await runs.transition("r1", "queued", "canceled");
    await runs.remove("r1");
    expect(await runs.list()).toEqual([]);
    await runs.remove("r1");
  });
});

describe("runs without an active worker", () => {
  const head = { revision: 6n, run: "open" };

  it("are ended by the next holder of the stack lock", async () => {
    const runs = runsOf();
    const planned = { phase: "approved", cause: "", planDigest: "ab" } as const;
    await runs.create({ ...planned, id: "stale", baseRevision: 4n });
    await runs.create({ ...planned, id: "fresh", baseRevision: 6n });
    for (const [id, epoch] of [
      ["gone", 2n],
      ["open", 2n],
      ["mine", 3n],
    ] as const) {
      await runs.create({ ...planned, id, baseRevision: 4n });
      await runs.transition(id, "approved", "applying", { epoch });
    }
    await runs.create({ id: "young", cause: "" });
    await cleanUpRuns(runs, { epoch: 3n, head, nowMs: Date.now() });
    const phases = Object.fromEntries((await runs.list()).map(({ id, phase }) => [id, phase]));
    expect(phases).toEqual({
      stale: "superseded",
      fresh: "approved",
      gone: "failed",
      // Its recovery knows more.
      open: "applying",
      mine: "applying",
      young: "queued",
    });
    await cleanUpRuns(runs, { epoch: 3n, head, nowMs: Date.now() + 25 * 60 * 60 * 1000 });
    expect(await runs.read("young")).toMatchObject({
      phase: "canceled",
      reason: "the run has no active worker",
    });
  });

  it("are kept up to a number when they have ended", async () => {
    const runs = runsOf();
    for (let at = 0; at < 203; at += 1) {
      const id = `r${String(at).padStart(3, "0")}`;
      await runs.create({ id, cause: "" });
      await runs.transition(id, "queued", "canceled");
    }
    await cleanUpRuns(runs, { epoch: 1n, head, nowMs: Date.now() });
    expect((await runs.list()).length).toBe(200);
  });
});

/** The shortest way from a first phase. */
function wayTo(phase: RunPhase): readonly RunPhase[] {
  const ways: RunPhase[][] = FIRST_PHASES.map((first) => [first]);
  const seen = new Set<RunPhase>();
  for (const way of ways) {
    const at = way.at(-1);
    if (at === undefined || seen.has(at)) continue;
    if (at === phase) return way;
    seen.add(at);
    for (const next of RUN_TRANSITIONS[at]) ways.push([...way, next]);
  }
  throw new Error(`nothing leads to ${phase}`);
}
