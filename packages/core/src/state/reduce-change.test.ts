import { Path } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { content, edge, plan } from "../testing/state-content.ts";
import { ObjectIndex } from "./object-index.ts";
import { keysOf, reduceChange } from "./reduce-change.ts";
import type { ObjectContent, OperationResult, StateChange } from "./state-change.ts";
import type { ObjectKey, ObjectOperation, ObjectPhase, StateObject } from "./state-object.ts";

const CONTEXT = { run: "R2", epoch: 5n, revision: 9n, nowMs: 2_000 };
const KEY: ObjectKey = { address: "t.a", deposed: "" };
const DEPOSED = "0a1b2c3d";
const OLD: ObjectKey = { address: "t.a", deposed: DEPOSED };
const CONTENT: ObjectContent = content("old");
const NEW: ObjectContent = {
  ...content("new"),
  privateBytes: Buffer.from("new private"),
  identity: { schemaVersion: 1, json: '{"id":"new"}' },
};
const PENDING = ["creating", "updating", "deleting"] as const;
const PHASES = ["ready", "tainted", "unresolved", ...PENDING] as const;

/** An object of an earlier run, in a phase; with an operation where the phase has one. */
function object(phase: ObjectPhase, more: Partial<StateObject> = {}): StateObject {
  const { mode, type, provider, createBeforeDestroy } = plan();
  const isSettled = phase === "ready" || phase === "tainted";
  return {
    ...KEY,
    mode,
    type,
    provider,
    createBeforeDestroy,
    phase,
    dependencies: [],
    observedAtMs: 1_000,
    epoch: 3n,
    revision: 4n,
    aliases: [],
    privateBytes: new Uint8Array(),
    ...(!isSettled && { operation: operation(phase === "updating" ? "update" : "create") }),
    ...(phase !== "creating" && CONTENT),
    ...more,
  };
}

function operation(
  kind: ObjectOperation["kind"],
  more: Partial<ObjectOperation> = {},
): ObjectOperation {
  return { id: "op", kind, started: true, run: "R1", epoch: 3n, replace: false, ...more };
}

const placeholder = (more: Partial<StateObject> = {}): StateObject =>
  object("creating", { operation: operation("create", { started: false }), ...more });

const reduce = (objects: readonly StateObject[], change: StateChange) =>
  reduceChange(new ObjectIndex(objects), change, CONTEXT);

/** The only object that a step leaves. */
function after(objects: readonly StateObject[], change: StateChange): StateObject | undefined {
  const edits = reduce(objects, change);
  expect(edits).toHaveLength(1);
  return edits[0]?.after;
}

const settle = (outcome: OperationResult, key = KEY): StateChange => ({
  kind: "settle",
  key,
  operation: "op",
  outcome,
});

const refusal = (message: string) =>
  expect.objectContaining({
    code: "ENGINE_STATE_TRANSITION",
    message: expect.stringContaining(message) as string,
    details: { addresses: ["t.a"] },
  }) as Error;

describe("a create", () => {
  const change: StateChange = {
    kind: "create",
    key: KEY,
    object: { ...plan("t.b"), createBeforeDestroy: true },
    operation: {
      id: "new",
      tainted: true,
      probe: { hint: "look for it" },
      sensitive: [Path.root.attribute("password")],
    },
  };

  it("announces what will be made, by whom and when", () => {
    expect(after([], change)).toEqual({
      ...KEY,
      ...plan("t.b"),
      createBeforeDestroy: true,
      phase: "creating",
      operation: {
        id: "new",
        kind: "create",
        started: true,
        run: "R2",
        epoch: 5n,
        replace: false,
        tainted: true,
        probe: { hint: "look for it" },
        sensitive: [Path.root.attribute("password")],
      },
      privateBytes: new Uint8Array(),
      observedAtMs: 2_000,
      epoch: 5n,
      revision: 9n,
      aliases: [],
    });
  });

  it("takes the place of a placeholder, with the former addresses of it", () => {
    const before = placeholder({ aliases: ["t.old"] });
    const [edit] = reduce([before], change);
    expect(edit?.before).toBe(before);
    expect(edit?.after?.aliases).toEqual(["t.old"]);
  });

  it.each(PHASES)("is refused where an object is %s", (phase) => {
    expect(() => reduce([object(phase)], change)).toThrow(
      refusal(`there is an object already, which is ${phase}`),
    );
  });

  it("is refused under a deposed key", () => {
    expect(() => reduce([], { ...change, key: OLD })).toThrow(
      refusal(`create of t.a deposed ${DEPOSED}: a deposed object cannot be created`),
    );
  });
});

describe("an update", () => {
  const change: StateChange = { kind: "update", key: KEY, operation: { id: "new" } };

  it("keeps what is recorded until it is settled", () => {
    expect(after([object("ready")], change)).toEqual({
      ...object("ready"),
      phase: "updating",
      operation: { ...operation("update"), id: "new", run: "R2", epoch: 5n },
      epoch: 5n,
      revision: 9n,
    });
  });

  it("adds what the object will need, each of the same kind and scope once", () => {
    const present = [edge("t.b"), { ...edge("t.c"), scope: "resource" } as const];
    const further = [edge("t.c"), { ...edge("t.b"), kind: "explicit" } as const];
    const found = after([object("ready", { dependencies: present })], {
      ...change,
      dependencies: [edge("t.b"), ...further],
    });
    expect(found?.dependencies).toEqual([...present, ...further]);
  });

  it("leaves the list of dependencies as it is where it adds none", () => {
    const dependencies = [edge("t.b")];
    const found = after([object("ready", { dependencies })], {
      ...change,
      dependencies: [edge("t.b")],
    });
    expect(found?.dependencies).toBe(dependencies);
  });

  it.each(PHASES.filter((phase) => phase !== "ready"))(
    "is refused where the object is %s",
    (phase) => {
      expect(() => reduce([object(phase)], change)).toThrow(refusal(`the object is ${phase}`));
    },
  );
});

describe("a delete", () => {
  const change: StateChange = { kind: "delete", key: KEY, operation: { id: "new", replace: true } };

  it("says that others may still depend on what is replaced", () => {
    const found = after([object("ready")], change);
    expect(found).toMatchObject({
      phase: "deleting",
      operation: { kind: "delete", replace: true },
    });
    expect(found?.operation).not.toHaveProperty("tainted");
  });

  it("of a tainted object remembers the taint", () => {
    expect(after([object("tainted")], change)?.operation?.tainted).toBe(true);
  });

  it.each(["unresolved", ...PENDING] as const)("is refused where the object is %s", (phase) => {
    expect(() => reduce([object(phase)], change)).toThrow(refusal(`the object is ${phase}`));
  });

  it("is refused where there is nothing", () => {
    expect(() => reduce([], change)).toThrow(refusal("delete of t.a: there is no such object"));
  });
});

describe("a depose", () => {
  const change: StateChange = { kind: "depose", address: "t.a", deposed: DEPOSED };

  it.each(["ready", "tainted"] as const)(
    "of an object that is %s leaves it so under the deposed key",
    (phase) => {
      const before = object(phase, { aliases: ["t.old"], dependencies: [edge("t.b")] });
      const [old, current] = reduce([before], change);
      expect(old).toEqual({
        key: OLD,
        before: undefined,
        after: { ...before, deposed: DEPOSED, aliases: [], epoch: 5n, revision: 9n },
      });
      expect(current).toEqual({ key: KEY, before, after: undefined });
    },
  );

  it("with a create announces in the same step what takes the place, and for which object", () => {
    const before = object("ready", { aliases: ["t.old"] });
    const create = { object: plan("t.c"), operation: { id: "new" } };
    const [, current] = reduce([before], { ...change, create });
    expect(current?.after).toMatchObject({
      deposed: "",
      phase: "creating",
      dependencies: [edge("t.c")],
      aliases: ["t.old"],
      operation: { id: "new", kind: "create", started: true, deposed: DEPOSED },
    });
    expect(current?.after).not.toHaveProperty("value");
  });

  it("does not overwrite a deposed object", () => {
    const objects = [object("ready"), object("ready", { deposed: DEPOSED })];
    expect(() => reduce(objects, change)).toThrow(
      refusal(`depose of t.a deposed ${DEPOSED}: there is a deposed object with this key`),
    );
  });

  it.each(["unresolved", ...PENDING] as const)("is refused where the object is %s", (phase) => {
    expect(() => reduce([object(phase)], change)).toThrow(refusal(`the object is ${phase}`));
  });
});

describe("a restore", () => {
  const change: StateChange = { kind: "restore", address: "t.a", deposed: DEPOSED };

  it.each(["ready", "tainted"] as const)(
    "of an object that is %s gives it its address back",
    (phase) => {
      const old = object(phase, { deposed: DEPOSED, dependencies: [edge("t.b")] });
      const [current, source] = reduce([old], change);
      expect(current).toEqual({
        key: KEY,
        before: undefined,
        after: { ...old, deposed: "", epoch: 5n, revision: 9n },
      });
      expect(source).toEqual({ key: OLD, before: old, after: undefined });
    },
  );

  it("takes the former addresses of the placeholder that it replaces", () => {
    const objects = [object("ready", { deposed: DEPOSED }), placeholder({ aliases: ["t.old"] })];
    expect(reduce(objects, change)[0]?.after?.aliases).toEqual(["t.old"]);
  });

  it("does not overwrite a current object", () => {
    const objects = [object("ready", { deposed: DEPOSED }), object("tainted")];
    expect(() => reduce(objects, change)).toThrow(
      refusal("there is an object already, which is tainted"),
    );
  });

  it("is refused while the deposed object is being deleted", () => {
    const old = object("deleting", { deposed: DEPOSED });
    expect(() => reduce([old], change)).toThrow(refusal("the object is deleting"));
  });
});

describe("a note", () => {
  const change = { kind: "note", key: KEY, operation: "op", note: Buffer.from("b") } as const;

  it.each(["creating", "updating"] as const)(
    "is added to those of an operation that is %s",
    (phase) => {
      const found = after([object(phase, { notes: [Buffer.from("a")] })], change);
      expect(found?.notes?.map((note) => Buffer.from(note).toString())).toEqual(["ab"]);
      expect(found?.phase).toBe(phase);
    },
  );

  it("is refused where nothing was begun", () => {
    expect(() => reduce([placeholder()], change)).toThrow(
      refusal("note of t.a: the operation op is not the announced one"),
    );
  });

  it.each(["ready", "tainted", "deleting", "unresolved"] as const)(
    "is refused where the object is %s",
    (phase) => {
      expect(() => reduce([object(phase)], change)).toThrow(refusal(`the object is ${phase}`));
    },
  );
});

describe("the outcome of an operation", () => {
  const exists = { kind: "exists", content: NEW, tainted: false } as const;

  it("that something exists is recorded with its content, and the operation and its notes are over", () => {
    const { operation: _over, notes: _noted, ...rest } = object("updating");
    const found = after([object("updating", { notes: [Buffer.from("a")] })], settle(exists));
    expect(found).toStrictEqual({
      ...rest,
      ...NEW,
      phase: "ready",
      observedAtMs: 2_000,
      epoch: 5n,
      revision: 9n,
    });
  });

  it("that something exists with a taint is recorded so", () => {
    expect(after([object("creating")], settle({ ...exists, tainted: true }))?.phase).toBe(
      "tainted",
    );
  });

  it("forgets the identity where the object has none any more", () => {
    const found = after(
      [object("updating", { identity: { schemaVersion: 1, json: "{}" } })],
      settle({ ...exists, content: CONTENT }),
    );
    expect(found).not.toHaveProperty("identity");
  });

  it("says with which dependencies the object exists", () => {
    const patch = { dependencies: [edge("t.c")] };
    const found = after(
      [object("updating", { dependencies: [edge("t.b")] })],
      settle({ ...exists, patch }),
    );
    expect(found?.dependencies).toEqual([edge("t.c")]);
  });

  it("that nothing exists removes the object", () => {
    expect(after([object("deleting")], settle({ kind: "absent" }))).toBeUndefined();
  });

  it("that nothing exists leaves a placeholder for those who depend on it, without content and secrets", () => {
    const before = object("deleting", {
      operation: operation("delete", {
        replace: true,
        tainted: true,
        deposed: DEPOSED,
        problem: "lost",
        probe: { hint: "look" },
        sensitive: [Path.root.attribute("password")],
      }),
      privateBytes: Buffer.from("secret"),
      identity: { schemaVersion: 1, json: "{}" },
      notes: [Buffer.from("secret")],
    });
    const dependent = object("ready", { address: "t.b", dependencies: [edge("t.a")] });
    const { value: _value, identity: _identity, notes: _notes, ...kept } = before;
    expect(after([before, dependent], settle({ kind: "absent" }))).toStrictEqual({
      ...kept,
      phase: "creating",
      operation: operation("create", { started: false, replace: true }),
      privateBytes: new Uint8Array(),
      epoch: 5n,
      revision: 9n,
    });
  });

  it("that a deposed object is gone removes it, although others depend on the address", () => {
    const old = object("deleting", { deposed: DEPOSED });
    const dependent = object("ready", { address: "t.b", dependencies: [edge("t.a")] });
    expect(
      after([old, object("ready"), dependent], settle({ kind: "absent" }, OLD)),
    ).toBeUndefined();
  });

  it.each([
    [undefined, "ready"],
    [true, "tainted"],
  ] as const)(
    "that nothing was done leaves the object as it was, where its taint was %s",
    (tainted, phase) => {
      const before = object("deleting", {
        operation: operation("delete", tainted && { tainted }),
      });
      const found = after([before], settle({ kind: "untouched" }));
      expect(found).toMatchObject({ ...CONTENT, phase, observedAtMs: 1_000 });
      expect(found).not.toHaveProperty("operation");
    },
  );

  it("that a create did nothing is refused: then nothing exists", () => {
    expect(() => reduce([object("creating")], settle({ kind: "untouched" }))).toThrow(
      refusal("settle of t.a: a create that did nothing leaves nothing"),
    );
  });

  it("that is not known keeps operation, notes and content, with the reason", () => {
    const before = object("updating", { notes: [Buffer.from("a")] });
    const found = after([before], settle({ kind: "unresolved", problem: "no answer" }));
    expect(found).toStrictEqual({
      ...before,
      phase: "unresolved",
      operation: { ...operation("update"), problem: "no answer" },
      epoch: 5n,
      revision: 9n,
    });
  });

  it("that is not known has no notes where nothing was noted", () => {
    const found = after([object("updating")], settle({ kind: "unresolved", problem: "no answer" }));
    expect(found).not.toHaveProperty("notes");
  });

  it("is recorded once: a repetition is refused", () => {
    const [edit] = reduce([object("updating")], settle(exists));
    const settled = edit?.after;
    expect(settled).toBeDefined();
    expect(() => reduce(settled === undefined ? [] : [settled], settle(exists))).toThrow(
      refusal("the object is ready"),
    );
  });

  it.each([
    ["another operation", operation("update", { id: "other" })],
    ["one that was not begun", operation("create", { started: false })],
  ])("is refused where the object has %s", (_what, announced) => {
    expect(() => reduce([object("updating", { operation: announced })], settle(exists))).toThrow(
      refusal("the operation op is not the announced one"),
    );
  });
});

describe("a record", () => {
  const record = (patch: Extract<StateChange, { kind: "record" }>["patch"]) =>
    ({ kind: "record", key: KEY, patch }) as const;

  it("changes what it names and nothing else", () => {
    const before = object("ready", { dependencies: [edge("t.b")], createBeforeDestroy: true });
    const written = { epoch: 5n, revision: 9n };
    const provider = { source: "example.com/acme/other", version: "2.0.0", alias: "x" };
    expect(after([before], record({}))).toEqual({ ...before, ...written });
    for (const patch of [
      { provider },
      { type: "other" },
      { dependencies: [] },
      { createBeforeDestroy: false },
      { phase: "tainted" },
    ] as const) {
      expect(after([before], record(patch))).toEqual({ ...before, ...written, ...patch });
    }
    expect(after([before], record({ content: NEW }))).toEqual({ ...before, ...written, ...NEW });
  });

  it("has the time of a read only where something was read", () => {
    expect(after([object("ready")], record({ observed: true }))?.observedAtMs).toBe(2_000);
    expect(after([object("ready")], record({ observed: false }))?.observedAtMs).toBe(1_000);
  });

  it("takes a taint away only where it is said", () => {
    expect(after([object("tainted")], record({ content: NEW }))?.phase).toBe("tainted");
    expect(after([object("tainted")], record({ phase: "ready" }))?.phase).toBe("ready");
  });

  it.each(["unresolved", ...PENDING] as const)("is refused where the object is %s", (phase) => {
    expect(() => reduce([object(phase)], record({}))).toThrow(refusal(`the object is ${phase}`));
  });
});

describe("an adoption", () => {
  const change: StateChange = { kind: "adopt", key: KEY, object: plan("t.b"), content: NEW };

  it("records what exists as read now", () => {
    expect(after([], change)).toEqual({
      ...KEY,
      ...plan("t.b"),
      ...NEW,
      phase: "ready",
      observedAtMs: 2_000,
      epoch: 5n,
      revision: 9n,
      aliases: [],
    });
  });

  it("keeps a taint", () => {
    expect(after([], { ...change, tainted: true })?.phase).toBe("tainted");
  });

  it("does not overwrite an object", () => {
    expect(() => reduce([object("ready")], change)).toThrow(
      refusal("adopt of t.a: there is an object already, which is ready"),
    );
  });
});

describe("a move", () => {
  const TO: ObjectKey = { address: "t.new", deposed: "" };
  const change = { kind: "move", from: KEY, to: TO } as const;

  it.each(["ready", "tainted", "unresolved"] as const)(
    "of an object that is %s takes all of it along",
    (phase) => {
      const before = object(phase, { dependencies: [edge("t.b")] });
      expect(reduce([before], change)).toEqual([
        {
          key: TO,
          before: undefined,
          after: { ...before, ...TO, aliases: ["t.a"], epoch: 5n, revision: 9n },
        },
        { key: KEY, before, after: undefined },
      ]);
    },
  );

  it("collects former addresses, each once and without the present one", () => {
    const before = object("ready", { aliases: ["t.first", "t.new"] });
    const target = placeholder({ address: "t.new", aliases: ["t.x", "t.first"] });
    expect(reduce([before, target], change)[0]?.after?.aliases).toEqual(["t.x", "t.first", "t.a"]);
  });

  it("of a deposed object keeps its key, and leaves no former address", () => {
    const old = object("ready", { deposed: DEPOSED });
    const to = { address: "t.new", deposed: DEPOSED };
    const [moved] = reduce([old], { kind: "move", from: OLD, to });
    expect(moved?.after).toMatchObject({ ...to, aliases: [] });
  });

  it("changes in the same step what follows from it", () => {
    const [moved] = reduce([object("ready")], { ...change, patch: { type: "other" } });
    expect(moved?.after).toMatchObject({ address: "t.new", type: "other", aliases: ["t.a"] });
  });

  it("does not overwrite an object", () => {
    const objects = [object("ready"), object("ready", { address: "t.new" })];
    expect(() => reduce(objects, change)).toThrow("move of t.new: there is an object already");
  });

  it("does not make a deposed object a current one", () => {
    const old = object("ready", { deposed: DEPOSED });
    expect(() => reduce([old], { kind: "move", from: OLD, to: TO })).toThrow(
      refusal("it would change the deposed key"),
    );
  });

  it.each(PENDING)("is refused while the object is %s", (phase) => {
    expect(() => reduce([object(phase)], change)).toThrow(refusal(`the object is ${phase}`));
  });

  it("is refused where there is nothing", () => {
    expect(() => reduce([], change)).toThrow(refusal("move of t.a: there is no such object"));
  });
});

describe("a forget", () => {
  const change: StateChange = { kind: "forget", key: KEY };

  it.each(["ready", "tainted", "unresolved"] as const)("gives up an object that is %s", (phase) => {
    const before = object(phase);
    expect(reduce([before], change)).toEqual([{ key: KEY, before, after: undefined }]);
  });

  it.each(PENDING)("is refused while the object is %s", (phase) => {
    expect(() => reduce([object(phase)], change)).toThrow(refusal(`the object is ${phase}`));
  });

  it("is refused where there is nothing", () => {
    expect(() => reduce([], change)).toThrow(refusal("forget of t.a: there is no such object"));
  });
});

describe("the keys that a step waits for", () => {
  it.each<[StateChange, ObjectKey[]]>([
    [{ kind: "depose", address: "t.a", deposed: DEPOSED }, [KEY, OLD]],
    [{ kind: "restore", address: "t.a", deposed: DEPOSED }, [KEY, OLD]],
    [{ kind: "move", from: KEY, to: OLD }, [KEY, OLD]],
    [{ kind: "forget", key: OLD }, [OLD]],
    [settle({ kind: "absent" }), [KEY]],
  ])("are all that it changes: %o", (change, keys) => {
    expect(keysOf(change)).toEqual(keys);
  });
});
