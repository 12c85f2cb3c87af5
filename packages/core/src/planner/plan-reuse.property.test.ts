import { randomBytes } from "node:crypto";
import { createManualClock } from "@stackwright/base/testing";
import { Value } from "@stackwright/cty";
import { EMPTY_BUNDLE, resolveVariables } from "@stackwright/lang";
import { ProviderAddress } from "@stackwright/provider-source";
import fc from "fast-check";
import { expect, it } from "vitest";
import { executePlan } from "../apply/execute.ts";
import { loadConfiguration } from "../configuration/configuration.ts";
import { encodePlan } from "../plan/plan-codec.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createCatalog } from "../providers/catalog.ts";
import type { StackSnapshot } from "../state/stack-state.ts";
import type { StateObject } from "../state/state-object.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { PlanMemory } from "./plan-memory.ts";
import { createPlan } from "./planner.ts";

/** How often a resource exists. */
const REPEATS = ["single", "count", "for_each"] as const;

/** A configuration whose parts are numbers, so that an edit is another number. */
interface Model {
  readonly resources: readonly {
    readonly repeat: (typeof REPEATS)[number];
    readonly many: number;
    readonly input: number;
    readonly extra: number;
  }[];
  readonly locals: readonly number[];
  readonly outputs: readonly number[];
  readonly module: { readonly many: number; readonly input: number; readonly inner: number };
  readonly values: readonly string[];
}

const RESOURCES = 5;
const LOCALS = 3;

const arbitraryModel: fc.Arbitrary<Model> = fc.record({
  resources: fc.array(
    fc.record({
      repeat: fc.constantFrom(...REPEATS),
      many: fc.nat(11),
      input: fc.nat(40),
      extra: fc.nat(20),
    }),
    { minLength: RESOURCES, maxLength: RESOURCES },
  ),
  locals: fc.array(fc.nat(40), { minLength: LOCALS, maxLength: LOCALS }),
  outputs: fc.array(fc.nat(40), { minLength: 2, maxLength: 2 }),
  module: fc.record({ many: fc.nat(5), input: fc.nat(40), inner: fc.nat(8) }),
  values: fc.array(fc.constantFrom("x", "y", "z"), { minLength: 2, maxLength: 2 }),
});

/** An expression of what comes before the place `at` in the order of resources. */
function expression(model: Model, choice: number, at: number): string {
  const earlier = model.resources.slice(0, at);
  const options = ['"a"', '"b"', "var.v0", "var.v1", "{ k = var.v0, l = [1, var.v1] }"];
  if (at > 1) options.push("local.l0", '"${jsonencode(local.l0)}-"');
  if (at > 2) options.push("local.l1", "length(jsonencode(local.l1)) > 12 ? 1 : 2");
  if (at > 3) options.push("local.l2", "module.m", "module.m[*]");
  for (const [index, { repeat }] of earlier.entries()) {
    const name = `terraform_data.r${index}`;
    if (repeat === "single") options.push(`${name}.output`, `${name}.id`, name);
    else if (repeat === "count") {
      options.push(`${name}[*].output`, `try(${name}[0].output, "none")`, `length(${name})`);
      options.push(`try(${name}[1].id, "none")`);
    } else {
      options.push(`{ for k, v in ${name} : k => v.output }`, `try(${name}["a"].id, "none")`);
      options.push(`length(keys(${name}))`);
    }
  }
  return options[choice % options.length] ?? '"a"';
}

function filesOf(model: Model): ReadonlyMap<string, string> {
  const resources = model.resources.map(({ repeat, many, input, extra }, at) => {
    const lines: string[] = [];
    if (repeat === "count") {
      lines.push(`count = ${["0", "1", "2", "3", "length(var.v0)", "20"][many % 6]}`);
    } else if (repeat === "for_each") {
      const sets = [
        'toset(["a", "b"])',
        '{ a = "x", b = var.v1 }',
        "{ for k in [var.v0] : k => 1 }",
      ];
      if (at > 2) sets.push('{ a = local.l1, c = "d" }');
      lines.push(`for_each = ${sets[many % sets.length]}`);
    }
    const before = at === 0 ? undefined : `terraform_data.r${extra % at}`;
    const own =
      repeat === "for_each" && input % 3 === 0
        ? "[each.key, each.value]"
        : repeat === "count" && input % 3 === 0
          ? `[count.index, ${expression(model, input, at)}]`
          : expression(model, input, at);
    lines.push(`input = ${own}`);
    if (extra % 5 === 1) lines.push(`triggers_replace = ${expression(model, extra, at)}`);
    if (extra % 7 === 1 && before !== undefined) lines.push(`depends_on = [${before}]`);
    const life: string[] = [];
    if (extra % 6 === 2) life.push("create_before_destroy = true");
    if (extra % 6 === 3) life.push("ignore_changes = [input]");
    if (extra % 9 === 4 && before !== undefined) life.push(`replace_triggered_by = [${before}]`);
    if (extra % 8 === 5) {
      life.push('precondition {\n condition = var.v0 != "q"\n error_message = "no"\n }');
    }
    if (life.length > 0) lines.push(`lifecycle {\n ${life.join("\n ")}\n}`);
    return `resource "terraform_data" "r${at}" {\n  ${lines.join("\n  ")}\n}\n`;
  });
  const main = [
    ...resources,
    ...model.locals.map(
      (choice, at) => `locals {\n l${at} = ${expression(model, choice, at + 1)}\n}\n`,
    ),
    ...model.outputs.map((choice, at) => {
      const check =
        choice % 5 === 0
          ? 'precondition {\n condition = var.v1 != "q"\n error_message = "no"\n }'
          : "";
      return `output "o${at}" {\n value = ${expression(model, choice, RESOURCES)}\n ${check}\n}\n`;
    }),
    `module "m" {\n source = "./m"\n ${["", "count = 0", "count = 2", "for_each = toset([var.v0])", "", "count = length(var.v1)"][model.module.many]}\n a = ${expression(model, model.module.input, 2)}\n}\n`,
    'check "c" {\n assert {\n condition = var.v0 != "y"\n error_message = "it is ${var.v0}"\n }\n}\n',
  ];
  const inner = [
    'variable "a" {}\nvariable "b" {\n default = "b"\n validation {\n condition = var.b != "q"\n error_message = "no"\n }\n}\n',
    `locals {\n i = [var.a, "${model.module.inner}"]\n}\n`,
    `resource "terraform_data" "x" {\n input = ${["local.i", "var.a", "var.b", '"c"'][model.module.inner % 4]}\n}\n`,
    `output "y" {\n value = ${["terraform_data.x.output", "null", "var.a", "local.i"][model.module.inner % 4]}\n}\n`,
  ];
  return new Map([
    ["main.tf", main.join("\n")],
    ["variables.tf", 'variable "v0" {}\nvariable "v1" {}\n'],
    ["m/main.tf", inner.join("\n")],
  ]);
}

/** What is done to a configuration, or with it, between two plans. */
const arbitraryEdit = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("input", "extra", "many", "repeat"),
      at: fc.nat(RESOURCES - 1),
      choice: fc.nat(40),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("local", "output", "module", "value"),
      at: fc.nat(5),
      choice: fc.nat(40),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("apply", "nothing", "lose", "lose", "find"),
      at: fc.nat(11),
      choice: fc.nat(40),
    }),
  },
);
const APPLY = { kind: "apply", at: 0, choice: 0 } as const;
const NOTHING = { kind: "nothing", at: 0, choice: 0 } as const;
type Edit = typeof arbitraryEdit extends fc.Arbitrary<infer T> ? T : never;

function edited(model: Model, { kind, at, choice }: Edit): Model {
  const replaced = <T>(list: readonly T[], value: (old: T) => T): T[] =>
    list.map((old, index) => (index === at % list.length ? value(old) : old));
  if (kind === "input" || kind === "extra" || kind === "many") {
    return {
      ...model,
      resources: replaced(model.resources, (old) => ({ ...old, [kind]: choice })),
    };
  }
  if (kind === "repeat") {
    const repeat = REPEATS[choice % 3] ?? "single";
    return { ...model, resources: replaced(model.resources, (old) => ({ ...old, repeat })) };
  }
  if (kind === "local") return { ...model, locals: replaced(model.locals, () => choice) };
  if (kind === "output") return { ...model, outputs: replaced(model.outputs, () => choice) };
  if (kind === "value") {
    return { ...model, values: replaced(model.values, () => ["x", "y", "zz"][choice % 3] ?? "x") };
  }
  if (kind === "module") {
    const name = (["many", "input", "inner"] as const)[at % 3] ?? "many";
    const value = name === "many" ? choice % 6 : choice % 9;
    return { ...model, module: { ...model.module, [name]: value } };
  }
  return model;
}

/** A state in which it is not known whether one of the objects exists. */
function withLost(snapshot: StackSnapshot, at: number | undefined): StackSnapshot {
  const key =
    at === undefined ? undefined : [...snapshot.objects.keys()][at % snapshot.objects.size];
  if (key === undefined) return snapshot;
  const objects = Array.from(snapshot.objects, ([name, object]): [string, StateObject] => [
    name,
    name === key ? { ...object, phase: "unresolved" } : object,
  ]);
  return { ...snapshot, objects: new Map(objects) };
}

async function walk(
  model: Model,
  edits: readonly Edit[],
): Promise<{ planned: number; instances: number }> {
  const { state, ulid } = createTestState();
  const clock = createManualClock();
  const catalog = createCatalog([builtinOrigin()], (source) => ProviderAddress.parse(source));
  const memory = new PlanMemory({ readAgeMs: 60_000 });
  const effort = { planned: 0, instances: 0 };
  let now = model;
  /** The place of the recorded object whose last operation has an unknown outcome. */
  let lost: number | undefined;
  for (const edit of [undefined, ...edits]) {
    if (edit !== undefined) now = edited(now, edit);
    if (edit?.kind === "lose") lost = edit.at;
    else if (edit?.kind === "find" || edit?.kind === "apply") lost = undefined;
    const texts = filesOf(now);
    const files = {
      ...EMPTY_BUNDLE,
      names: (folder: string) =>
        [...texts.keys()].flatMap((path) => {
          const [name = "", rest] = path.split("/").reverse();
          return (rest ?? ".") === folder ? [name] : [];
        }),
      read: (path: string) => new TextEncoder().encode(texts.get(path)),
    };
    const configuration = await loadConfiguration(files);
    const given = now.values.map((value, at) => ({
      kind: "value" as const,
      name: `v${at}`,
      value: Value.string(value),
    }));
    const { variables: declared } = configuration.root.config;
    const { values: variables } = resolveVariables(declared, given);
    const common = { configuration, variables, catalog, clock };
    const snapshot = withLost(await state.read(), lost);
    const request = { ...common, stack: "s", sessionId: "x", snapshot };
    const full = await createPlan(request);
    const part = await createPlan({ ...request, memory });
    expect(part.diagnostics.map(({ summary, detail }) => [summary, detail])).toEqual(
      full.diagnostics.map(({ summary, detail }) => [summary, detail]),
    );
    if (full.plan === undefined) {
      expect(part.plan).toBe(undefined);
      continue;
    }
    if (part.plan === undefined) throw new Error("no plan");
    const [wanted, found] = [full.plan, part.plan].map((plan) =>
      Buffer.from(encodePlan(plan)).toString(),
    );
    if (found !== wanted) expect(JSON.parse(found ?? "")).toEqual(JSON.parse(wanted ?? ""));
    expect(found).toBe(wanted);
    if (edit !== undefined) {
      effort.planned += memory.effort.planned;
      effort.instances += memory.effort.instances;
    }
    if (edit?.kind === "apply") {
      await using hold = await state.acquire();
      const applied = await executePlan({
        ...common,
        randomBytes,
        plan: part.plan,
        hold,
        run: ulid(),
        ulid,
      });
      expect(applied.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    }
  }
  return effort;
}

it("after any edits the plan is the one that is made without memory", {
  timeout: 300_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      arbitraryModel,
      fc.array(arbitraryEdit, { maxLength: 12 }),
      fc.boolean(),
      async (model, edits, isApplied) => {
        await walk(model, isApplied ? [APPLY, ...edits] : edits);
      },
    ),
    { numRuns: Math.ceil(30 * Number(process.env.STACKWRIGHT_RUNS ?? 1)) },
  );
});

/** Three instances of each resource, none of which depends on another one. */
const COUNTED: Model = {
  resources: Array.from({ length: RESOURCES }, () => ({
    repeat: "count",
    many: 3,
    input: 0,
    extra: 0,
  })),
  locals: [0, 0, 0],
  outputs: [0, 0],
  module: { many: 2, input: 0, inner: 0 },
  values: ["x", "x"],
};

it("what an edit does not reach is not planned again", async () => {
  // If everything were planned again each time, equal plans would say nothing. After the apply everything is, once.
  const edits = Array.from(
    { length: RESOURCES },
    (_, at): Edit => ({ kind: "input", at, choice: 1 }),
  );
  const { planned, instances } = await walk(COUNTED, [APPLY, NOTHING, ...edits]);
  expect(instances).toBeGreaterThan(100);
  expect(planned).toBeLessThan(instances / 3);
});

it("so it is while the outcome of one of several instances is not known", async () => {
  for (let at = 0; at < 12; at += 1) {
    // The last of the edits compares the instances by their keys.
    const fewer = { kind: "many", at: 0, choice: 2 } as const;
    await walk(COUNTED, [APPLY, { kind: "lose", at, choice: 0 }, fewer]);
  }
});
