import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { agreement } from "./agreement.ts";
import { askOracle } from "./oracle.ts";
import { type Answer, perform, type Request } from "./perform.ts";
import { decodingRequests, randomRequests } from "./requests.ts";

const binary = process.env.TEST_TOOL_CTY_VECTORS ?? process.env.TEST_CTY_VECTORS ?? "";
const present = existsSync(binary);

const seed = Number(process.env.STACKWRIGHT_SEED ?? 20_171_121);
const count = Math.round(20_000 * Number(process.env.STACKWRIGHT_RUNS ?? 1));

/** Questions whose answers contradict those of the oracle, and how many of the others agree in which way. */
async function compare(requests: readonly Request[]) {
  const answers = await askOracle(binary, requests);
  const contradictions: { request: Request; want: Answer; got: Answer }[] = [];
  const tally = new Map<string, number>();
  for (const [i, request] of requests.entries()) {
    const want = answers[i] ?? {};
    const got = perform(request);
    const kind = agreement(request, want, got);
    if (kind === undefined) contradictions.push({ request, want, got });
    else tally.set(kind, (tally.get(kind) ?? 0) + 1);
  }
  return { answers, contradictions, tally };
}

describe("against go-cty", () => {
  it(`answers ${count} random questions as the reference does, and decodes what it encodes`, async ({
    skip,
    annotate,
  }) => {
    skip(!present, "TEST_TOOL_CTY_VECTORS names no program");
    await annotate(`${count} questions`, "count");
    const requests = randomRequests(seed, count);
    const { answers, contradictions, tally } = await compare(requests);
    expect(contradictions.slice(0, 3)).toEqual([]);
    // The deliberate differences are corner cases; they must not become a hole that everything fits through.
    expect(tally.get("same")).toBeGreaterThan(count * 0.97);

    const decoding = decodingRequests(requests, answers);
    expect(decoding.length).toBeGreaterThan(count / 4);
    const decoded = await compare(decoding);
    expect(decoded.contradictions.slice(0, 3)).toEqual([]);
    expect(decoded.tally.get("same")).toBe(decoding.length);
  });
});
