import { Path, Type, Value } from "@stackwright/cty";
import type { LifecycleProvider, ReadReply, ResourceSchema } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import type { ProviderInstance } from "../providers/provider-instances.ts";
import { createRedactor } from "../secrets/redactor.ts";
import type { ObjectOperation, StateObject } from "../state/state-object.ts";
import { plan } from "../testing/state-content.ts";
import { resolveAbsent, resolveById, resolveOperation } from "./resolve-operation.ts";

const ATTRIBUTE = {
  type: Type.string,
  required: false,
  optional: true,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
};
const SCHEMA: ResourceSchema = {
  version: 1,
  block: {
    attributes: new Map([
      ["id", ATTRIBUTE],
      ["value", ATTRIBUTE],
      ["secret", { ...ATTRIBUTE, sensitive: true }],
    ]),
    blocks: new Map(),
    deprecated: false,
    description: "",
  },
};
const IDENTITY: NonNullable<ResourceSchema["identity"]> = {
  version: 0,
  attributes: new Map([
    ["name", { type: Type.string, required: true, optional: false, description: "" }],
  ]),
} as never;

const thing = (id: string, value = "v"): Value =>
  Value.object({
    id: Value.string(id),
    value: Value.string(value),
    secret: Value.string("s3cret"),
  });
const NOTHING = Value.null(thing("").type);
const named = (name: string): Value => Value.object({ name: Value.string(name) });
const problem = (summary: string) => ({ severity: "error", summary, detail: "" }) as const;
const bytes = (text: string): Uint8Array => Buffer.from(text);

/** What a provider answers, and what it was asked. */
interface Answers {
  readonly schema?: Partial<ResourceSchema> | undefined;
  readonly read?: Partial<ReadReply> | Error;
  readonly imports?: readonly { readonly type?: string; readonly state: Value }[];
  readonly importProblem?: string;
}

function providerOf({ schema = {}, read, imports = [], importProblem }: Answers, hasType = true) {
  const asked: unknown[] = [];
  const secrets = createRedactor();
  const provider: Partial<LifecycleProvider> = {
    upgrade: async ({ json }) =>
      Promise.resolve({
        diagnostics: [],
        state: thing("old", (JSON.parse(json) as { value: string }).value),
      }),
    read: async (request) => {
      asked.push({ read: request });
      if (read instanceof Error) throw read;
      return Promise.resolve({ diagnostics: [], ...read });
    },
    import: async (request) => {
      asked.push({ import: request });
      return Promise.resolve({
        diagnostics: importProblem === undefined ? [] : [problem(importProblem)],
        objects: imports.map((one) => ({
          type: "cloud_thing",
          privateBytes: bytes("imported"),
          ...one,
        })),
      });
    },
  };
  const use = {
    provider,
    secrets,
    typeSchema: () => (hasType ? { ...SCHEMA, ...schema } : undefined),
  } as unknown as ProviderInstance;
  return { use, asked, secrets };
}

function object(kind: ObjectOperation["kind"], more: Partial<ObjectOperation> = {}) {
  const operation: ObjectOperation = {
    id: "op",
    kind,
    started: true,
    run: "R",
    epoch: 1n,
    replace: false,
    ...more,
  };
  const found: StateObject = {
    address: "t.a",
    deposed: "",
    ...plan(),
    phase: kind === "create" ? "creating" : kind === "update" ? "updating" : "deleting",
    operation,
    privateBytes: kind === "create" ? new Uint8Array() : bytes("before"),
    observedAtMs: 0,
    epoch: 1n,
    revision: 1n,
    aliases: [],
    ...(kind !== "create" && {
      value: {
        schemaVersion: 1,
        json: '{"id":"old","value":"v","secret":"s3cret"}',
        sensitive: [Path.root.attribute("value")],
      },
    }),
  };
  return { found, operation };
}

async function outcomeOf(
  answers: Answers,
  kind: ObjectOperation["kind"],
  more: Partial<ObjectOperation> = {},
) {
  const { use, asked } = providerOf(answers);
  const { found, operation } = object(kind, more);
  return { outcome: await resolveOperation(found, operation, use, {}), asked };
}

const lost = (kind: string, why: string) => ({
  kind: "unresolved",
  problem: `It is not known whether the ${kind} took place: ${why}.`,
});
const texts = (paths: readonly Path[] = []): string[] => paths.map(String);

describe.each(["update", "delete"] as const)("a lost %s", (kind) => {
  it("is resolved by a read of the object, whose secrets stay marked", async () => {
    const { outcome, asked } = await outcomeOf({ read: { state: thing("old", "new") } }, kind);
    if (outcome.kind !== "exists") throw new Error(outcome.kind);
    expect(outcome.tainted).toBe(false);
    expect(JSON.parse(outcome.content.value.json)).toMatchObject({ id: "old", value: "new" });
    expect(texts(outcome.content.value.sensitive)).toEqual([".secret", ".value"]);
    expect(outcome.content.value.schemaVersion).toBe(1);
    expect(outcome.content.privateBytes).toEqual(bytes("before"));
    expect(asked).toMatchObject([
      { read: { privateBytes: bytes("before"), deferralAllowed: false } },
    ]);
  });

  it("has the private bytes and the secrets that the read says", async () => {
    const sensitive = [Path.root.attribute("id")];
    const read = { state: thing("old"), privateBytes: bytes("after"), sensitive };
    const { outcome } = await outcomeOf({ read }, kind);
    if (outcome.kind !== "exists") throw new Error(outcome.kind);
    expect(outcome.content.privateBytes).toEqual(bytes("after"));
    expect(texts(outcome.content.value.sensitive)).toContain(".id");
  });

  it("keeps the taint of the object", async () => {
    const { outcome } = await outcomeOf({ read: { state: thing("old") } }, kind, { tainted: true });
    expect(outcome).toMatchObject({ kind: "exists", tainted: true });
  });

  it("has left nothing where the read finds nothing", async () => {
    const { outcome } = await outcomeOf({ read: { state: NOTHING } }, kind);
    expect(outcome).toEqual({ kind: "absent" });
  });

  it.each<[string, Answers["read"], string]>([
    [
      "says an error",
      { diagnostics: [problem("no"), problem("never")], state: thing("x") },
      "no; never",
    ],
    ["has no answer", {}, ""],
    ["fails", new Error("it is away"), "it is away"],
  ])("stays unresolved where the read %s", async (_what, read, why) => {
    const { outcome } = await outcomeOf({ ...(read !== undefined && { read }) }, kind);
    expect(outcome).toEqual(lost(kind, why));
  });
});

describe("a lost create", () => {
  it("is found by the id that was planned", async () => {
    const answers = { imports: [{ state: thing("i-1") }], read: { state: thing("i-1", "new") } };
    const { outcome, asked } = await outcomeOf(answers, "create", {
      probe: { importId: "i-1", hint: "look" },
    });
    if (outcome.kind !== "exists") throw new Error(outcome.kind);
    expect(outcome.tainted).toBe(false);
    expect(JSON.parse(outcome.content.value.json)).toMatchObject({ id: "i-1", value: "new" });
    expect(texts(outcome.content.value.sensitive)).toEqual([".secret"]);
    expect(outcome.content.privateBytes).toEqual(bytes("imported"));
    expect(asked).toMatchObject([
      { import: { id: "i-1", type: "cloud_thing" } },
      { read: { privateBytes: bytes("imported") } },
    ]);
  });

  it("keeps the taint of an object whose provisioners have not run", async () => {
    const answers = { imports: [{ state: thing("i-1") }], read: { state: thing("i-1") } };
    const { outcome } = await outcomeOf(answers, "create", {
      tainted: true,
      probe: { importId: "i-1", hint: "look" },
    });
    expect(outcome).toMatchObject({ kind: "exists", tainted: true });
  });

  const by = { probe: { importId: "i-1", hint: "Look for it." } };
  it.each<[string, Answers, string]>([
    ["nothing is imported", {}, 'nothing was found under the id "i-1"'],
    ["nothing is there", { imports: [{ state: NOTHING }] }, 'nothing was found under the id "i-1"'],
    [
      "an object of another type is imported",
      { imports: [{ type: "other", state: thing("i-1") }] },
      'nothing was found under the id "i-1"',
    ],
    [
      "the read finds nothing",
      { imports: [{ state: thing("i-1") }], read: { state: NOTHING } },
      'nothing was found under the id "i-1"',
    ],
    [
      "another object is found",
      { imports: [{ state: thing("i-1") }], read: { state: thing("i-2") } },
      'what is found under "i-1" has another id',
    ],
    ["the import says an error", { importProblem: "no" }, "no"],
    [
      "the read says an error",
      {
        imports: [{ state: thing("i-1") }],
        read: { diagnostics: [problem("no")], state: thing("i-1") },
      },
      "no",
    ],
  ])("stays unresolved where %s, with what to look for", async (_what, answers, why) => {
    const { outcome } = await outcomeOf(answers, "create", by);
    const { kind, problem: text } = lost("create", why);
    expect(outcome).toEqual({ kind, problem: `${text} Look for it.` });
  });

  it("stays unresolved where nothing is known to find it by, and nothing is asked", async () => {
    const { outcome, asked } = await outcomeOf({}, "create", { probe: { hint: "Look for it." } });
    expect(outcome).toMatchObject({
      kind: "unresolved",
      problem: expect.stringContaining("Look for it.") as string,
    });
    expect(asked).toEqual([]);
  });

  it("has left nothing where its objects exist in the state alone", async () => {
    const { outcome, asked } = await outcomeOf({ schema: { stateOnly: true } }, "create");
    expect(outcome).toEqual({ kind: "absent" });
    expect(asked).toEqual([]);
  });

  it("has left nothing where nothing has its identity", async () => {
    const identity = { schemaVersion: 0, json: '{"name":"n"}' };
    const answers = { schema: { identity: IDENTITY } };
    const { outcome, asked } = await outcomeOf(answers, "create", {
      probe: { identity, hint: "" },
    });
    expect(outcome).toEqual({ kind: "absent" });
    const [first] = asked as { import: { id: string; identity: Value } }[];
    expect(first?.import.id).toBe("");
    expect(first?.import.identity.rawEquals(named("n"))).toBe(true);
  });

  it("is what its provider reads of the notes, and tainted", async () => {
    const { use, asked } = providerOf({
      schema: { hasNotes: true },
      read: { state: thing("i-1") },
    });
    const { found, operation } = object("create");
    const noted = { ...found, notes: [bytes("one"), bytes("two")] };
    const outcome = await resolveOperation(noted, operation, use, {});
    expect(outcome).toMatchObject({ kind: "exists", tainted: true });
    if (outcome.kind !== "exists") throw new Error(outcome.kind);
    expect(Buffer.from(outcome.content.privateBytes).toString()).toBe("onetwo");
    const [first] = asked as { read: { privateBytes: Uint8Array; noted: unknown } }[];
    expect(Buffer.from(first?.read.privateBytes ?? []).toString()).toBe("onetwo");
    expect(first?.read.noted).toEqual({ kind: "undecided" });
  });

  it("has left nothing where the notes are of nothing", async () => {
    const answers = { schema: { hasNotes: true }, read: { state: NOTHING } };
    expect((await outcomeOf(answers, "create")).outcome).toEqual({ kind: "absent" });
  });
});

describe("an object that the user names", () => {
  it("is taken whatever id it says itself", async () => {
    const { use } = providerOf({
      imports: [{ state: thing("x") }],
      read: { state: thing("other") },
    });
    const { found, operation } = object("create");
    expect(await resolveById(found, operation, "x", use, {})).toMatchObject({ kind: "exists" });
  });

  it("stays unresolved where nothing is found under it", async () => {
    const { use } = providerOf({});
    const { found, operation } = object("create");
    expect(await resolveById(found, operation, "x", use, {})).toEqual(
      lost("create", 'nothing was found under the id "x"'),
    );
  });

  it("of a type with notes is the part with that id", async () => {
    const { use, asked } = providerOf({ schema: { hasNotes: true }, read: { state: thing("x") } });
    const { found, operation } = object("create");
    await resolveById(found, operation, "x", use, {});
    expect(asked).toMatchObject([{ read: { noted: { kind: "id", id: "x" } } }]);
  });
});

describe("an object that the user says is absent", () => {
  it("is so without a call", async () => {
    const { use, asked } = providerOf({});
    const { found, operation } = object("create");
    expect(await resolveAbsent(found, operation, use, {})).toEqual({ kind: "absent" });
    expect(asked).toEqual([]);
  });

  it("of a type with notes is what is left of them", async () => {
    const { use, asked } = providerOf({
      schema: { hasNotes: true },
      read: { state: thing("rest") },
    });
    const { found, operation } = object("create");
    expect(await resolveAbsent(found, operation, use, {})).toMatchObject({ kind: "exists" });
    expect(asked).toMatchObject([{ read: { noted: { kind: "absent" } } }]);
  });
});

it("a type that the provider does not have leaves the operation unresolved", async () => {
  const { use } = providerOf({}, false);
  const { found, operation } = object("update");
  expect(await resolveOperation(found, operation, use, {})).toEqual(
    lost("update", "the provider does not have the type cloud_thing"),
  );
});

it("why an operation is unresolved is stored without the secrets that a provider repeats", async () => {
  const { use, secrets } = providerOf({ read: new Error("the password hunter2-long is wrong") });
  secrets.add("hunter2-long");
  const { found, operation } = object("update");
  expect(await resolveOperation(found, operation, use, {})).toEqual(
    lost("update", "the password (sensitive value) is wrong"),
  );
});
