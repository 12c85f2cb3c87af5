import type { Value } from "@stackwright/cty";
import {
  arrayNode,
  compactJson,
  type JsonNode,
  literalNode,
  objectNode,
  stringNode,
} from "@stackwright/tfstate";
import type { Drift, OutputChange, ResourceChange } from "./change.ts";
import { hasChanges, type Plan, summarizePlan } from "./plan.ts";
import { blankPlan } from "./shown-plan.ts";
import { pathNode, sensitiveMask, unknownMask, valueNode } from "./value-json.ts";

/** Version of the form; members may be added to a version, none change their meaning. */
export const PLAN_JSON_FORMAT = "stackwright.plan/1";

/**
 * A plan for the users and programs that decide about it: what happens, why, in which order, because of what. Stable,
 * with exact numbers, and without secrets: sensitive parts, and what repeats one, are null, and the masks say where
 * they are. What is executed is the stored plan and not this; `digest` names it.
 *
 * @param options.secrets secret texts that no value of the plan holds with a mark
 */
export function planToJson(
  given: Plan,
  digest?: string,
  options: { readonly secrets?: readonly string[] } = {},
): string {
  const plan = blankPlan(given, options.secrets);
  return compactJson(
    objectNode({
      format: stringNode(PLAN_JSON_FORMAT),
      ...(digest !== undefined && { digest: stringNode(digest) }),
      stack: stringNode(plan.stack),
      revision: stringNode(plan.revision.toString()),
      mode: stringNode(plan.mode),
      partial: literalNode(plan.partial),
      created_at_ms: literalNode(plan.createdAtMs),
      ...(plan.configDigest !== undefined && { config_digest: stringNode(plan.configDigest) }),
      workspace: stringNode(plan.workspace),
      has_changes: literalNode(hasChanges(plan)),
      summary: objectNode(
        Object.fromEntries(
          Object.entries(summarizePlan(plan)).map(([name, count]) => [name, literalNode(count)]),
        ),
      ),
      providers: arrayNode(
        plan.providers.map(({ source, version, identity }) =>
          objectNode({
            source: stringNode(source),
            version: stringNode(version),
            ...(identity !== undefined && { identity: stringNode(identity) }),
          }),
        ),
      ),
      ...(plan.deferred !== undefined && {
        deferred: arrayNode(
          plan.deferred.map(({ address, because }) =>
            objectNode({ address: stringNode(address), because: stringNode(because) }),
          ),
        ),
      }),
      changes: arrayNode(plan.changes.map(changeNode)),
      outputs: arrayNode(plan.outputs.map(outputNode)),
      drift: arrayNode(plan.drift.map(driftNode)),
      checks: arrayNode(
        plan.checks.map(({ address, kind, index, status, message }) =>
          objectNode({
            address: stringNode(address),
            kind: stringNode(kind),
            index: literalNode(index),
            status: stringNode(status),
            ...(message !== undefined && { message: stringNode(message) }),
          }),
        ),
      ),
      ...(plan.moves !== undefined && {
        moves: arrayNode(
          plan.moves.map(({ from, to }) =>
            objectNode({ from: stringNode(from), to: stringNode(to) }),
          ),
        ),
      }),
      inputs: arrayNode(
        plan.inputs.map(({ stack, name, revision, outputs }) =>
          objectNode({
            account: stringNode(stack.account),
            project: stringNode(stack.project),
            stack: stringNode(stack.stack),
            name: stringNode(name),
            revision: stringNode(revision.toString()),
            outputs: arrayNode(outputs.map(stringNode)),
          }),
        ),
      ),
    }),
  );
}

function changeNode(change: ResourceChange): JsonNode {
  const { order, reason, previousAddress, importing, createBeforeDestroyFor: forced } = change;
  const { source, version, alias } = change.provider;
  return objectNode({
    address: stringNode(change.address),
    ...(change.deposed !== "" && { deposed: stringNode(change.deposed) }),
    mode: stringNode(change.mode),
    type: stringNode(change.type),
    provider: objectNode({
      source: stringNode(source),
      version: stringNode(version),
      alias: stringNode(alias),
    }),
    action: stringNode(change.action),
    ...(order !== undefined && { order: stringNode(order) }),
    ...(reason !== undefined && { reason: stringNode(reason) }),
    ...(previousAddress !== undefined && { previous_address: stringNode(previousAddress) }),
    ...(importing !== undefined && { import_id: stringNode(importing.id) }),
    ...sidesNodes(change),
    replace_paths: arrayNode(change.replacePaths.map(pathNode)),
    causes: arrayNode(
      change.causes.map(({ path, replaces, because }) =>
        objectNode({
          path: pathNode(path),
          replaces: literalNode(replaces),
          because: arrayNode(because.map(stringNode)),
        }),
      ),
    ),
    dependencies: arrayNode(
      change.dependencies.map(({ address, scope, kind }) =>
        objectNode({
          address: stringNode(address),
          scope: stringNode(scope),
          kind: stringNode(kind),
        }),
      ),
    ),
    ...(change.provisioners !== undefined && {
      provisioners: arrayNode(
        change.provisioners.map(({ when, type, onFailure, summary }) =>
          objectNode({
            when: stringNode(when),
            type: stringNode(type),
            on_failure: stringNode(onFailure),
            ...(summary !== undefined && { summary: stringNode(summary) }),
          }),
        ),
      ),
    }),
    create_before_destroy: literalNode(change.createBeforeDestroy),
    ...(forced !== undefined && { create_before_destroy_for: stringNode(forced) }),
    records_only: literalNode(change.action === "no-op" && change.record),
  });
}

function outputNode(output: OutputChange): JsonNode {
  return objectNode({
    name: stringNode(output.name),
    action: stringNode(output.action),
    sensitive: literalNode(output.sensitive),
    ...sidesNodes(output),
  });
}

function driftNode(drift: Drift): JsonNode {
  return objectNode({
    address: stringNode(drift.address),
    ...(drift.deposed !== "" && { deposed: stringNode(drift.deposed) }),
    relevant: literalNode(drift.relevant),
    ...sidesNodes(drift),
  });
}

function sidesNodes(sides: {
  readonly before?: Value;
  readonly after?: Value;
}): Record<string, JsonNode> {
  const { before, after } = sides;
  return {
    ...(before !== undefined && {
      before: shown(before),
      before_sensitive: sensitiveMask(before),
    }),
    ...(after !== undefined && {
      after: shown(after),
      after_unknown: unknownMask(after),
      after_sensitive: sensitiveMask(after),
    }),
  };
}

function shown(value: Value): JsonNode {
  return valueNode(value) ?? literalNode(null);
}
