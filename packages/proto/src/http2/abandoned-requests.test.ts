import { describe, expect, it } from "vitest";
import { AbandonedRequests } from "./abandoned-requests.ts";

function many(requests: AbandonedRequests, count: number): void {
  for (let index = 0; index < count; index += 1) requests.add();
}

describe("AbandonedRequests", () => {
  it("refuses the first above 10,000", () => {
    const requests = new AbandonedRequests(() => 0);
    many(requests, 10_000);
    expect(() => requests.add()).toThrow(/given up/);
  });

  it("counts one less for each answer", () => {
    const requests = new AbandonedRequests(() => 0);
    many(requests, 10_000);
    requests.answered();
    requests.add();
    expect(() => requests.add()).toThrow(/given up/);
  });

  it("forgets a hundred each second, and no more than there were", () => {
    let now = 5000;
    const requests = new AbandonedRequests(() => now);
    many(requests, 10_000);
    now += 2000;
    many(requests, 200);
    expect(() => requests.add()).toThrow(/given up/);
    now += 1_000_000;
    many(requests, 10_000);
    expect(() => requests.add()).toThrow(/given up/);
  });
});
