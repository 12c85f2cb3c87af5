import { expect, it } from "vitest";
import { comparePlanJson } from "./compare-plan-json.ts";

it("takes no read for a check that one side plans alone for a difference", () => {
  const read = (reason: string) => ({
    resource_changes: [
      {
        address: "data.look.d",
        mode: "data",
        action_reason: reason,
        change: { actions: ["read"] },
      },
    ],
  });
  expect(comparePlanJson({}, read("read_because_check_nested")).differences).toEqual([]);
  expect(comparePlanJson({}, read("read_because_config_unknown")).differences).toEqual([
    { address: "data.look.d", path: "actions", ours: undefined, theirs: '["read"]' },
  ]);
});
