import { Mark, Path, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { ResourceChange } from "./change.ts";
import type { Plan } from "./plan.ts";
import { planToJson } from "./plan-json.ts";
import { concealPlan } from "./shown-plan.ts";

const CANARY = "canary-7c1f-0451";
const secret = Value.string(CANARY).mark(Mark.sensitive);

function plan(given: Partial<ResourceChange>): Plan {
  return {
    stack: "s",
    revision: 7n,
    createdAtMs: 0,
    mode: "normal",
    partial: false,
    options: { targets: [], excludes: [], replace: [] },
    workspace: "default",
    variables: new Map(),
    providers: [],
    expansions: [],
    changes: [
      {
        address: "mock_thing.x",
        deposed: "",
        mode: "managed",
        type: "mock_thing",
        name: "x",
        module: "",
        key: undefined,
        provider: { source: "test.local/conf/mock", version: "1.2.3", alias: "" },
        action: "create",
        replacePaths: [],
        causes: [],
        words: { priorPrivate: Uint8Array.of(), plannedPrivate: Uint8Array.of() },
        schemaVersion: 0,
        dependencies: [],
        createBeforeDestroy: false,
        record: false,
        legacyTypeSystem: false,
        ...given,
      },
    ],
    known: new Map(),
    outputs: [],
    drift: [],
    checks: [],
    inputs: [],
  };
}

const provisioner = { index: 0, type: "local-exec", onFailure: "fail" } as const;

describe("concealPlan", () => {
  it.each([
    ["holds a secret", `login --token ${CANARY} host`],
    ["was cut inside of a secret", `login --token ${CANARY.slice(0, 9)}...`],
  ])("leaves out the summary of a provisioner that %s", (_, summary) => {
    const given = plan({
      after: Value.object({ password: secret, copy: Value.string(CANARY) }),
      provisioners: [
        { ...provisioner, when: "create", summary },
        { ...provisioner, when: "create", summary: "echo ready" },
      ],
    });
    const concealed = concealPlan(given);
    expect(concealed.changes[0]?.provisioners?.map((one) => one.summary)).toEqual([
      undefined,
      "echo ready",
    ]);
    expect(planToJson(given)).not.toContain(CANARY.slice(0, 9));
  });

  it("leads no path into a sensitive part", () => {
    const settings = Value.map([[CANARY, Value.string("v")]]);
    const inside = Path.root.attribute("settings").index(CANARY);
    const outside = Path.root.attribute("labels").index("a");
    const given = plan({
      action: "replace",
      before: Value.object({ settings: settings.mark(Mark.sensitive) }),
      after: Value.object({
        settings: settings.mark(Mark.sensitive),
        labels: Value.map([["a", Value.string("b")]]),
      }),
      replacePaths: [inside, outside],
      causes: [{ path: inside, replaces: true, because: ["mock_thing.y"] }],
    });
    const [change] = concealPlan(given).changes;
    expect(change?.replacePaths.map(String)).toEqual([".settings", '.labels["a"]']);
    expect(change?.causes.map(({ path }) => String(path))).toEqual([".settings"]);
    expect(planToJson(given)).not.toContain(CANARY);
  });

  it("hides the values that repeat a secret of the environment", () => {
    const given = plan({
      after: Value.object({ output: Value.string(`key=${CANARY}`), other: Value.string("x") }),
    });
    expect(planToJson(given)).toContain(CANARY);
    const text = planToJson(given, "d1", { secrets: [CANARY, ""] });
    expect(text).not.toContain(CANARY);
    expect(text).toContain('"other":"x"');
  });
});
