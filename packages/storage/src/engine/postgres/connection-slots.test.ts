import { describe, expect, it } from "vitest";
import { ConnectionSlots } from "./connection-slots.ts";

describe("connection slots", () => {
  it("pass to the waiter that came first, and to no later call", async () => {
    const slots = new ConnectionSlots(1);
    const order: string[] = [];
    const acquire = async (name: string) => {
      expect(await slots.acquire(10_000)).toBe(true);
      order.push(name);
    };
    await acquire("holder");
    const first = acquire("first");
    const second = acquire("second");
    slots.release();
    const late = acquire("late");
    slots.release();
    slots.release();
    await Promise.all([first, second, late]);
    expect(order).toEqual(["holder", "first", "second", "late"]);
  });

  it("give up after the wait, and are released to the next one who still waits", async () => {
    const slots = new ConnectionSlots(1);
    expect(await slots.acquire(10_000)).toBe(true);
    const short = slots.acquire(5);
    const patient = slots.acquire(10_000);
    expect(await short).toBe(false);
    slots.release();
    expect(await patient).toBe(true);
    slots.release();
    expect(await slots.acquire(5)).toBe(true);
    expect(await slots.acquire(5)).toBe(false);
  });

  it("for which the server has no connection are taken of those that end, ahead of calls that came later", async () => {
    const slots = new ConnectionSlots(2);
    const order: string[] = [];
    expect(await slots.acquire(10_000)).toBe(true);
    expect(await slots.acquire(10_000)).toBe(true);
    const later = slots.acquire(10_000).then(() => order.push("later"));
    const refused = slots
      .exchange(slots.released, 10_000)
      .then((isAdmitted) => order.push(`refused ${isAdmitted}`));
    slots.release();
    await refused;
    slots.release();
    await later;
    expect(order).toEqual(["refused true", "later"]);
    // The other one is away for a while.
    expect(await slots.acquire(5)).toBe(false);
  });

  it("are asked for again after a while", async () => {
    let now = 0;
    const slots = new ConnectionSlots(2, () => now);
    expect(await slots.acquire(10_000)).toBe(true);
    expect(await slots.acquire(10_000)).toBe(true);
    const refused = slots.exchange(slots.released, 10_000);
    slots.release();
    expect(await refused).toBe(true);
    now = 999;
    expect(await slots.acquire(5)).toBe(false);
    now = 1_000;
    expect(await slots.acquire(5)).toBe(true);
  });

  it("are kept where a call has ended meanwhile, as it leaves its connection", async () => {
    const slots = new ConnectionSlots(2);
    expect(await slots.acquire(10_000)).toBe(true);
    expect(await slots.acquire(10_000)).toBe(true);
    const { released } = slots;
    slots.release();
    expect(await slots.exchange(released, 10_000)).toBe(true);
    expect(await slots.acquire(10_000)).toBe(true);
    expect(await slots.acquire(5)).toBe(false);
  });

  it("are given up by all where no call has a connection, and are free for the next", async () => {
    const slots = new ConnectionSlots(3);
    for (let call = 0; call < 3; call += 1) expect(await slots.acquire(10_000)).toBe(true);
    const later = slots.acquire(10_000);
    const { released } = slots;
    const refused = [1, 2, 3].map(() => slots.exchange(released, 10_000));
    expect(await Promise.all(refused)).toEqual([false, false, false]);
    expect(await later).toBe(true);
    expect(await slots.acquire(5)).toBe(true);
    expect(await slots.acquire(5)).toBe(true);
    expect(await slots.acquire(5)).toBe(false);
  });
});
