import { Mark, Value } from "@stackwright/cty";
import fc from "fast-check";
import { expect, it } from "vitest";
import { bodyLines } from "../lines.ts";
import type { ObjectView } from "../model/revision-view.ts";
import { twoValues } from "../testing/random-values.ts";
import { type GivenObject, revisionView } from "./revision-view.ts";

const CANARY = "c4n4ry-0452";

/** Objects of two revisions, some of which are in one of them alone. */
const objects = fc
  .array(
    fc.record({
      values: twoValues(),
      has: fc.constantFrom("both", "before", "after", "neither"),
      deposed: fc.constantFrom("", "a1b2"),
    }),
    { maxLength: 6 },
  )
  .map((all) =>
    all.map(({ values: [before, after], has, deposed }, index): GivenObject => {
      const secret = (text: string) => Value.string(`${CANARY}${text}`).mark(Mark.sensitive);
      return {
        address: `t.${index % 3}`,
        deposed: `${deposed}${index}`,
        type: "t",
        ...((has === "both" || has === "before") && {
          before: Value.object({ value: before, secret: secret("a") }),
        }),
        ...((has === "both" || has === "after") && {
          after: Value.object({ value: after, secret: secret("b") }),
        }),
      };
    }),
  );

const REVERSED = { created: "deleted", deleted: "created", updated: "updated" } as const;

const headOf = ({ address, deposed, type, change }: ObjectView) => ({
  address,
  deposed,
  type,
  change,
});

it("two revisions in the other order have the same objects, what was created is deleted", () => {
  fc.assert(
    fc.property(objects, (given) => {
      const back = given.map(({ before, after, ...one }) => ({
        ...one,
        before: after,
        after: before,
      }));
      const is = revisionView(given).map((one) => ({
        ...headOf(one),
        change: REVERSED[one.change],
      }));
      expect(revisionView(back).map(headOf)).toEqual(is);
    }),
    { numRuns: 200 },
  );
});

it("a revision and itself differ in nothing, and each other object is in a view once", () => {
  fc.assert(
    fc.property(objects, (given) => {
      expect(revisionView(given.map((one) => ({ ...one, after: one.before })))).toEqual([]);
      const named = revisionView(given).map(({ address, deposed }) => `${address} ${deposed}`);
      expect(new Set(named).size).toBe(named.length);
      const onlyOnce = given.filter(({ before, after }) => (before && after) === undefined);
      for (const { address, deposed, before, after } of onlyOnce) {
        const is = (before ?? after) !== undefined;
        expect(named.includes(`${address} ${deposed}`)).toBe(is);
      }
    }),
    { numRuns: 200 },
  );
});

it("no line and no byte of a view of revisions holds what is marked sensitive", () => {
  fc.assert(
    fc.property(objects, (given) => {
      const view = revisionView(given);
      const lines = view.flatMap(({ body }) => bodyLines(body, {}));
      expect(JSON.stringify([view, lines])).not.toContain(CANARY);
    }),
    { numRuns: 200 },
  );
});
