import type { Value } from "@stackwright/cty";
import {
  type Diagnostic,
  evaluateImports,
  formatAddress,
  type ImportConfig,
  type ModuleNode,
  type ResolvedImport,
  resourceNodeId,
  unkeyedAddress,
} from "@stackwright/lang";
import { type BlockSchema, hasProviderErrors } from "@stackwright/mux/router";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { StateObject } from "../state/state-object.ts";
import { markObject } from "../walk/object-marks.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { PlanRun } from "./plan-run.ts";
import type { RefreshedObject } from "./read-object.ts";

/** An object that was imported before there is configuration for it. */
interface FoundObject {
  readonly address: string;
  /** Undefined where it was found by an identity. */
  readonly id: string | undefined;
  readonly block: BlockSchema;
  readonly value: Value;
}

/** Takes the objects of resources whose blocks are empty and are to be written: these are imported and not planned. */
export interface ImportCollector {
  /** Of the resources. */
  readonly addresses: ReadonlySet<string>;
  readonly found: (object: FoundObject) => void;
}

/** Import blocks by the id of the node that they are about. */
export type ImportsByNode = ReadonlyMap<string, readonly ImportConfig[]>;

/** Blocks that are about no declaration are errors of the configuration, found before. */
export function importsByNode({ config }: ModuleNode): ImportsByNode {
  const byNode = new Map<string, ImportConfig[]>();
  for (const declaration of config.imports) {
    const target = unkeyedAddress(declaration.to, []);
    if (target?.address.kind !== "resource") continue;
    const id = resourceNodeId(target.address);
    const list = byNode.get(id);
    if (list === undefined) byNode.set(id, [declaration]);
    else list.push(declaration);
  }
  return byNode;
}

/** What is to be imported into the instances of one node, by address. What it refers to has been walked by now. */
export function importRequests(
  run: PlanRun,
  root: ModuleNode,
  declarations: readonly ImportConfig[],
): ReadonlyMap<string, ResolvedImport> {
  if (declarations.length === 0) return new Map();
  const diagnostics: Diagnostic[] = [];
  const only = { ...root, config: { ...root.config, imports: declarations } };
  const requests = evaluateImports(only, run.world.root.scope, diagnostics);
  run.report(diagnostics);
  return new Map(requests.map((request) => [formatAddress(request.to), request]));
}

/** Finds the real object of an import and reads it. Undefined after an error, which is reported. */
export async function importObject(
  run: PlanRun,
  slot: InstanceSlot,
  { id, identity, range }: ResolvedImport,
  { use }: ReadyProvider,
): Promise<RefreshedObject | undefined> {
  const type = slot.resource.config?.type ?? "";
  const schema = use.typeSchema("managed", type);
  if (schema === undefined) return undefined;
  const { signal, onEvent, clock } = run.given;
  const { address } = slot;
  const shown = id === undefined ? {} : { id };
  const context = { address, ...(signal && { signal }) };
  const fail = (summary: string, detail: string): undefined => {
    run.fail(summary, detail, { address, subject: range });
    return undefined;
  };
  const begunMs = clock.monotonicMs();
  onEvent({ type: "read-start", address, deposed: "", ...shown });
  const found = await run.call(address, use, async () =>
    use.provider.import(
      { type, id: id ?? "", ...(identity !== undefined && { identity }), deferralAllowed: false },
      context,
    ),
  );
  run.report(
    found.diagnostics.map((one) => ({ ...one, code: "LANG_PROVIDER", address, subject: range })),
  );
  if (hasProviderErrors(found.diagnostics)) return undefined;
  const imported = found.objects.find((object) => object.type === type);
  const what = id === undefined ? "the given identity" : `the id "${id}"`;
  if (imported === undefined) {
    return fail("Cannot import", `The provider has no object of type ${type} for ${what}.`);
  }
  const reply = await run.call(address, use, async () =>
    use.provider.read(
      {
        type,
        state: imported.state,
        privateBytes: imported.privateBytes,
        ...(imported.identity !== undefined && { identity: imported.identity }),
        deferralAllowed: false,
      },
      context,
    ),
  );
  const elapsedMs = Math.floor(clock.monotonicMs() - begunMs);
  onEvent({ type: "read-end", address, deposed: "", elapsedMs, ...shown });
  run.report(
    reply.diagnostics.map((one) => ({ ...one, code: "LANG_PROVIDER", address, subject: range })),
  );
  if (hasProviderErrors(reply.diagnostics) || reply.state === undefined) return undefined;
  if (reply.state.isNull) {
    return fail(
      "Cannot import non-existent remote object",
      `There is no object for ${what}. Only existing objects can be imported; leave the import block out to create one.`,
    );
  }
  const value = markObject(reply.state, schema.block, reply.sensitive ?? []);
  use.secrets.addValue(value);
  const privateBytes = reply.privateBytes ?? imported.privateBytes;
  const known = reply.identity ?? imported.identity;
  return {
    recorded: unrecorded(slot, use.reference, type),
    stored: value,
    value,
    privateBytes,
    identity: known === undefined || known.isNull ? undefined : known,
    sensitive: reply.sensitive ?? [],
    observed: true,
  };
}

/** Replaces the record that an imported object does not have yet. */
function unrecorded(
  { address }: InstanceSlot,
  provider: StateObject["provider"],
  type: string,
): StateObject {
  return {
    address,
    deposed: "",
    mode: "managed",
    type,
    provider,
    phase: "ready",
    privateBytes: new Uint8Array(),
    dependencies: [],
    createBeforeDestroy: false,
    observedAtMs: 0,
    epoch: 0n,
    revision: 0n,
    aliases: [],
  };
}
