import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { decodeToolPlan, encodeToolPlan, readToolPlanJson } from "./tool-plan.ts";

const PLAN = {
  tool: "terraform",
  version: "1.11.4",
  // What looks like the end of the part that is read, in a text.
  json: `{"a":"é ,\\"file\\":\\"","file":""} ,"file":"`,
  file: Buffer.from("saved"),
  stateNumber: "3",
};

it("gives back what was stored, as a whole and without the saved plan", async () => {
  const bytes = encodeToolPlan(PLAN);
  expect(decodeToolPlan(bytes)).toEqual(PLAN);
  expect(await readToolPlanJson(bytes, 1_000)).toBe(PLAN.json);
  expect(await readToolPlanJson(Buffer.from("plan of the engine"), 1_000)).toBeUndefined();
});

it("unpacks no more than is read: neither a large saved plan, nor what is over the limit", async () => {
  const large = encodeToolPlan({ ...PLAN, file: Buffer.alloc(1024 * 1024) });
  expect(await readToolPlanJson(large, 1_000)).toBe(PLAN.json);
  const bomb = encodeToolPlan({ ...PLAN, json: "x".repeat(8 * 1024 * 1024) });
  await expect(readToolPlanJson(bomb, 1024 * 1024)).rejects.toMatchObject({ code: "too_large" });
});

it.each([
  ["cut", encodeToolPlan(PLAN).subarray(0, 60)],
  ["of another form", gzipSync('{"format":"other","json":"","file":""}')],
  ["without a saved plan", gzipSync('{"format":"stackwright.tool-plan/1","json":""}')],
  ["no JSON", gzipSync('nothing,"file":"')],
])("refuses one that is %s", async (_what, bytes) => {
  await expect(readToolPlanJson(bytes, 1_000)).rejects.toMatchObject({
    code: "ENGINE_STATE_CORRUPT",
  });
});
