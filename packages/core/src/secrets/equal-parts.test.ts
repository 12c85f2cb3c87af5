import { Mark, Value } from "@stackwright/cty";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { createEngine } from "../engine.ts";
import { hasChanges } from "../plan/plan.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { loadText } from "../testing/simulation/sim-parts.ts";
import { createTestState, TEST_STACK } from "../testing/state-fixture.ts";
import { equalParts } from "./equal-parts.ts";
import { extractJsonParts, insertJsonParts } from "./json-parts.ts";

function found(data: object, ...sensitive: string[]) {
  const json = JSON.stringify(data);
  const { json: rest, parts } = extractJsonParts(
    json,
    sensitive.map((name) => [name]),
  );
  return equalParts(rest, parts);
}

describe("what repeats a secret", () => {
  it("is found where it is equal, in a text, as a name, and in forms of it", () => {
    const data = {
      secret: ["hunter22", 1234, { deep: "x" }],
      same: "hunter22",
      number: 1234,
      short: ["y", "x"],
      inside: { user_data: "password=hunter22;" },
      names: { hunter22: true },
      encoded: Buffer.from("user:hunter22!").toString("base64"),
      other: ["hunter", 123, true, null, ""],
    };
    expect(found(data, "secret")).toEqual([
      ["same"],
      ["number"],
      ["short", 1],
      ["inside", "user_data"],
      ["names"],
      ["encoded"],
    ]);
  });

  it("is only that part of a value of an open type", () => {
    const open = (value: unknown) => ({
      value,
      type: ["object", { pass: "string", user: "string" }],
    });
    const data = {
      input: open({ pass: "hunter22", user: "string" }),
      output: open({ pass: "hunter22", user: "string" }),
      whole: { value: "hunter22", type: "string" },
      other: "string",
    };
    const json = JSON.stringify(data);
    const cut = extractJsonParts(json, [["input", "pass"]]);
    expect(cut.parts).toEqual([
      { at: ["input", "pass"], written: ["input", "value", "pass"], text: '"hunter22"' },
    ]);
    const equal = equalParts(cut.json, cut.parts);
    expect(equal).toEqual([["output", "pass"], ["whole"]]);
    const all = extractJsonParts(json, [["input", "pass"], ...equal]);
    expect(all.json).not.toContain("hunter22");
    expect(all.json).toContain('"pass":null,"user":"string"');
    expect(insertJsonParts(all.json, all.parts)).toBe(json);
  });

  it("is the whole value of an open type where a member has the name of one of its own", () => {
    const data = { input: { value: { value: "hunter22", a: 1 }, type: "x" } };
    const { json, parts } = extractJsonParts(JSON.stringify(data), [["input", "value"]]);
    expect(parts.map(({ at }) => at)).toEqual([["input"]]);
    expect(json).toBe('{"input":null}');
  });

  it("is nothing where nothing is secret, or the secret is not a text", () => {
    expect(found({ a: "one", b: "one" })).toEqual([]);
    expect(found({ a: "", b: "", c: null, d: true, e: true }, "a", "c", "d")).toEqual([]);
  });
});

const CONFIG = `variable "secret" {
  sensitive = true
}
resource "terraform_data" "a" {
  input = var.secret
}
output "seen" {
  value = terraform_data.a.output
}
`;

describe("the output of terraform_data with a sensitive input", () => {
  const text = "Tr0ub4dor&3 and a staple";
  it.each([
    ["a text", Value.string(text)],
    ["a list", Value.tuple([Value.string(text), Value.number(5)])],
  ])(
    "is not sensitive, as in Terraform, and not in the clear in the store: %s",
    async (_title, secret) => {
      const storage = createMemoryStorage();
      const { state } = createTestState({ storage, blobs: new MemoryBlobs() });
      const engine = createEngine({ origins: [builtinOrigin()] });
      const configuration = await loadText(CONFIG);
      const variables = new Map([["secret", secret.mark(Mark.sensitive)]]);
      const common = { state, configuration, variables };
      const { plan, diagnostics } = await engine.plan(common);
      expect(diagnostics).toEqual([]);
      if (plan === undefined) throw new Error("there is no plan");
      expect((await engine.apply({ ...common, plan })).status).toBe("applied");

      const { objects, outputs } = await state.read();
      const [object] = objects.values();
      const { json = "", sensitive = [] } = object?.value ?? {};
      expect(JSON.stringify((JSON.parse(json) as { output: unknown }).output)).toContain(text);
      expect(sensitive.map(String)).toEqual([".input"]);
      // Who publishes it says that it may be seen.
      expect(outputs.get("seen")).toMatchObject({ sensitive: false });
      const stored = await storage.list(
        "strong",
        { group: "stackwright", kind: "StateObject" },
        { partition: TEST_STACK.account, peerName: "local", namespace: TEST_STACK.project },
        "",
      );
      const bytes = stored.map(({ data }) => Buffer.from(data?.value ?? []).toString("latin1"));
      expect(bytes).toHaveLength(1);
      expect(bytes[0]).toContain("terraform_data.a");
      expect(bytes[0]).not.toContain("Tr0ub4dor");

      const again = await engine.plan(common);
      expect(again.plan !== undefined && hasChanges(again.plan)).toBe(false);
    },
  );
});
