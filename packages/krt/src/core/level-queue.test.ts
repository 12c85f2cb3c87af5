import { describe, expect, it } from "vitest";
import { type Leveled, LevelQueue } from "./level-queue.ts";

interface Node extends Leveled<Node> {
  readonly name: string;
}

const node = (name: string, level: number): Node => ({
  name,
  level,
  queued: false,
  nextQueued: undefined,
});

describe("LevelQueue", () => {
  it("hands out the lowest level first, and each node once", () => {
    const queue = new LevelQueue<Node>();
    const [a, b, c] = [node("a", 2), node("b", 0), node("c", 1)];
    for (const one of [a, b, c, a, b]) queue.push(one);
    expect([queue.pop(), queue.pop(), queue.pop(), queue.pop()]).toEqual([b, c, a, undefined]);
    expect(queue.isEmpty).toBe(true);
    queue.push(b);
    expect(queue.pop()).toBe(b);
  });

  it("does not hand out a node before its level, when that rose while it waited", () => {
    const queue = new LevelQueue<Node>();
    const [a, b] = [node("a", 0), node("b", 1)];
    queue.push(a);
    queue.push(b);
    a.level = 3;
    expect(queue.hasUpTo(0), "it may say so once too often").toBe(true);
    expect([queue.pop(), queue.pop()]).toEqual([b, a]);
  });

  it("knows what waits up to a level", () => {
    const queue = new LevelQueue<Node>();
    expect(queue.hasUpTo(9)).toBe(false);
    queue.push(node("a", 2));
    expect([queue.hasUpTo(1), queue.hasUpTo(2), queue.hasUpTo(3)]).toEqual([false, true, true]);
    const low = node("low", 1);
    queue.push(low);
    expect(queue.pop()).toBe(low);
    expect(queue.hasUpTo(1)).toBe(false);
  });
});
