import { createRuntime } from "@stackwright/krt";
import { expect, it, onTestFinished } from "vitest";
import { ChangeRing } from "./change-ring.ts";

function start(capacity: number) {
  const rt = createRuntime();
  const source = rt.source<{ readonly name: string; readonly value: number }>([]);
  const ring = new ChangeRing(source, capacity);
  onTestFinished(() => {
    ring[Symbol.dispose]();
    rt.dispose();
  });
  const turn = async (work: () => void): Promise<void> => {
    rt.batch(work);
    await rt.settled();
  };
  const set = async (name: string, value: number) => turn(() => source.set({ name, value }));
  return { source, ring, turn, set };
}

it("gives the turns behind a revision, each as a whole", async () => {
  const { source, ring, turn, set } = start(10);
  await set("a", 1);
  await turn(() => {
    source.set({ name: "b", value: 1 });
    source.delete("a");
  });
  expect(ring.after(0)).toEqual([
    { revision: 1, set: [{ name: "a", value: 1 }], deleted: [] },
    { revision: 2, set: [{ name: "b", value: 1 }], deleted: [{ name: "a", value: 1 }] },
  ]);
  expect(ring.after(1)).toHaveLength(1);
  expect(ring.after(2)).toEqual([]);
  expect(ring.snapshot()).toEqual({ revision: 2, objects: [{ name: "b", value: 1 }] });
});

it.each([
  [3, true],
  [4, true],
  [5, false],
])("a reader that is %i turns behind a ring of 4 continues: %s", async (behind, continues) => {
  const { ring, set } = start(4);
  for (let value = 1; value <= 8; value += 1) await set("a", value);
  expect(ring.after(8 - behind)?.length).toBe(continues ? behind : undefined);
});

it("a revision of the future is of another ring", async () => {
  const { ring, set } = start(4);
  await set("a", 1);
  expect(ring.after(2)).toBeUndefined();
});

it("a reader that waits is woken by a turn, and by its signal", async () => {
  const { ring, set } = start(4);
  const leaves = new AbortController();
  let woken = 0;
  const waiting = [new AbortController().signal, leaves.signal].map(async (signal) => {
    await ring.changed(signal);
    woken += 1;
  });
  leaves.abort();
  await waiting[1];
  expect(woken).toBe(1);
  await set("a", 1);
  await Promise.all(waiting);
  await ring.changed(AbortSignal.abort());
});
