import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROTOCOLS } from "./testing/vectors/protocol.ts";
import { inapplicable, runVector, type VectorMode } from "./testing/vectors/run-vector.ts";
import { readVectors, type Vector } from "./testing/vectors/vector-file.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures");
const GIVEN = process.env.MUX_VECTORS ?? join(FIXTURES, "mux-vectors.json");
const MODES: readonly VectorMode[] = ["in process", "over gRPC", "nested"];

/** Vectors of this package's protocols; the others are counted. */
function partition(vectors: readonly Vector[]) {
  const isOurs = ({ mux }: Vector) => (mux.protocol ?? "pulumirpc") in PROTOCOLS;
  return { ours: vectors.filter(isOurs), others: vectors.filter((vector) => !isOurs(vector)) };
}

const given = partition(readVectors(GIVEN));
const seed = partition(readVectors(join(FIXTURES, "seed-vectors.json")));

describe.each(MODES)("vectors %s", (mode) => {
  const applicable = [...given.ours, ...seed.ours].filter(
    (vector) => inapplicable(vector, mode) === undefined,
  );
  it.each(applicable.map((vector) => [vector.id, vector.title, vector] as const))(
    "%s: %s",
    async (_id, _title, vector) => {
      expect(await runVector(vector, mode)).toEqual([]);
    },
  );
});

describe("the files of vectors", () => {
  it("hold at least 30 vectors of what the muxer's documentation says", () => {
    expect(seed.ours.length).toBeGreaterThanOrEqual(30);
  });

  it("name the vectors of other protocols, which run elsewhere", async ({ annotate }) => {
    await annotate(`${given.others.length} vectors of other protocols`, "count");
    expect(given.ours.length).toBeGreaterThan(0);
  });
});

describe("a vector with a wrong expectation", () => {
  const mutations: readonly [string, (text: string) => string][] = [
    ["another server", (text) => text.replace(/"server":"s0"/, '"server":"s9"')],
    ["another payload", (text) => text.replace(/"reply":\{"id":"/, '"reply":{"id":"wrong-')],
    [
      "another code",
      (text) => text.replace(/"error":\{"code":"[A-Z_]+"/, '"error":{"code":"DATA_LOSS"'),
    ],
    [
      "one call too many",
      (text) => text.replace(/"calls":\[\{/, '"calls":[{"server":"s0","method":"Cancel"},{'),
    ],
    [
      "a reply where there is an error",
      (text) => text.replace(/"error":\{/, '"reply":{"id":"x"},"unused":{'),
    ],
    ["another flag", (text) => text.replace(/"acceptSecrets":true/, '"acceptSecrets":false')],
  ];
  it.each(mutations)("fails: %s", async (_what, mutate) => {
    let mutated = 0;
    for (const vector of [...given.ours, ...seed.ours]) {
      if (vector.better !== undefined) continue;
      const text = JSON.stringify(vector.expect.steps);
      const changed = mutate(text);
      if (changed === text) continue;
      mutated += 1;
      const steps = JSON.parse(changed) as Vector["expect"]["steps"];
      const wrong = { ...vector, expect: { ...vector.expect, steps } };
      expect(await runVector(wrong, "in process"), vector.id).not.toEqual([]);
    }
    expect(mutated).toBeGreaterThan(0);
  });
});
