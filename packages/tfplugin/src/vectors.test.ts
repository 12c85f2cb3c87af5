import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runVector, type VectorMode } from "./testing/vectors/run-vector.ts";
import { protocolOf, readVectors, type Vector } from "./testing/vectors/vector-file.ts";

const OWN = join(import.meta.dirname, "../fixtures/mux/mux-vectors.json");
const MODES: readonly VectorMode[] = ["flat", "nested"];

const all = readVectors(process.env.MUX_VECTORS ?? OWN);
const ours = all.filter((vector) => protocolOf(vector) !== undefined);

describe.each(MODES)("vectors of the Terraform protocols, %s", (mode) => {
  it.each(ours.map((vector) => [vector.id, vector.title, vector] as const))(
    "%s: %s",
    async (_id, _title, vector) => {
      // Behind muxes of their own, servers see the questions of those too; what they answer stays the same.
      const answers = (problem: string) => mode === "flat" || !problem.includes("calls ");
      expect((await runVector(vector, mode)).filter(answers)).toEqual([]);
    },
  );
});

describe("the file of vectors", () => {
  it("holds vectors of these protocols, and others that run elsewhere", async ({ annotate }) => {
    await annotate(`${all.length - ours.length} vectors of other protocols`, "count");
    expect(ours.length).toBeGreaterThanOrEqual(7);
  });
});

describe("a vector with a wrong expectation", () => {
  const mutations: readonly [string, (text: string) => string][] = [
    ["another server", (text) => text.replace('"server":"s', '"server":"t')],
    [
      "a call too many",
      (text) => text.replace('"calls":[{', '"calls":[{"server":"s0","method":"StopProvider"},{'),
    ],
    ["another text", (text) => text.replace('"error":"a', '"error":"b')],
    ["another diagnostic", (text) => text.replace('"summary":"e"', '"summary":"f"')],
    [
      "other private bytes",
      (text) => text.replace('"plannedPrivate":"cA=="', '"plannedPrivate":"cQ=="'),
    ],
    ["another chunk", (text) => text.replace('"bytes":"AQ=="', '"bytes":"AA=="')],
    ["another state", (text) => text.replace('"newState":{}', '"newState":{"msgpack":"wA=="}')],
    ["another code", (text) => text.replace('"code":"UNKNOWN"', '"code":"INTERNAL"')],
    ["another part of a message", (text) => text.replace('"NestedType"', '"no such words"')],
  ];

  it.each(mutations)("fails: %s", async (_what, mutate) => {
    let mutated = 0;
    for (const vector of ours) {
      const text = JSON.stringify(vector.expect);
      const changed = mutate(text);
      if (changed === text) continue;
      mutated += 1;
      const wrong = { ...vector, expect: JSON.parse(changed) as Vector["expect"] };
      expect(await runVector(wrong, "flat"), vector.id).not.toEqual([]);
    }
    expect(mutated).toBeGreaterThan(0);
  });
});
