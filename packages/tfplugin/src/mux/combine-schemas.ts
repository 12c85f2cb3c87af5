import * as t6 from "@stackwright/proto/tfplugin6";
import { errorDiagnostic } from "./discovery.ts";
import type { MuxMember } from "./mux-member.ts";
import { schemaDifference } from "./schema-difference.ts";

export type MemberSchema = readonly [MuxMember, t6.GetProviderSchema_Response];

/**
 * The schemas of several servers as those of one provider. Of names that several have the first stays. Configurations
 * of the provider must mean the same to all; where they do not, a diagnostic says what is different.
 *
 * The mux can do for every server what the capabilities say.
 */
export function combineSchemas(
  members: readonly MemberSchema[],
  ownership: readonly t6.Diagnostic[],
): t6.GetProviderSchema_Response {
  const combined = t6.GetProviderSchema_Response.fromPartial({
    serverCapabilities: {
      getProviderSchemaOptional: true,
      moveResourceState: true,
      planDestroy: true,
      generateResourceConfig: true,
    },
  });
  for (const [, schema] of members) {
    combined.diagnostics.push(...schema.diagnostics);
    addAll(combined.resourceSchemas, schema.resourceSchemas);
    addAll(combined.dataSourceSchemas, schema.dataSourceSchemas);
    addAll(combined.ephemeralResourceSchemas, schema.ephemeralResourceSchemas);
    addAll(combined.listResourceSchemas, schema.listResourceSchemas);
    addAll(combined.stateStoreSchemas, schema.stateStoreSchemas);
    addAll(combined.actionSchemas, schema.actionSchemas);
    addAll(combined.functions, schema.functions);
  }
  combined.provider = agreed(members, "provider", "provider", combined.diagnostics);
  combined.providerMeta = agreed(members, "providerMeta", "provider meta", combined.diagnostics);
  combined.diagnostics.push(...ownership);
  return combined;
}

function addAll<T>(into: Map<string, T>, from: ReadonlyMap<string, T>): void {
  for (const [name, schema] of from) if (!into.has(name)) into.set(name, schema);
}

/** The schema that all servers that have one agree on: the first. */
function agreed(
  members: readonly MemberSchema[],
  part: "provider" | "providerMeta",
  what: string,
  diagnostics: t6.Diagnostic[],
): t6.Schema | undefined {
  const declared = members.flatMap(([member, schema]) => {
    const own = schema[part];
    return own === undefined ? [] : [{ member, own }];
  });
  const [first, ...others] = declared;
  if (first === undefined) return undefined;
  for (const { member, own } of others) {
    const difference = schemaDifference(first.own, own);
    if (difference === undefined) continue;
    diagnostics.push(
      errorDiagnostic(
        "Invalid Provider Server Combination",
        `The servers have different schemas for the ${what}: ${first.member.name} and ${member.name} differ at ${difference}`,
      ),
    );
  }
  return first.own;
}
