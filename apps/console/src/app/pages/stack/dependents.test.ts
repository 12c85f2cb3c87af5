import type { StackStatus } from "@stackwright/client";
import { expect, it } from "vitest";
import { dependentsOf } from "./dependents.ts";

const status = (name: string, ...reads: readonly string[]): StackStatus => ({
  id: name,
  project: "p",
  name,
  waiting: 0,
  outdated: [],
  reads: reads.map((one) => `p/${one}`),
});

it("finds every stack that depends on one, over others and over circles, each once", () => {
  const stacks = [
    status("net", "web"),
    status("app", "net"),
    status("db", "net"),
    status("web", "app", "db"),
    status("other"),
  ];
  const found = dependentsOf(stacks, "p/net").map(({ status: { name }, distance, via }) => [
    name,
    distance,
    via,
  ]);
  expect(found).toEqual([
    ["app", 1, ["p/net"]],
    ["db", 1, ["p/net"]],
    ["web", 2, ["p/app", "p/db"]],
  ]);
  expect(dependentsOf(stacks, "p/other")).toEqual([]);
});
