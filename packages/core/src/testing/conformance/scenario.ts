import { inspect } from "node:util";
import { EMPTY_BUNDLE, resolveVariables } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine } from "../../engine.ts";
import type { RunEvent } from "../../events.ts";
import type { ResourceChange } from "../../plan/change.ts";
import type { Plan, PlanOptions } from "../../plan/plan.ts";
import { decodePlan, encodePlan } from "../../plan/plan-codec.ts";
import { builtinOrigin, inProcessOrigin } from "../../providers/builtin-origin.ts";
import { createTestState } from "../state-fixture.ts";
import { createMockProvider, MockCloud } from "./mock-provider.ts";

/** One plan and apply of a scenario. What is left out is not looked at. */
interface ScenarioStep {
  readonly config: string | Readonly<Record<string, string>>;
  readonly options?: PlanOptions;
  /** Done to the cloud before the step. */
  readonly before?: (cloud: MockCloud) => void;
  /** Changes that are not no-ops, as `action address`, with `create-first` and the reason where there are any; sorted. */
  readonly plan?: readonly string[];
  /** Summaries of errors; the plan is not made then. */
  readonly errors?: readonly string[];
  /** Calls during plan, without reads of objects. */
  readonly planCalls?: readonly string[];
  /** Calls during apply, in order; `sorted` where the order does not matter. */
  readonly calls?: readonly string[];
  readonly sorted?: boolean;
  /** @default "applied" */
  readonly status?: "applied" | "partially_applied" | "failed";
  /** How steps ended that did not end well: `skipped b because a`. */
  readonly left?: readonly string[];
  /** More to look at in the plan. */
  readonly check?: (plan: Plan) => void;
  readonly outputs?: Readonly<Record<string, string>>;
  /** Addresses in the state afterwards, with ` (deposed)` or ` (tainted)`. */
  readonly state?: readonly string[];
  /** Texts that are to be found neither in the plan, nor in the state, nor in events and diagnostics. */
  readonly nowhere?: readonly string[];
  /** More to look at in the cloud when the step is over. */
  readonly after?: (cloud: MockCloud) => void;
  /** Make the plan only. */
  readonly planOnly?: boolean;
}

const REQUIRED =
  'terraform {\n  required_providers {\n    mock = { source = "test.local/conf/mock" }\n  }\n}\n';

/** A test of one planning behaviour: steps on one stack, each with what is expected of it. */
export function scenario(name: string, steps: readonly ScenarioStep[]): void {
  it(name, async () => {
    const cloud = new MockCloud();
    const { state } = createTestState();
    const engine = createEngine({
      origins: [
        builtinOrigin(),
        inProcessOrigin("mock", { "test.local/conf/mock": () => createMockProvider(cloud) }),
      ],
    });
    for (const [at, step] of steps.entries()) {
      const where = `step ${at + 1}`;
      step.before?.(cloud);
      cloud.calls.length = 0;
      const files = typeof step.config === "string" ? { "main.tf": step.config } : step.config;
      const configuration = await loadConfiguration(bundle(files));
      const { values: variables } = resolveVariables(configuration.root.config.variables, []);
      const seen: unknown[] = [];
      const onEvent = (event: RunEvent): void => void seen.push(event);
      const { plan: made, diagnostics } = await engine.plan({
        state,
        configuration,
        variables,
        parallelism: 1,
        onEvent,
        ...(step.options && { options: step.options }),
      });
      const errors = diagnostics.filter(({ severity }) => severity === "error");
      if (step.errors !== undefined) {
        expect(
          errors.map(({ summary }) => summary),
          where,
        ).toEqual(step.errors);
        expect(made, where).toBeUndefined();
        step.after?.(cloud);
        continue;
      }
      expect(errors, where).toEqual([]);
      if (made === undefined) throw new Error(`${where} has no plan`);
      // What is applied has been through its stored form, as an approved plan has.
      const plan = decodePlan(encodePlan(made));
      expect(new TextDecoder().decode(encodePlan(plan)), where).toBe(
        new TextDecoder().decode(encodePlan(made)),
      );
      if (step.plan !== undefined) expect(describePlan(plan), where).toEqual(step.plan);
      if (step.planCalls !== undefined) {
        expect(
          cloud.calls.filter((call) => !call.startsWith("read ")),
          where,
        ).toEqual(step.planCalls);
      }
      step.check?.(plan);
      if (step.planOnly === true) {
        expectNowhere(step.nowhere, [plan, seen], where);
        step.after?.(cloud);
        continue;
      }
      cloud.calls.length = 0;
      const { revision } = await state.head();
      const result = await engine.apply({
        state,
        plan,
        configuration,
        variables,
        parallelism: 1,
        onEvent,
      });
      if (step.status === undefined)
        expect(
          result.diagnostics.filter(({ severity }) => severity === "error"),
          where,
        ).toEqual([]);
      expect(result.status, where).toBe(step.status ?? "applied");
      // Who lost the result reads it there.
      const [entry] = await state.history({ limit: 1 });
      if (result.head.revision > revision) expect(entry?.status, where).toBe(result.status);
      if (step.calls !== undefined) {
        expect(step.sorted === true ? cloud.calls.toSorted() : cloud.calls, where).toEqual(
          step.calls,
        );
      }
      if (step.left !== undefined) {
        const left = result.nodes
          .filter(({ status }) => status !== "done")
          .map(
            ({ status, address, cause }) =>
              `${status} ${address}${cause === undefined ? "" : ` because ${cause}`}`,
          );
        expect(left.toSorted(), where).toEqual(step.left);
      }
      step.after?.(cloud);
      const snapshot = await state.read();
      expectNowhere(step.nowhere, [plan, seen, result, snapshot], where);
      expect(snapshot.head.run, where).toBe("");
      if (step.outputs !== undefined) {
        const outputs = [...snapshot.outputs].map(([key, { json }]) => [key, json]);
        expect(Object.fromEntries(outputs), where).toEqual(step.outputs);
      }
      if (step.state !== undefined) {
        const objects = [...snapshot.objects.values()].map(
          ({ address, deposed, phase }) =>
            `${address}${deposed === "" ? "" : " (deposed)"}${phase === "ready" ? "" : ` (${phase})`}`,
        );
        expect(objects.toSorted(), where).toEqual(step.state);
      }
      if (result.status === "applied" && step.options === undefined) {
        const again = await engine.plan({ state, configuration, variables });
        expect(again.plan && describePlan(again.plan), `${where}, once more`).toEqual([]);
      }
    }
  });
}

/** Looks for texts in everything that a run leaves behind or tells. */
function expectNowhere(texts: readonly string[] = [], left: readonly unknown[], where: string) {
  const all = left.map((one) => inspect(one, { depth: Infinity, maxStringLength: Infinity }));
  const [plan] = left as [Plan];
  all.push(new TextDecoder().decode(encodePlan(plan)));
  for (const text of texts) expect(all.join("\n"), where).not.toContain(text);
}

function bundle(files: Readonly<Record<string, string>>) {
  const texts = new Map(
    Object.entries(files).map(([name, text]) => [
      name,
      text.includes("mock_") && !text.includes("required_providers") ? REQUIRED + text : text,
    ]),
  );
  return {
    ...EMPTY_BUNDLE,
    names: (folder: string) =>
      [...texts.keys()]
        .flatMap((name) => {
          if (folder === ".") return [name];
          return name.startsWith(`${folder}/`) ? [name.slice(folder.length + 1)] : [];
        })
        .filter((name) => !name.includes("/")),
    read: (name: string) => new TextEncoder().encode(texts.get(name)),
  };
}

function describePlan({ changes }: Plan): string[] {
  return changes.filter(isShown).map(describe).toSorted();
}

function isShown({ action, previousAddress, importing }: ResourceChange): boolean {
  return action !== "no-op" || previousAddress !== undefined || importing !== undefined;
}

function describe(change: ResourceChange): string {
  const { action, address, deposed, order, reason, previousAddress, importing } = change;
  return [
    action,
    ...(order === "create-first" ? ["create-first"] : []),
    address,
    ...(deposed === "" ? [] : ["(deposed)"]),
    ...(previousAddress === undefined ? [] : [`was ${previousAddress}`]),
    ...(importing === undefined ? [] : [`import ${importing.id}`]),
    ...(reason === undefined ? [] : [reason]),
  ].join(" ");
}
