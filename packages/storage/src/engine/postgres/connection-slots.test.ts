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
});
