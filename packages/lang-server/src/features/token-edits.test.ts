import fc from "fast-check";
import { expect, it } from "vitest";
import { KeptTokens, tokenEdits } from "./token-edits.ts";

function edited(before: readonly number[], after: readonly number[]): number[] {
  const result = [...before];
  for (const { start, deleteCount, data = [] } of tokenEdits(before, after)) {
    result.splice(start, deleteCount, ...data);
  }
  return result;
}

it("edits give the tokens of now, whatever they were before", () => {
  const numbers = fc.array(fc.nat({ max: 3 }), { maxLength: 30 });
  fc.assert(
    fc.property(numbers, numbers, (before, after) => {
      expect(edited(before, after)).toEqual(after);
    }),
  );
});

it("are of what has changed alone", () => {
  expect(tokenEdits([1, 2, 3, 4], [1, 9, 3, 4])).toEqual([{ start: 1, deleteCount: 1, data: [9] }]);
  expect(tokenEdits([1, 2], [1, 2])).toEqual([]);
});

it("a client that names another answer than the last gets everything", () => {
  const kept = new KeptTokens();
  const { resultId } = kept.whole("a", [1, 2]);
  const second = kept.changed("a", resultId, [1, 3]);
  expect(second).toMatchObject({ edits: [{ start: 1, deleteCount: 1, data: [3] }] });
  expect(kept.changed("a", resultId, [1, 3])).toMatchObject({ data: [1, 3] });
  expect(kept.changed("b", resultId, [1, 3])).toMatchObject({ data: [1, 3] });
});

it("keeps the tokens of the 64 documents that were asked about last", () => {
  const kept = new KeptTokens();
  const first = kept.whole("0", [1]);
  for (let at = 1; at < 64; at += 1) kept.whole(String(at), [at]);
  const again = kept.changed("0", first.resultId, [1]);
  expect(again).toHaveProperty("edits", []);
  kept.whole("64", [64]);
  expect(kept.changed("0", again.resultId, [1])).toHaveProperty("edits", []);
  // The second one made place for the last.
  expect(kept.changed("1", "2", [1])).toHaveProperty("data");
  expect(kept.changed("3", "4", [3])).toHaveProperty("edits", []);
});
