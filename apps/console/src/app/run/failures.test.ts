import { expect, it } from "vitest";
import { failuresOf } from "./failures.ts";
import { RunProgressReducer } from "./run-progress.ts";

it("begins with what held most up, with its diagnostics and lines, and names what is unresolved", () => {
  const reducer = new RunProgressReducer();
  let seq = 0;
  const add = (type: string, members: object): void => {
    seq += 1;
    reducer.add({ seq, at: seq, type, deposed: "", ...members });
  };
  for (const address of ["lone", "db", "web", "lb", "net"]) {
    add("planned", { address, action: "create" });
  }
  add("planned", { address: "old", action: "replace" });
  add("step-start", { address: "lone", action: "create" });
  add("step-end", { address: "lone", action: "create", status: "failed" });
  add("step-start", { address: "db", action: "create" });
  add("provision-output", { address: "db", line: "mkfs" });
  add("step-end", { address: "db", action: "create", status: "unresolved" });
  add("step-end", { address: "web", action: "create", status: "skipped", cause: "db" });
  add("step-end", { address: "lb", action: "create", status: "skipped", cause: "db" });
  add("diagnostic", {
    severity: "error",
    summary: "No answer",
    detail: "after 60 s",
    address: "db",
    file: "main.tf",
    line: 3,
    code_lines: ['resource "x" "db" {'],
  });
  add("diagnostic", { severity: "warning", summary: "deprecated" });
  add("diagnostic", { severity: "error", summary: "Elsewhere" });
  const progress = reducer.progress();
  const { failures, otherProblems, unresolved } = failuresOf(progress);
  expect(failures.map(({ step, skipped }) => [step.address, skipped.length])).toEqual([
    ["db", 2],
    ["lone", 0],
  ]);
  expect(failures[0]?.problems).toEqual([
    {
      address: "db",
      summary: "No answer",
      detail: "after 60 s",
      file: "main.tf",
      line: 3,
      code: ['resource "x" "db" {'],
    },
  ]);
  expect(failures[0]?.lines.map(({ text }) => text)).toContain("mkfs");
  expect(otherProblems.map(({ summary }) => summary)).toEqual(["Elsewhere"]);
  expect(unresolved.map(({ address }) => address)).toEqual(["db"]);
  expect(progress.waiting.map(({ address, action }) => `${action} ${address}`)).toEqual([
    "create net",
    "delete old",
    "create old",
  ]);
});
