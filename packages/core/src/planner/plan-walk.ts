import { forEachLimited } from "@stackwright/base/limiter";
import { unmarkDeep, Value } from "@stackwright/cty";
import { type Diagnostic, expandRepetition, type GraphNode, hasErrors } from "@stackwright/lang";
import { evaluateConditions, validateConditions } from "../walk/conditions.ts";
import { type Keys, keysOf, recordKeys } from "../walk/keys.ts";
import type { CallValues, ModuleInstance } from "../walk/module-instance.ts";
import type { Target } from "../walk/recorder.ts";
import { NOT_OPEN, type ResourceValues } from "../walk/resource-values.ts";
import { blockAddress, unknownInstances } from "./deferral.ts";
import { localName } from "./local-name.ts";
import { planResource } from "./plan-resource.ts";
import type { PlanRun } from "./plan-run.ts";

type NodeOf<K extends GraphNode["kind"]> = Extract<GraphNode, { kind: K }>;

/** Does for one node of the static graph what planning has to do, in all instances of its module. */
export async function visitNode(run: PlanRun, node: GraphNode): Promise<void> {
  switch (node.kind) {
    case "variable":
      return evaluateEach(run, node, (module) => module.variable(node.variable.name).value);
    case "validation":
      return each(
        run,
        node,
        (module) => run.checks.push(...module.validation(node.variable.name)),
        async (module) => run.world.settled(() => module.validation(node.variable.name)),
      );
    case "local":
      return evaluateEach(run, node, (module) => module.scope.local(node.local.name).value);
    case "output":
      return visitOutputs(run, node);
    case "module":
      return each(run, node, (module) => {
        const call = module.calls.get(node.call.name);
        if (call === undefined) return;
        expandCall(run, module, call);
        run.reuse?.keepCall(node, call);
      });
    case "check":
      return each(
        run,
        node,
        (module) => assertions(run, module, node.check),
        async (module) =>
          module.node.config.checks.has(node.check.name)
            ? run.world.settled(() => validateConditions(node.check.assertions, module.scope))
            : undefined,
      );
    case "resource":
      return visitResource(run, node);
    case "provider":
      return run.reuse?.keepProvider(node);
    case "module-outputs":
    case "module-end":
      return run.reuse?.keepGroup(node);
    default:
      return node satisfies never;
  }
}

/** Evaluates something once per module instance, with all calls of provider functions answered. */
async function evaluateEach(
  run: PlanRun,
  node: GraphNode,
  evaluateIt: (module: ModuleInstance) => Value,
): Promise<void> {
  if (run.reuse?.isSameValue(node) === true) return;
  const modules = run.world.modules(node.module.path);
  for (const instance of modules) await run.world.settled(() => evaluateIt(instance));
  run.reuse?.keepValues(node, modules, evaluateIt);
}

/** An output that is what it was is evaluated where something asks for it. */
async function visitOutputs(run: PlanRun, node: NodeOf<"output">): Promise<void> {
  const { name } = node.output;
  if (run.reuse?.isSameValue(node) === true) {
    run.emptyOutputs.push(...run.reuse.sameEmptyOutputs(node));
    return;
  }
  const empty: string[] = [];
  await each(
    run,
    node,
    (module) => {
      if (visitOutput(run, module, node)) empty.push(module.addressOf(`output.${name}`));
    },
    async (module) => run.world.settled(() => module.output(name)),
  );
  run.emptyOutputs.push(...empty);
  run.reuse?.keepEmptyOutputs(node, empty);
  const modules = run.world.modules(node.module.path);
  run.reuse?.keepValues(node, modules, (module) => module.output(name).value);
}

async function each(
  run: PlanRun,
  { module }: GraphNode,
  visit: (module: ModuleInstance) => unknown,
  prepare?: (module: ModuleInstance) => Promise<unknown>,
): Promise<void> {
  for (const instance of run.world.modules(module.path)) {
    await prepare?.(instance);
    visit(instance);
  }
}

function assertions(
  run: PlanRun,
  module: ModuleInstance,
  { name, assertions: conditions }: NodeOf<"check">["check"],
): void {
  // Not in an instance that a test replaces.
  if (!module.node.config.checks.has(name)) return;
  const address = module.addressOf(`check.${name}`);
  if (run.unreadChecks.has(address)) return;
  evaluateConditions({
    address,
    kind: "check",
    conditions,
    scope: module.scope,
    report: (diagnostics) => run.report(diagnostics),
    keep: (result) => run.checks.push(result),
    tellOpen: true,
  });
}

/** An output is evaluated with its conditions; what came of those is kept. Whether it is one of a module, and null. */
function visitOutput(run: PlanRun, module: ModuleInstance, { output }: NodeOf<"output">): boolean {
  const { value, conditions: results = [] } = module.output(output.name);
  const address = module.addressOf(`output.${output.name}`);
  for (const [index, { status, message }] of results.entries()) {
    run.checks.push({
      address,
      kind: "output",
      index,
      status,
      ...(message !== undefined && { message }),
    });
  }
  return module.address !== "" && unmarkDeep(value)[0].isNull;
}

/** Works out which instances there are; undefined after an error, which is reported. */
function expand(
  run: PlanRun,
  module: ModuleInstance,
  what: Parameters<typeof expandRepetition>[0],
  name: string,
): { readonly keys: Keys; readonly targets: ReadonlySet<Target> } | undefined {
  const diagnostics: Diagnostic[] = [];
  const { result, targets } = run.world.recorder.record(() =>
    expandRepetition(what, module.scope.forInstance({}), diagnostics),
  );
  run.report(diagnostics);
  if (hasErrors(diagnostics) || result.kind === "invalid") return undefined;
  if (result.kind === "unknown" && run.given.staged) {
    const address = blockAddress(module.node.path, name);
    run.waiting.set(address, { address, because: unknownInstances(what) });
    return undefined;
  }
  if (result.kind === "unknown") {
    const { reason } = result;
    run.report([{ ...reason, detail: `${reason.detail}\n\n${IN_STAGES}` }]);
    return undefined;
  }
  return { keys: keysOf(result), targets };
}

/** The way out. The reference command has none but targets that are applied first. */
const IN_STAGES =
  "In stages it can be planned: with the option --staged, or with staged for a run on a server, what is known now is applied first, and the rest is planned after that.";

function expandCall(run: PlanRun, module: ModuleInstance, call: CallValues): void {
  const expansion = expand(run, module, call.config, `module.${call.config.name}`);
  if (expansion === undefined) {
    call.isUnknown = true;
    return;
  }
  call.expand(expansion.keys, expansion.targets);
  run.expansions.push({ address: call.address, keys: recordKeys(expansion.keys) });
}

async function visitResource(run: PlanRun, node: NodeOf<"resource">): Promise<void> {
  const modules = run.world.modules(node.module.path);
  const name = localName(node.resource);
  const expanded: { resource: ResourceValues; around: ReadonlySet<Target> }[] = [];
  for (const module of modules) {
    const resource = module.resources.get(name);
    // Not in an instance that a test replaces.
    if (resource === undefined) continue;
    const expansion = expand(run, module, node.resource, name);
    if (expansion === undefined) {
      // What depends on it is evaluated, too: all that is wrong, or that waits, is found at once.
      resource.placeholder = node.resource.mode === "ephemeral" ? NOT_OPEN : Value.dynamic;
      continue;
    }
    resource.expand(expansion.keys);
    run.expansions.push({ address: resource.address, keys: recordKeys(expansion.keys) });
    resource.targets = expansion.targets;
    const around = new Set<Target>([...module.around, ...expansion.targets]);
    expanded.push({ resource, around });
  }
  if (node.resource.mode === "ephemeral") {
    await openAll(
      run,
      expanded.map(({ resource }) => resource),
    );
    return;
  }
  await forEachLimited(expanded, run.given.parallelism, async ({ resource, around }) =>
    planResource(run, node, resource, around),
  );
}

/** Opens the instances of an ephemeral resource. Those that the plan is not about stay unknown. */
async function openAll(run: PlanRun, resources: readonly ResourceValues[]): Promise<void> {
  const slots = resources.flatMap((resource) => [...resource.slots.values()]);
  await forEachLimited(slots, run.given.parallelism, async (slot) => {
    if (run.given.isIncluded(slot.address)) await run.ephemerals.openInstance(slot);
    else slot.value = NOT_OPEN;
  });
}

/** Closes all instances of an ephemeral resource, in all instances of its module. */
export async function closeEphemerals(run: PlanRun, node: NodeOf<"resource">): Promise<void> {
  const name = `ephemeral.${node.resource.type}.${node.resource.name}`;
  for (const module of run.world.modules(node.module.path)) {
    const resource = module.resources.get(name);
    if (resource !== undefined) await run.ephemerals.close(resource.address);
  }
}
