import { systemClock } from "@stackwright/base/clock";
import { expect, it } from "vitest";
import { policyProgram } from "../testing/policies/read-policies.ts";
import { PolicyRunner } from "./policy-runner.ts";

const program = policyProgram();

function inputOf(document: object): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(document));
}

function planOf(...names: readonly string[]) {
  const changes = names.map((name) => ({
    address: `terraform_data.${name}`,
    name,
    change: { actions: ["create"] },
  }));
  return { resource_changes: changes };
}

async function evaluate(entrypoint: string, document: object, limits = {}) {
  const runner = new PolicyRunner({ clock: systemClock, limits });
  return runner.evaluate({ program, entrypoints: [entrypoint], input: inputOf(document) });
}

it("gives what the rules of a package find, what forbids first", async () => {
  const document = { plan: planOf("good", "bad"), run: { mode: "destroy", actor: "ann" } };
  expect(await evaluate("stackwright", document)).toEqual({
    kind: "answer",
    answer: {
      entrypoints: ["stackwright"],
      findings: [
        {
          rule: "stackwright/deny",
          message: "terraform_data.bad is called bad",
          address: "terraform_data.bad",
          isWarning: false,
        },
        {
          rule: "stackwright/warn",
          message: "ann destroys everything",
          address: "",
          isWarning: true,
        },
      ],
      cut: 0,
      isForbidden: true,
    },
  });
  expect(await evaluate("stackwright", { plan: planOf("good"), run: {} })).toMatchObject({
    kind: "answer",
    answer: { findings: [], isForbidden: false },
  });
});

it("takes an undefined or false allow for a refusal", async () => {
  const allowed = await evaluate("shapes/allow", { stack: { name: "one" } });
  expect(allowed).toMatchObject({ answer: { isForbidden: false } });
  for (const document of [{ stack: { name: "two" } }, {}]) {
    expect(await evaluate("shapes/allow", document)).toMatchObject({
      answer: { isForbidden: true, findings: [{ message: "shapes/allow is not true" }] },
    });
  }
});

it("says what is wrong with a policy that gives nonsense, or has no such rule", async () => {
  expect(await evaluate("shapes/deny", {})).toMatchObject({
    kind: "error",
    text: expect.stringContaining("shapes/deny is of the type number") as string,
  });
  expect(await evaluate("nothing", {})).toMatchObject({
    kind: "error",
    text: expect.stringContaining("no entry point nothing") as string,
  });
});

it("ends a policy that loops or grows, and evaluates the next one", {
  timeout: 60_000,
}, async () => {
  const looping = new PolicyRunner({ clock: systemClock, limits: { timeoutMs: 500 } });
  const input = inputOf({ run: {}, stack: {}, plan: {} });
  const run = async (runner: PolicyRunner, entrypoint: string) =>
    runner.evaluate({ program, entrypoints: [entrypoint], input });
  const growing = new PolicyRunner({ clock: systemClock, limits: { memoryPages: 64 } });
  expect(await run(looping, "shapes/violation")).toEqual({
    kind: "error",
    text: "the policy took longer than 500 ms",
  });
  expect(await run(growing, "shapes/memory")).toEqual({
    kind: "error",
    text: "opa_malloc: failed",
  });
  for (const runner of [looping, growing]) {
    expect(await run(runner, "stackwright")).toMatchObject({ kind: "answer" });
  }
});

it("refuses inputs and programs that are none", async () => {
  const runner = new PolicyRunner({ clock: systemClock, limits: { inputBytes: 10 } });
  const large = inputOf({ a: "0123456789" });
  expect(await runner.evaluate({ program, input: large })).toMatchObject({
    kind: "error",
    text: "the input has more than 10 bytes",
  });
  const none = Uint8Array.from([0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  expect(await runner.evaluate({ program: none })).toMatchObject({ kind: "error" });
  expect(await runner.evaluate({ program: program.slice(0, 1_000) })).toMatchObject({
    kind: "error",
  });
});

it("refuses a program with memory of its own, which has no bound", async () => {
  const runner = new PolicyRunner({ clock: systemClock });
  const custom = [0, 2, 1, 0x61];
  const memory = [5, 3, 1, 0, 0];
  const own = Uint8Array.from([0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...custom, ...memory]);
  expect(await runner.evaluate({ program: own })).toMatchObject({
    kind: "error",
    text: expect.stringContaining("memory of its own") as string,
  });
});
