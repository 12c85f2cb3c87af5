import { fromNative, Type, Value } from "@stackwright/cty";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { twoValues } from "../testing/random-values.ts";
import { planView } from "../view/plan-view.ts";
import { VIEW_SCHEMA } from "./view-schema.ts";

const validate = new Ajv2020({ strict: false }).compile(VIEW_SCHEMA);

it("describes every view", () => {
  fc.assert(
    fc.property(twoValues(), twoValues(), ([before, after], [was, is]) => {
      const view = planView({
        stack: "s",
        revision: 1n,
        mode: "normal",
        partial: false,
        createdAtMs: 0,
        changes: [
          {
            address: "t.a[0]",
            deposed: "d",
            mode: "managed",
            type: "t",
            name: "a",
            module: "",
            key: 0,
            action: "update",
            previousAddress: "t.b",
            importing: { id: "i" },
            replacePaths: [],
            causes: [],
            provisioners: [{ when: "create", type: "local-exec", onFailure: "fail", summary: "x" }],
            before: Value.object({ x: before }),
            after: Value.object({ x: after, more: Value.unknown(Type.string) }),
          },
        ],
        outputs: [{ name: "o", before: was, after: is, sensitive: false }],
        drift: [
          { address: "t.a", deposed: "", type: "t", relevant: true, before: fromNative({ a: 1 }) },
        ],
        deferred: [{ address: "t.later", because: "its count is not known" }],
        moves: [{ from: "t.old", to: "t.later" }],
        checks: [{ address: "check.a", kind: "check", status: "fail", message: "m" }],
      });
      const sent = JSON.parse(JSON.stringify(view)) as unknown;
      expect(validate(sent), JSON.stringify(validate.errors)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

it("refuses a document of another form", () => {
  expect(validate({ format: "stackwright.plan-view/2" })).toBe(false);
});
