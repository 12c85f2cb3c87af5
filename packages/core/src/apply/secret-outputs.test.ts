import { encodeJson, encodeTypeJson, Type, Value } from "@stackwright/cty";
import { expect, it } from "vitest";
import { createRedactor } from "../secrets/redactor.ts";
import type { StackOutput } from "../state/stack-state.ts";
import { secretOutputs } from "./secret-outputs.ts";

const SECRET = "correct-horse-battery";

function output(value: Value, sensitive = false): StackOutput {
  return { type: encodeTypeJson(value.type), json: encodeJson(value), sensitive };
}

const outputs = new Map([
  ["open", output(Value.object({ a: Value.string("seen"), b: Value.null(Type.string) }))],
  ["marked", output(Value.string("other"), true)],
  ["text", output(Value.string(`postgres://app:${SECRET}@db`))],
  [
    "deep",
    output(Value.object({ a: Value.tuple([Value.null(Type.string), Value.string(SECRET)]) })),
  ],
  ["member", output(Value.object({ [SECRET]: Value.number(1) }))],
  ["key", output(Value.map({ [SECRET]: Value.number(1) }))],
]);

it("names the outputs that are sensitive, and those that repeat a secret in a text or a key at any depth", () => {
  const secrets = createRedactor();
  secrets.add(SECRET);
  expect([...secretOutputs(outputs, secrets)]).toEqual(["marked", "text", "deep", "member", "key"]);
});

it("names those that are sensitive where a run has no secrets", () => {
  expect([...secretOutputs(outputs, createRedactor())]).toEqual(["marked"]);
});
