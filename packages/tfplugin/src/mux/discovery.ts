import * as t6 from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import type { TransportCall } from "../transport/plugin-transport.ts";
import type { PluginMethods } from "../wire/methods.ts";
import type { MuxMember } from "./mux-member.ts";
import { KIND_NAMES, type RouteKind } from "./routes.ts";

/** What each server has. */
export interface Inventory {
  readonly names: Readonly<Record<RouteKind, readonly string[]>>;
  readonly planDestroy: boolean;
}

/** Who owns what, and what is wrong with the combination. */
export interface Ownership {
  readonly owners: Readonly<Record<RouteKind, ReadonlyMap<string, MuxMember>>>;
  /** Names that several servers have: they have no owner. */
  readonly shared: Readonly<Record<RouteKind, ReadonlySet<string>>>;
  readonly planDestroy: ReadonlySet<MuxMember>;
  readonly diagnostics: readonly t6.Diagnostic[];
}

const KINDS = Object.keys(KIND_NAMES) as RouteKind[];

/**
 * Asks one server what it has: for its metadata, and where it does not have that call for its schemas.
 */
export async function askInventory(
  member: MuxMember,
  methods: PluginMethods,
  call: TransportCall,
): Promise<Inventory> {
  const { getMetadata, getProviderSchema } = methods;
  try {
    const request = getMetadata.request.encode({}).finish();
    const bytes = await member.transport.unary(getMetadata.name, request, call);
    return inventoryOfMetadata(getMetadata.response.decode(bytes));
  } catch (error) {
    if (!TfpluginError.is(error, "TFPLUGIN_METHOD_UNIMPLEMENTED")) throw error;
  }
  const request = getProviderSchema.request.encode({}).finish();
  const bytes = await member.transport.unary(getProviderSchema.name, request, call);
  return inventoryOfSchema(getProviderSchema.response.decode(bytes));
}

export function inventoryOfMetadata(metadata: t6.GetMetadata_Response): Inventory {
  const typeNames = (entries: readonly { readonly typeName: string }[]) =>
    entries.map(({ typeName }) => typeName);
  return {
    names: {
      resource: typeNames(metadata.resources),
      dataSource: typeNames(metadata.dataSources),
      ephemeralResource: typeNames(metadata.ephemeralResources),
      listResource: typeNames(metadata.listResources),
      function: metadata.functions.map(({ name }) => name),
      action: typeNames(metadata.actions),
      stateStore: typeNames(metadata.stateStores),
    },
    planDestroy: metadata.serverCapabilities?.planDestroy ?? false,
  };
}

export function inventoryOfSchema(schema: t6.GetProviderSchema_Response): Inventory {
  return {
    names: {
      resource: [...schema.resourceSchemas.keys()],
      dataSource: [...schema.dataSourceSchemas.keys()],
      ephemeralResource: [...schema.ephemeralResourceSchemas.keys()],
      listResource: [...schema.listResourceSchemas.keys()],
      function: [...schema.functions.keys()],
      action: [...schema.actionSchemas.keys()],
      stateStore: [...schema.stateStoreSchemas.keys()],
    },
    planDestroy: schema.serverCapabilities?.planDestroy ?? false,
  };
}

/** Gives every name to the one server that has it. */
export function assignOwners(inventories: readonly (readonly [MuxMember, Inventory])[]): Ownership {
  const owners = emptyMaps();
  const shared = emptySets();
  const diagnostics: t6.Diagnostic[] = [];
  for (const [member, { names }] of inventories) {
    for (const kind of KINDS) {
      for (const name of names[kind]) {
        const other = owners[kind].get(name);
        if (other !== undefined || shared[kind].has(name)) {
          diagnostics.push(duplicate(kind, name, other, member));
          shared[kind].add(name);
          owners[kind].delete(name);
        } else owners[kind].set(name, member);
      }
    }
  }
  const planDestroy = new Set(
    inventories.flatMap(([member, inventory]) => (inventory.planDestroy ? [member] : [])),
  );
  return { owners, shared, planDestroy, diagnostics };
}

function emptyMaps(): Record<RouteKind, Map<string, MuxMember>> {
  return Object.fromEntries(KINDS.map((kind) => [kind, new Map()])) as never;
}

function emptySets(): Record<RouteKind, Set<string>> {
  return Object.fromEntries(KINDS.map((kind) => [kind, new Set()])) as never;
}

function duplicate(
  kind: RouteKind,
  name: string,
  other: MuxMember | undefined,
  member: MuxMember,
): t6.Diagnostic {
  const who = other === undefined ? member.name : `${other.name} and ${member.name}`;
  return errorDiagnostic(
    "Invalid Provider Server Combination",
    `Duplicate ${KIND_NAMES[kind].toLowerCase()} type: ${name} (${who})`,
  );
}

export function errorDiagnostic(summary: string, detail: string): t6.Diagnostic {
  return t6.Diagnostic.fromPartial({ severity: 1, summary, detail });
}
