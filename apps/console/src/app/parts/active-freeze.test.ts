import type { StackStatus } from "@stackwright/client";
import { expect, it } from "vitest";
import { frozenName, frozenPlaces } from "./active-freeze.ts";

const status = (project: string, name: string, freeze?: StackStatus["freeze"]): StackStatus => ({
  id: `${project}-${name}`,
  project,
  name,
  waiting: 0,
  outdated: [],
  reads: [],
  ...(freeze !== undefined && { freeze }),
});
const facts = { actor: "user:ops", reason: "an incident", at: "2026-01-01T00:00:00Z" };

it("names a frozen project once, stacks after it, and none whose freeze has ended by itself", () => {
  const until = "2026-01-01T01:00:00Z";
  const stacks = [
    status("web", "one", { ...facts, of: "stack" }),
    status("shop", "one", { ...facts, of: "project", until }),
    status("shop", "two", { ...facts, of: "project", until }),
    status("net", "one"),
  ];
  const namesAt = (time: string): readonly string[] =>
    frozenPlaces(stacks, Date.parse(time)).map(frozenName);
  expect(namesAt("2026-01-01T00:30:00Z")).toEqual(["project shop", "web/one"]);
  expect(namesAt(until)).toEqual(["web/one"]);
});
